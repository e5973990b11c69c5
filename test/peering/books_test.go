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

package peering

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/value"

	"entente.dev/entente/apiserver/etcd"
	"entente.dev/entente/apiserver/options"
	"entente.dev/entente/peering/record"
	"entente.dev/entente/registry/ledger"
	"entente.dev/entente/test/harness"
)

// books reads the ledgers of a server that is started with its option, in whatever
// embedded store that uses: what no API shows.
type books struct {
	mu           sync.Mutex
	transformers value.ResourceTransformers
	prefix       string
}

func (b *books) option() harness.Option {
	return harness.Options(
		harness.WithTransformers(func(transformers value.ResourceTransformers) value.ResourceTransformers {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.transformers = transformers
			return transformers
		}),
		harness.WithOptions(func(o *options.Options) { b.prefix = o.Etcd.StorageConfig.Prefix }),
	)
}

// read returns the ledger as it is now.
func (b *books) read(t testing.TB, c *cluster) record.Reader {
	t.Helper()
	endpoint, err := etcd.RunningEndpoint(c.Dir)
	require.NoError(t, err)
	client, err := etcd.NewClient(context.WithoutCancel(t.Context()), storagebackend.TransportConfig{ServerList: []string{endpoint}})
	require.NoError(t, err)
	b.mu.Lock()
	defer b.mu.Unlock()
	l, err := ledger.New(ledger.Config{Client: client, Prefix: b.prefix, Transformers: b.transformers, Epoch: anyEpoch{}})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	var running sync.WaitGroup
	running.Go(func() { l.Run(ctx) })
	defer func() {
		cancel()
		running.Wait()
		require.NoError(t, client.Close())
	}()
	select {
	case <-l.Synced():
	case <-time.After(deadline):
		require.Fail(t, "could not read the ledger")
	}
	return l
}

// anyEpoch is that of somebody who only reads.
type anyEpoch struct{}

func (anyEpoch) Location() string                     { return "nowhere" }
func (anyEpoch) Load(context.Context) (uint64, error) { return 0, nil }
func (anyEpoch) Raise(context.Context, uint64) error  { return nil }
