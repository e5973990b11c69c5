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
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/value"

	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

func nothing(record.Tx) error { return nil }

// S2: the epoch is outside before Update returns. If that fails the change is in the
// store, but nobody says that it was made, until the epoch is outside.
func TestS2CrashBeforeTheEpochIsRaised(t *testing.T) {
	e := newEnvironment(t)
	l := e.started(t)
	require.NoError(t, l.Update(t.Context(), moving(putting(inviting("u", "t")))))
	outside, _ := e.epoch.now()
	require.Equal(t, uint64(1), outside)

	e.epoch.fail(errHost)
	require.ErrorIs(t, l.Update(t.Context(), moving(putting(inviting("u", "t2")))), errHost)
	eventually(t, func() bool { return l.Peer("u").Invite.TokenID == "t2" }, "it is in the store")
	require.ErrorIs(t, l.Update(t.Context(), nothing), errHost, "who only reads it may not tell either")
	require.ErrorIs(t, l.Update(t.Context(), putting(inviting("u", "t2"))), errHost)
	e.epoch.fail(nil)
	require.NoError(t, l.Update(t.Context(), nothing))
	outside, raised := e.epoch.now()
	assert.Equal(t, uint64(2), outside)
	require.NoError(t, l.Update(t.Context(), putting(inviting("u", "t3"))))
	_, again := e.epoch.now()
	assert.Equal(t, raised, again, "it is raised when it must be only")
}

// S2: a replica that starts after such a crash raises the epoch before it is fresh.
func TestS2StartAfterACrash(t *testing.T) {
	e := newEnvironment(t)
	first := e.replica(t)
	require.NoError(t, first.Update(t.Context(), nothing))
	e.epoch.fail(errHost)
	require.ErrorIs(t, first.Update(t.Context(), moving(nothing)), errHost)

	second := e.replica(t)
	run(t, second)
	select {
	case <-second.Synced():
		t.Fatal("it is synced although the epoch cannot be read")
	case <-time.After(200 * time.Millisecond):
	}
	assert.ErrorIs(t, second.Fresh(), record.ErrStale)
	require.ErrorIs(t, e.replica(t).Update(t.Context(), nothing), errHost, "nor is anything written")
	e.epoch.fail(nil)
	eventually(t, func() bool { return second.Fresh() == nil }, "it heals")
	outside, _ := e.epoch.now()
	assert.Equal(t, uint64(1), outside)
}

// S2: changes at once share one way outside.
func TestS2TogetherOutside(t *testing.T) {
	const count = 20
	e := newEnvironment(t)
	e.epoch.gate = make(chan struct{})
	l := e.started(t)
	var group sync.WaitGroup
	for range count {
		group.Go(func() { assert.NoError(t, l.Update(t.Context(), moving(nothing))) })
	}
	inStore := func() uint64 {
		l.view.mu.RLock()
		defer l.view.mu.RUnlock()
		return l.view.content.epoch
	}
	eventually(t, func() bool { return inStore() == count }, "all are in the store")
	close(e.epoch.gate)
	group.Wait()
	outside, raised := e.epoch.now()
	assert.Equal(t, uint64(count), outside)
	assert.LessOrEqual(t, raised, 3)
}

// S2: who waits for the way outside waits no longer than its context.
func TestS2WaitsNoLongerThanAsked(t *testing.T) {
	e := newEnvironment(t)
	e.epoch.gate = make(chan struct{})
	l := e.replica(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() { assert.ErrorIs(t, l.Update(ctx, moving(nothing)), context.DeadlineExceeded) })
	}
	group.Wait()
}

// S2: the order in which a replica hears of the epoch is no reason for alarm.
func TestS2NoFalseAlarm(t *testing.T) {
	e := newEnvironment(t)
	var group sync.WaitGroup
	for range 3 {
		l := e.started(t)
		done := make(chan struct{})
		group.Go(func() {
			defer close(done)
			for range 40 {
				assert.NoError(t, l.Update(t.Context(), moving(nothing)))
				assert.NoError(t, l.Fresh())
			}
		})
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					// As another replica does that starts now.
					floor, err := l.guard.load(t.Context())
					assert.NoError(t, err)
					read, _, err := l.read(t.Context())
					assert.NoError(t, err)
					assert.GreaterOrEqual(t, read.epoch, floor)
				}
			}
		})
	}
	group.Wait()
	outside, _ := e.epoch.now()
	assert.Equal(t, uint64(120), outside)
}

