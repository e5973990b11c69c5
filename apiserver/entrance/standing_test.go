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

package entrance

import (
	"context"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"

	"entente.dev/entente/apiserver/etcd"
	"entente.dev/entente/peering/record"
	"entente.dev/entente/registry/ledger"
)

// G7: what is asked each second of each request that lasts makes no garbage, with the ledger
// that a server has.
func TestG7AskingAgainIsCheap(t *testing.T) {
	f := newFixture(t, Limits{})
	stored := newLedger(t)
	require.NoError(t, stored.Update(t.Context(), func(tx record.Tx) error {
		if err := tx.PutPeer(f.Peer(uid)); err != nil {
			return err
		}
		return tx.PutGrant(f.Grant(uid, logs))
	}))
	require.Eventually(t, func() bool { return stored.Peer(uid) != nil && stored.Grant(uid, logs) != nil }, soon, tick)
	config := f.entrance.config
	config.Ledger = stored
	claims, cancel := record.NewIssuerClaims(stored)
	defer cancel()
	config.Claims = claims
	entrance, err := New(config)
	require.NoError(t, err)
	s := f.stand(http.MethodGet, "/api/v1/namespaces/shop/configmaps?watch=1")
	s.entrance = entrance
	require.Empty(t, s.fault())
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if !s.stands() {
			t.Error("it does not stand")
		}
	}))
}

// newLedger returns a ledger in a store of its own, which is fresh.
func newLedger(t *testing.T) *ledger.Ledger {
	t.Helper()
	store, err := etcd.Start(t.Context(), etcd.Config{Dir: filepath.Join(t.TempDir(), "data")})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	client, err := etcd.NewClient(context.WithoutCancel(t.Context()), storagebackend.TransportConfig{ServerList: []string{store.Endpoint()}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	l, err := ledger.New(ledger.Config{Client: client, Prefix: "/registry/entente", Transformers: plainly{}, Epoch: noEpoch{}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { l.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	require.Eventually(t, func() bool { return l.Fresh() == nil }, 3*soon, 10*time.Millisecond)
	return l
}

// plainly stores what is given to it: there is nothing secret in a test.
type plainly struct{}

func (plainly) TransformerForResource(schema.GroupResource) value.Transformer {
	return identity.NewEncryptCheckTransformer()
}

// noEpoch is that of a store that is never restored.
type noEpoch struct{}

func (noEpoch) Location() string                     { return "nowhere" }
func (noEpoch) Load(context.Context) (uint64, error) { return 0, nil }
func (noEpoch) Raise(context.Context, uint64) error  { return nil }
