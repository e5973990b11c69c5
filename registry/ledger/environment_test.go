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

package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/utils/clock"

	"entente.dev/entente/apiserver/encryption"
	"entente.dev/entente/apiserver/etcd"
	"entente.dev/entente/peering/record"
)

// patience is how long something may take that happens by itself.
const patience = 30 * time.Second

func eventually(t *testing.T, happened func() bool, what string) {
	t.Helper()
	require.Eventually(t, happened, patience, time.Millisecond, what)
}

// environment is a store that outlives the replicas that use it.
type environment struct {
	endpoint string
	prefix   string
	keys     encryption.KeyStore
	epoch    *epochs
	clock    clock.WithTicker
	// raw is for the tests.
	raw *clientv3.Client
}

func newEnvironment(t *testing.T) *environment {
	t.Helper()
	return &environment{
		endpoint: startEtcd(t), prefix: "/registry/entente", keys: encryption.NewFileStore(t.TempDir()),
		epoch: &epochs{}, clock: clock.RealClock{},
	}
}

func startEtcd(t *testing.T) (endpoint string) {
	t.Helper()
	store, err := etcd.Start(t.Context(), etcd.Config{Dir: filepath.Join(t.TempDir(), "data")})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	return store.Endpoint()
}

func connect(t *testing.T, endpoint string) *clientv3.Client {
	t.Helper()
	client, err := etcd.NewClient(context.WithoutCancel(t.Context()), storagebackend.TransportConfig{ServerList: []string{endpoint}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func (e *environment) client(t *testing.T) *clientv3.Client {
	t.Helper()
	if e.raw == nil {
		e.raw = connect(t, e.endpoint)
	}
	return e.raw
}

func (e *environment) encryption(t *testing.T) encryption.Config {
	t.Helper()
	return encryption.Config{Resources: []schema.GroupResource{Resource()}, Keys: e.keys, Store: e.client(t), Prefix: e.prefix, ServerID: "test"}
}

func (e *environment) transformers(t *testing.T) value.ResourceTransformers {
	t.Helper()
	encrypted, err := encryption.New(t.Context(), e.encryption(t))
	require.NoError(t, err)
	t.Cleanup(encrypted.Close)
	return encrypted
}

// replica returns one that does not run.
func (e *environment) replica(t *testing.T) *Ledger {
	t.Helper()
	return e.replicaAt(t, e.endpoint)
}

func (e *environment) replicaAt(t *testing.T, endpoint string) *Ledger {
	t.Helper()
	l, err := New(Config{Client: connect(t, endpoint), Prefix: e.prefix, Transformers: e.transformers(t), Epoch: e.epoch, Clock: e.clock})
	require.NoError(t, err)
	return l
}

// run runs a replica until the test ends or stop is called.
func run(t *testing.T, l *Ledger) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { l.Run(ctx) })
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	t.Cleanup(stop)
	return stop
}

// started returns a replica that runs and is fresh.
func (e *environment) started(t *testing.T) *Ledger {
	t.Helper()
	l := e.replica(t)
	run(t, l)
	eventually(t, func() bool { return l.Fresh() == nil }, "the replica is fresh")
	return l
}

// epochs keeps the epoch, or not.
type epochs struct {
	mu     sync.Mutex
	number uint64
	raised int
	fails  error
	// gate is awaited by each Raise, if there is one.
	gate chan struct{}
}

var errHost = errors.New("the host is away")

func (e *epochs) Location() string { return "the test" }

func (e *epochs) Load(context.Context) (uint64, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.number, e.fails
}

func (e *epochs) Raise(ctx context.Context, to uint64) error {
	if e.gate != nil {
		select {
		case <-e.gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fails != nil {
		return e.fails
	}
	e.raised++
	e.number = max(e.number, to)
	return nil
}

func (e *epochs) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fails = err
}

func (e *epochs) now() (number uint64, raised int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.number, e.raised
}

// relay is a way to the store that can be cut.
type relay struct {
	listener net.Listener
	target   string
	cut      atomic.Bool

	mu    sync.Mutex
	conns []net.Conn
}

func newRelay(t *testing.T, endpoint string) *relay {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &relay{listener: listener, target: endpoint}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { r.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		r.setCut(true)
		serving.Wait()
	})
	return r
}

func (r *relay) endpoint() string { return "http://" + r.listener.Addr().String() }

func (r *relay) serve(in net.Conn) {
	defer in.Close()
	path := r.target[len("unix://"):]
	out, err := net.Dial("unix", path)
	if err != nil {
		return
	}
	defer out.Close()
	r.mu.Lock()
	cut := r.cut.Load()
	r.conns = append(r.conns, in, out)
	r.mu.Unlock()
	if cut {
		return
	}
	var copying sync.WaitGroup
	copying.Go(func() {
		_, _ = io.Copy(in, out)
		_ = in.Close()
	})
	_, _ = io.Copy(out, in)
	_ = out.Close()
	copying.Wait()
}

func (r *relay) setCut(cut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut.Store(cut)
	if cut {
		for _, conn := range r.conns {
			_ = conn.Close()
		}
		r.conns = nil
	}
}

// inviting is the record of an open invite.
func inviting(uid, tokenID string) *record.Peer {
	return &record.Peer{UID: uid, Invite: &record.Invite{TokenID: tokenID, Delivered: true, ExpiresAt: time.Now().Add(time.Hour)}}
}

func paired(uid, clusterUUID string) *record.Peer {
	return &record.Peer{UID: uid, Remote: &record.Remote{
		ClusterUUID: clusterUUID, Ours: record.Credential{Key: record.NewSecret([]byte("key"))},
	}}
}

func putting(peers ...*record.Peer) func(record.Tx) error {
	return func(tx record.Tx) error {
		for _, peer := range peers {
			if err := tx.PutPeer(peer); err != nil {
				return err
			}
		}
		return nil
	}
}

// moving makes a change one that a copy must not undo.
func moving(change func(record.Tx) error) func(record.Tx) error {
	return func(tx record.Tx) error { return errors.Join(change(tx), tx.MoveEpoch()) }
}

// dump is everything in the store as it is there.
func (e *environment) dump(t *testing.T) map[string]string {
	t.Helper()
	response, err := e.client(t).Get(t.Context(), "/", clientv3.WithPrefix())
	require.NoError(t, err)
	all := map[string]string{}
	for _, kv := range response.Kvs {
		all[string(kv.Key)] = string(kv.Value)
	}
	return all
}

// restore makes the store what it was at the time of the dump, as far as keys go.
func (e *environment) restore(t *testing.T, dump map[string]string) {
	t.Helper()
	ops := []clientv3.Op{}
	for key := range e.dump(t) {
		if _, there := dump[key]; !there {
			ops = append(ops, clientv3.OpDelete(key))
		}
	}
	for key, data := range dump {
		ops = append(ops, clientv3.OpPut(key, data))
	}
	_, err := e.client(t).Txn(t.Context()).Then(ops...).Commit()
	require.NoError(t, err)
}

func (e *environment) key(rest string) string {
	return fmt.Sprintf("%s/peering.entente.dev/ledger/%s", e.prefix, rest)
}