// restored is an environment whose store went back to before two of three changes.
func restored(t *testing.T, e *environment) {
	t.Helper()
	l := e.replica(t)
	open := inviting("open", "t1")
	used := inviting("used", "t2")
	used.Invite.Use = &record.Use{ClusterUUID: "c2"}
	expired := inviting("expired", "t3")
	expired.Invite.ExpiresAt = time.Now().Add(-time.Hour)
	left, wrong, cloned := paired("left", "c3"), paired("wrong", "c4"), paired("cloned", "c8")
	left.Remote.Fault, wrong.Remote.Fault, cloned.Remote.Fault = record.PeerLeft, record.UUIDMismatch, record.ClonedPeer
	joining := &record.Peer{UID: "joining", Join: &record.Join{ClusterUUID: "c5"}}
	joined := paired("joined", "c6")
	joined.Join = &record.Join{ClusterUUID: "c6", Done: true}
	require.NoError(t, l.Update(t.Context(), moving(putting(open, used, expired, left, wrong, cloned, joining, joined))))
	copied := e.dump(t)
	require.NoError(t, l.Update(t.Context(), moving(func(tx record.Tx) error { return tx.DeletePeer("joined") })))
	require.NoError(t, l.Update(t.Context(), moving(putting(inviting("later", "t9")))))
	e.restore(t, copied)
}

// checkAccepted checks that nothing came back.
func checkAccepted(t *testing.T, l *Ledger) {
	t.Helper()
	assert.True(t, l.Peer("open").Invite.Void)
	assert.False(t, l.Peer("used").Invite.Void)
	assert.False(t, l.Peer("expired").Invite.Void)
	assert.Equal(t, record.PeerLeft, l.Peer("left").Remote.Fault)
	assert.Equal(t, record.ClonedPeer, l.Peer("cloned").Remote.Fault)
	assert.Equal(t, record.PeerSuspended, l.Peer("wrong").Remote.Fault)
	assert.Equal(t, record.PeerSuspended, l.Peer("joined").Remote.Fault)
	assert.Nil(t, l.Peer("joined").Join.Refused)
	require.NotNil(t, l.Peer("joining").Join.Refused)
	assert.Equal(t, record.TokenRejected, l.Peer("joining").Join.Refused.Reason)
	assert.Equal(t, "key", string(l.Peer("joined").Remote.Ours.Key.Reveal()))
	require.NoError(t, l.Update(t.Context(), func(tx record.Tx) error {
		peer, err := tx.PeerOfCluster("c5")
		assert.Nil(t, peer, "what is given up holds nothing")
		return err
	}))
}

// S2: a restored store is neither read nor written until it is accepted; then nothing
// that was used or revoked after the copy comes back.
func TestS2RestoredAndAccepted(t *testing.T) {
	e := newEnvironment(t)
	restored(t, e)
	l := e.replica(t)
	require.ErrorIs(t, l.Update(t.Context(), nothing), record.ErrRestored, "without having read it")
	running := e.replica(t)
	run(t, running)
	<-running.Synced()
	assert.ErrorIs(t, running.Fresh(), record.ErrRestored)
	assert.ErrorContains(t, running.Readiness().Check(nil), "--accept-restored-store")
	require.ErrorIs(t, running.Update(t.Context(), moving(nothing)), record.ErrRestored)
	outside, _ := e.epoch.now()
	assert.Equal(t, uint64(3), outside)
	told := subscribe(running)
	waiting := running.Changed("used")

	require.NoError(t, l.AcceptRestored(t.Context()))
	outside, _ = e.epoch.now()
	assert.Equal(t, uint64(4), outside)
	require.NoError(t, l.Update(t.Context(), nothing))
	eventually(t, func() bool { return running.Fresh() == nil && running.Peer("open").Invite.Void }, "another replica goes on")
	select {
	case <-waiting:
	case <-time.After(patience):
		t.Error("who waits is not told")
	}
	eventually(t, func() bool { return told.of("used") > 0 && told.of("") > 0 }, "everybody is told")
	checkAccepted(t, running)
	checkAccepted(t, e.started(t))

	// Once more changes nothing.
	before := e.dump(t)
	require.NoError(t, l.AcceptRestored(t.Context()))
	require.NoError(t, e.replica(t).AcceptRestored(t.Context()))
	assert.Equal(t, before, e.dump(t))
	// A replica that is late with accepting leaves alone what is new.
	require.NoError(t, l.Update(t.Context(), moving(putting(paired("new", "c7")))))
	require.NoError(t, running.distrust(t.Context(), "new", 3))
	require.NoError(t, running.Update(t.Context(), func(tx record.Tx) error {
		peer, err := tx.Peer("new")
		if assert.NotNil(t, peer) {
			assert.Empty(t, peer.Remote.Fault)
		}
		return err
	}))
}

// S2: what runs when the store goes back notices, by its watch and by its next change.
func TestS2GoesBackUnderARunningReplica(t *testing.T) {
	e := newEnvironment(t)
	watching, writing := e.started(t), e.replica(t)
	require.NoError(t, writing.Update(t.Context(), moving(putting(inviting("u", "t")))))
	copied := e.dump(t)
	require.NoError(t, writing.Update(t.Context(), moving(func(tx record.Tx) error { return tx.DeletePeer("u") })))
	eventually(t, func() bool { return watching.Peer("u") == nil }, "the deletion")
	told := subscribe(watching)
	e.restore(t, copied)
	eventually(t, func() bool { return errors.Is(watching.Fresh(), record.ErrRestored) }, "the watch sees it")
	eventually(t, func() bool { return told.of("") > 0 }, "everybody is told")
	require.ErrorIs(t, writing.Update(t.Context(), putting(inviting("v", "w"))), record.ErrRestored)
	assert.ErrorIs(t, writing.Fresh(), record.ErrRestored)
	assert.NotContains(t, e.dump(t), e.key("peers/v"))
}

