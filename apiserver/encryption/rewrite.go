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
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiserver/pkg/storage/value"
)

// rewritePage is how many values are read at once.
const rewritePage = 200

// errInTheClear is about a value for which Rewrite needs a word of its user.
var errInTheClear = errors.New("it is in the clear; --accept-clear encrypts it, if it is known to be the server's own")

// Writer reads and changes the store; an etcd client is one.
type Writer interface {
	Reader
	Txn(ctx context.Context) clientv3.Txn
}

// RewriteOptions say what Rewrite does beside encrypting anew.
type RewriteOptions struct {
	// ToGeneratedKey goes back from the providers of the configuration file, which
	// still read, to the generated key, which is made if there is none.
	ToGeneratedKey bool
	// NewKey makes a new generated key and removes all others once nothing is
	// encrypted with them. Nobody else may use the store meanwhile.
	NewKey bool
	// AcceptClear encrypts values in the clear. Without it they are refused: who may
	// write into the store, but has no key, could have put them there.
	AcceptClear bool
}

// RewriteResult counts values.
type RewriteResult struct {
	// Rewritten were encrypted anew.
	Rewritten int
	// Clear is how many of these were in the clear before.
	Clear int
	// Current were left alone: what would encrypt them now already had.
	Current int
}

// Rewrite encrypts anew all stored values that something else than what encrypts
// now has encrypted, or nothing. It can be stopped and run again at any time: every
// value can be read at each moment, and a key is removed only when a further pass
// over the store found nothing that needs it.
//
// A value that changes meanwhile is taken as it is then. One that cannot be read is
// left as it is, named in the error, and the rest is still done.
func Rewrite(ctx context.Context, config Config, store Writer, options RewriteOptions) (result RewriteResult, err error) {
	if options.NewKey {
		if config.ProviderConfigFile != "" && !options.ToGeneratedKey {
			return result, errors.New("could not make a new key: an encryption configuration has keys of its own, which are changed there")
		}
		if err := addKey(ctx, config.Keys); err != nil {
			return result, err
		}
	}
	config.Store, config.rewriting = store, true
	config.generated, config.acceptClear = options.ToGeneratedKey, options.AcceptClear
	e, err := New(ctx, config)
	if err != nil {
		return result, err
	}
	defer e.Close()
	if result, err = e.rewrite(ctx, store); err != nil {
		return result, err
	}
	if !options.NewKey {
		return result, nil
	}
	again, err := e.rewrite(ctx, store)
	if err == nil && again.Rewritten > 0 {
		err = errors.New("could not remove the old keys: the store is being written to")
	}
	if err != nil {
		return result, err
	}
	return result, dropOldKeys(ctx, config.Keys)
}

func addKey(ctx context.Context, keys KeyStore) error {
	if keys == nil {
		return errors.New("could not make a new key: there is nowhere to keep it")
	}
	loaded, err := keys.Load(ctx)
	if err != nil {
		return err
	}
	if loaded.Ring.Len() == 0 {
		return fmt.Errorf("could not make a new key: there is none yet in %s", keys.Location())
	}
	ring, err := loaded.Ring.WithNewKey()
	if err != nil {
		return err
	}
	_, err = keys.Update(ctx, loaded, ring)
	return err
}

func dropOldKeys(ctx context.Context, keys KeyStore) error {
	loaded, err := keys.Load(ctx)
	if err != nil {
		return err
	}
	_, err = keys.Update(ctx, loaded, loaded.Ring.FirstOnly())
	return err
}

func (e *Encryption) rewrite(ctx context.Context, store Writer) (result RewriteResult, err error) {
	var errs []error
	from, end := e.config.Prefix, clientv3.GetPrefixRangeEnd(e.config.Prefix)
	for {
		page, err := store.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(rewritePage))
		if err != nil {
			return result, fmt.Errorf("could not read the store: %w", err)
		}
		for _, kv := range page.Kvs {
			if err := e.rewriteOne(ctx, store, kv, &result); err != nil {
				if ctx.Err() != nil {
					return result, err
				}
				errs = append(errs, fmt.Errorf("could not encrypt %s anew: %w", kv.Key, err))
			}
		}
		if !page.More {
			break
		}
		from = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
	}
	return result, summary(errs)
}

// summary names some of many errors.
func summary(errs []error) error {
	const shown = 10
	if more := len(errs) - shown; more > 0 {
		errs = append(errs[:shown:shown], fmt.Errorf("and %d more", more))
	}
	return errors.Join(errs...)
}

// rewriteOne writes the value back if nobody changed it since it was read; if
// somebody did, it begins again with what is there now.
func (e *Encryption) rewriteOne(ctx context.Context, store Writer, kv *mvccpb.KeyValue, result *RewriteResult) error {
	key := string(kv.Key)
	resource := resourceOf(e.config.Prefix, key)
	if !slices.Contains(e.config.Resources, resource) {
		return errors.New("it belongs to no resource that this version knows")
	}
	transformer := e.TransformerForResource(resource)
	for {
		plain, stale, inTheClear := kv.Value, true, !bytes.HasPrefix(kv.Value, []byte(encryptedPrefix))
		if !inTheClear || !e.config.acceptClear {
			var err error
			plain, stale, err = transformer.TransformFromStorage(ctx, kv.Value, value.DefaultContext(key))
			if err != nil && inTheClear {
				return errInTheClear
			}
			if err != nil {
				return err
			}
		}
		if !stale {
			result.Current++
			return nil
		}
		encrypted, err := transformer.TransformToStorage(ctx, plain, value.DefaultContext(key))
		if err != nil {
			return err
		}
		response, err := store.Txn(ctx).
			If(clientv3.Compare(clientv3.ModRevision(key), "=", kv.ModRevision)).
			Then(clientv3.OpPut(key, string(encrypted), clientv3.WithIgnoreLease())).
			Else(clientv3.OpGet(key)).
			Commit()
		if err != nil {
			return err
		}
		if response.Succeeded {
			result.Rewritten++
			if inTheClear {
				result.Clear++
			}
			return nil
		}
		now := response.Responses[0].GetResponseRange().Kvs
		if len(now) == 0 {
			return nil // deleted meanwhile
		}
		kv = now[0]
	}
}
