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
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig/metrics"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// defaultPollInterval is the time between two looks at the configuration file: a
// hash of a small file.
const defaultPollInterval = 5 * time.Second

// Config says what to encrypt and with what.
type Config struct {
	// Resources are all resources that are stored. Required.
	Resources []schema.GroupResource
	// Keys keeps the generated keys. Required unless there is a ProviderConfigFile;
	// with one, keys that are there still read, but none are made.
	Keys KeyStore
	// ProviderConfigFile is the argument of --encryption-provider-config.
	ProviderConfigFile string
	// AutomaticReload follows changes of that file, in Run.
	AutomaticReload bool
	// PollInterval is the time between two looks at the file. Default 5 seconds.
	PollInterval time.Duration
	// Store is looked into, to tell a lost key from a first start. Required.
	Store Reader
	// Prefix is the etcd prefix below which all resources are. Required.
	Prefix string
	// ServerID tells servers apart in the library's metrics.
	ServerID string
	// Clock drives Run. Default: the real one.
	Clock clock.WithTicker

	// rewriting is set to encrypt anew what is stored: what is in the clear is then no
	// reason not to begin.
	rewriting bool
	// acceptClear takes what is in the clear for data of ours.
	acceptClear bool
	// generated makes the generated keys write although there is a ProviderConfigFile.
	generated bool
}

// Reader reads the store; an etcd client is one.
type Reader interface {
	Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error)
}

// Encryption is what values are encrypted with before they are stored. It
// implements value.ResourceTransformers.
type Encryption struct {
	config Config
	ring   value.Transformer
	// current holds the providers that are in use; nil without a file.
	current *encryptionconfig.DynamicTransformers
	// hash is that of the file in use, tried that of the file that was last read.
	hash, tried string
	// closed ends what providers started.
	closed chan struct{}
	close  func()
}

var _ value.ResourceTransformers = &Encryption{}

// New reads the configuration and the keys, makes a key if this is the first
// start, and tries all transformers.
//
// It refuses, saying what to do, if a resource would be stored in the clear, if the
// store has data but the key is gone, or if none of what it looks at in the store can
// be read. That a KMS plugin does not answer is no refusal: the server is not ready
// then, by Checks. Close the result after its last use.
func New(ctx context.Context, config Config) (_ *Encryption, err error) {
	e := &Encryption{config: config.withDefaults(), closed: make(chan struct{})}
	e.close = sync.OnceFunc(func() { close(e.closed) })
	defer func() {
		if err != nil {
			e.Close()
		}
	}()
	if config.Keys == nil && (config.ProviderConfigFile == "" || config.generated) {
		return nil, errors.New("could not set up encryption: there is nowhere to keep a generated key, and no --encryption-provider-config")
	}
	var pending error
	if config.ProviderConfigFile != "" {
		if pending, err = e.useFile(ctx); err != nil {
			return nil, err
		}
	}
	if config.Keys != nil {
		if err := e.useKeys(ctx); err != nil {
			return nil, err
		}
	}
	if pending == nil {
		if err := e.checkReadable(ctx); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func (c Config) withDefaults() Config {
	if c.PollInterval == 0 {
		c.PollInterval = defaultPollInterval
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	c.Resources = slices.Clone(c.Resources)
	c.Prefix = "/" + strings.Trim(c.Prefix, "/") + "/"
	c.generated = c.generated || c.ProviderConfigFile == ""
	return c
}

// useFile loads the configuration file. Pending is why its providers do not work
// yet.
func (e *Encryption) useFile(ctx context.Context) (pending, err error) {
	loaded, err := e.load(ctx)
	if err != nil {
		return nil, err
	}
	if e.config.rewriting {
		err = loaded.awaitHealth(ctx)
	}
	if err == nil {
		pending, err = e.accept(ctx, loaded)
	}
	if err != nil {
		loaded.close()
		return nil, err
	}
	if pending != nil {
		if unhealthy := loaded.checkHealth(ctx); unhealthy != nil {
			pending = unhealthy // says more of a KMS plugin
		}
		klog.FromContext(ctx).Error(pending, "Not ready: the providers of the encryption configuration do not work", "file", e.config.ProviderConfigFile)
	}
	metrics.RecordEncryptionConfigLastConfigInfo(e.config.ServerID, loaded.hash)
	e.current = encryptionconfig.NewDynamicTransformers(loaded.transformers, loaded.health, loaded.close, loaded.grace)
	e.hash = loaded.hash
	return pending, nil
}

// accept refuses providers that would store something in the clear.
func (e *Encryption) accept(ctx context.Context, loaded *providers) (pending, err error) {
	inTheClear, pending := loaded.try(ctx, e.config.Resources)
	if len(inTheClear) > 0 && !e.config.generated {
		var names []string
		for _, resource := range inTheClear {
			names = append(names, resource.String())
		}
		return nil, fmt.Errorf("could not use --encryption-provider-config %s: it would store %s in the clear; name it there (or *.%s, or *.*) with a first provider other than identity",
			e.config.ProviderConfigFile, strings.Join(names, ", "), inTheClear[0].Group)
	}
	return pending, nil
}

// useKeys loads the generated keys, or makes the first one if they are to write.
func (e *Encryption) useKeys(ctx context.Context) error {
	stored, err := e.config.Keys.Load(ctx)
	if err != nil {
		return err
	}
	if stored.Ring.Len() == 0 && e.config.generated {
		if stored, err = e.firstKey(ctx); err != nil {
			return err
		}
	}
	if stored.Ring.Len() == 0 {
		return nil
	}
	if e.ring, err = stored.Ring.transformer(); err != nil {
		return err
	}
	for _, resource := range e.config.Resources {
		if err := try(ctx, resource, e.ring); err != nil {
			return fmt.Errorf("could not use the encryption keys in %s: %w", e.config.Keys.Location(), err)
		}
	}
	return nil
}

// TransformerForResource implements value.ResourceTransformers. A resource that is
// not among those of the config cannot be stored.
func (e *Encryption) TransformerForResource(resource schema.GroupResource) value.Transformer {
	if !slices.Contains(e.config.Resources, resource) {
		return refusal{resource}
	}
	t := &transformer{generated: e.config.generated}
	if e.ring != nil {
		// Only in this wrapping do the library's metrics and logs name the resource.
		t.ring = encryptionconfig.StaticTransformers{resource: e.ring}.TransformerForResource(resource)
	}
	if e.current != nil {
		t.providers = e.current.TransformerForResource(resource)
	}
	return t
}

// Checks say whether the KMS plugins answer. They belong to the readiness of the
// server, not to its liveness.
func (e *Encryption) Checks() []healthz.HealthChecker {
	if e.current == nil {
		return nil
	}
	return []healthz.HealthChecker{e.current}
}

// Close ends what New and Run started. It may be called more than once.
func (e *Encryption) Close() { e.close() }