// S2: a copy from before an offer changed, and nothing else, is recognised: it would count
// on from a generation that the other cluster has, and be taken for a clone (P10).
func TestS2RestoredBeforeAnOffer(t *testing.T) {
	e := newEnvironment(t)
	l := e.replica(t)
	require.NoError(t, l.Update(t.Context(), moving(putting(paired("u", "c")))))
	offer := func(alias string) {
		require.NoError(t, l.Update(t.Context(), func(tx record.Tx) error {
			changed, err := record.SetOffer(tx, "u", protocol.Offer{Alias: alias})
			assert.True(t, changed)
			return err
		}))
	}
	offer("first")
	copied := e.dump(t)
	offer("second")
	e.restore(t, copied)
	again := e.replica(t)
	run(t, again)
	<-again.Synced()
	assert.ErrorIs(t, again.Fresh(), record.ErrRestored)
	require.ErrorIs(t, l.Update(t.Context(), nothing), record.ErrRestored)
}

// S2: an empty store where there was one.
func TestS2EmptyStore(t *testing.T) {
	e := newEnvironment(t)
	l := e.started(t)
	require.NoError(t, l.Update(t.Context(), moving(putting(inviting("u", "t")))))
	e.restore(t, nil)
	eventually(t, func() bool { return errors.Is(l.Fresh(), record.ErrRestored) }, "what runs notices")
	again := e.replica(t)
	run(t, again)
	<-again.Synced()
	assert.ErrorIs(t, again.Fresh(), record.ErrRestored)
	require.NoError(t, again.AcceptRestored(t.Context()))
	eventually(t, func() bool { return again.Fresh() == nil && l.Fresh() == nil }, "accepted")
	require.NoError(t, again.Update(t.Context(), func(tx record.Tx) error {
		number, err := tx.Epoch()
		assert.Equal(t, uint64(2), number, "it only grows")
		return err
	}))
}

// dying is encryption that fails at some point, as if the process ended there.
type dying struct {
	value.ResourceTransformers
	left int
}

type dyingTransformer struct {
	value.Transformer
	dying *dying
}

var errDied = errors.New("died")

func (d *dying) TransformerForResource(resource schema.GroupResource) value.Transformer {
	return dyingTransformer{d.ResourceTransformers.TransformerForResource(resource), d}
}

func (d dyingTransformer) TransformToStorage(ctx context.Context, data []byte, dataCtx value.Context) ([]byte, error) {
	if d.dying.left--; d.dying.left < 0 {
		return nil, errDied
	}
	return d.Transformer.TransformToStorage(ctx, data, dataCtx)
}

// S2: wherever accepting ends too early, the store stays behind, and the next run
// completes it.
func TestS2AcceptSurvivesACrash(t *testing.T) {
	e := newEnvironment(t)
	restored(t, e)
	transformers := e.transformers(t)
	died := 0
	for ; ; died++ {
		l, err := New(Config{Client: connect(t, e.endpoint), Prefix: e.prefix, Epoch: e.epoch, Transformers: &dying{transformers, died % 3}})
		require.NoError(t, err)
		err = l.AcceptRestored(t.Context())
		if err == nil {
			break
		}
		require.ErrorIs(t, err, errDied)
		require.ErrorIs(t, e.replica(t).Update(t.Context(), nothing), record.ErrRestored)
		require.Less(t, died, 20)
	}
	assert.GreaterOrEqual(t, died, 2)
	checkAccepted(t, e.started(t))
}

// S2: nor does a host that is away at the end.
func TestS2AcceptWithoutTheHost(t *testing.T) {
	e := newEnvironment(t)
	restored(t, e)
	e.epoch.gate = make(chan struct{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	require.ErrorIs(t, e.replica(t).AcceptRestored(ctx), context.DeadlineExceeded)
	close(e.epoch.gate)
	checkAccepted(t, e.started(t))
	outside, _ := e.epoch.now()
	assert.Equal(t, uint64(4), outside)
}

// S2: several replicas accept at once.
func TestS2AcceptTogether(t *testing.T) {
	e := newEnvironment(t)
	restored(t, e)
	var group sync.WaitGroup
	for range 3 {
		l := e.replica(t)
		group.Go(func() { assert.NoError(t, l.AcceptRestored(t.Context())) })
	}
	group.Wait()
	outside, _ := e.epoch.now()
	assert.GreaterOrEqual(t, outside, uint64(4))
	checkAccepted(t, e.started(t))
}
