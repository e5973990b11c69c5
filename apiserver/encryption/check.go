/*
Copyright 2026 The Entente Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package encryption

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/klog/v2"
)

// sampleSize is how many stored values are looked at before the server starts: one
// of them is damaged for some other reason, not all.
const sampleSize = 16

// firstKey makes the first key, unless the store has data that was encrypted with
// one that is gone.
func (e *Encryption) firstKey(ctx context.Context) (Stored, error) {
	values, err := e.sample(ctx)
	if err != nil {
		return Stored{}, err
	}
	for _, kv := range values {
		if e.replaces(header(kv.value)) {
			continue
		}
		// Another server that started at the same time may have made the key.
		if stored, err := e.config.Keys.Load(ctx); err != nil || stored.Ring.Len() > 0 {
			return stored, err
		}
		return Stored{}, e.unreadable(kv.value)
	}
	ring, err := NewRing()
	if err != nil {
		return Stored{}, err
	}
	stored, err := e.config.Keys.Create(ctx, ring)
	if err != nil {
		return Stored{}, err
	}
	klog.FromContext(ctx).Info("Made an encryption key; keep a copy of it, apart from copies of the data", "in", e.config.Keys.Location())
	return stored, nil
}

// replaces says whether a generated key is about to take the place of what encrypted
// a value.
func (e *Encryption) replaces(found string) bool {
	switch {
	case !e.config.rewriting || found == ringPrefix:
		return false
	case found == "":
		return e.config.acceptClear
	default:
		return e.config.ProviderConfigFile != ""
	}
}

// checkReadable refuses to work on data of which nothing can be read.
func (e *Encryption) checkReadable(ctx context.Context) error {
	values, err := e.sample(ctx)
	if err != nil {
		return err
	}
	var failed []byte
	for _, kv := range values {
		if !slices.Contains(e.config.Resources, kv.resource) {
			continue
		}
		if e.config.rewriting && header(kv.value) == "" {
			return nil
		}
		if _, _, err := e.TransformerForResource(kv.resource).TransformFromStorage(ctx, kv.value, value.DefaultContext(kv.key)); err == nil {
			return nil
		}
		if failed == nil {
			failed = kv.value
		}
	}
	if failed != nil {
		return e.unreadable(failed)
	}
	return nil
}

// unreadable says what to do about stored data that cannot be read, by what
// encrypted it.
func (e *Encryption) unreadable(data []byte) error {
	switch found := header(data); {
	case found == "":
		return errors.New("could not use the store: it holds data in the clear, written without encryption; run `entente-apiserver storage rewrite --accept-clear` once, which encrypts it")
	case found == ringPrefix && e.config.Keys == nil:
		return errors.New("could not use the store: its data is encrypted with a generated key, and none was given")
	case found == ringPrefix:
		return fmt.Errorf("could not use the store: its data is encrypted with a key that is not in %s; put that back from your copy. Without it the data cannot be read, and no new key is made in its place; to begin anew, use an empty store", e.config.Keys.Location())
	case e.config.ProviderConfigFile == "":
		return fmt.Errorf("could not use the store: its data is encrypted by a provider of an encryption configuration (%s); give that by --encryption-provider-config, or go back to a generated key with `entente-apiserver storage rewrite --to-generated-key`", found)
	default:
		return fmt.Errorf("could not use the store: its data (%s) cannot be read with --encryption-provider-config %s; add the provider and the key that it was encrypted with", found, e.config.ProviderConfigFile)
	}
}

// stored is a value in the store.
type stored struct {
	key      string
	resource schema.GroupResource
	value    []byte
}

func (e *Encryption) sample(ctx context.Context) ([]stored, error) {
	response, err := e.config.Store.Get(ctx, e.config.Prefix, clientv3.WithPrefix(), clientv3.WithLimit(sampleSize))
	if err != nil {
		return nil, fmt.Errorf("could not look into the store: %w", err)
	}
	var values []stored
	for _, kv := range response.Kvs {
		values = append(values, stored{key: string(kv.Key), resource: resourceOf(e.config.Prefix, string(kv.Key)), value: kv.Value})
	}
	return values, nil
}

// resourceOf is the resource that a key below the prefix belongs to: the library
// stores objects at PREFIX/GROUP/RESOURCE/..., and all else of ours is stored alike.
func resourceOf(prefix, key string) schema.GroupResource {
	parts := strings.SplitN(strings.TrimPrefix(key, prefix), "/", 3)
	if len(parts) < 3 {
		return schema.GroupResource{}
	}
	return schema.GroupResource{Group: parts[0], Resource: parts[1]}
}
