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

package host

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
)

// quick is a pace for tests; the library has no other clock than the machine's, and
// counts the lease in whole seconds.
func quick() pace {
	return pace{lease: 2 * time.Second, renew: time.Second, retry: 50 * time.Millisecond}
}

// slow is a pace at which a lease never runs out within a test.
func slow() pace {
	return pace{lease: time.Hour, renew: time.Minute, retry: 50 * time.Millisecond}
}

func shippedLease() *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: DefaultNamespace, Name: "entente-controllers"}}
}

// noLeak checks at the end of the test that it left no goroutine.
func noLeak(t *testing.T) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
}

// leases is a host cluster with one Lease, whose resourceVersion is minded as a real
// one minds it. It forbids what the manifests do not allow.
func leases(t *testing.T, objects ...runtime.Object) (*Host, *fake.Clientset) {
	t.Helper()
	h, client := hostOf(clock.RealClock{}, objects...)
	client.PrependReactor("*", "leases", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if verb := action.GetVerb(); verb != "get" && verb != "update" {
			t.Errorf("not allowed: %s", verb)
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "", nil)
		}
		return false, nil, nil
	})
	return h, client
}

// leaseOutage returns how to keep leases from being renewed; they can be given up.
func leaseOutage(client *fake.Clientset) *atomic.Bool {
	away := &atomic.Bool{}
	client.PrependReactor("update", "leases", func(action clienttesting.Action) (bool, runtime.Object, error) {
		sent, ok := action.(clienttesting.UpdateAction).GetObject().(*coordinationv1.Lease)
		return away.Load() && ok && ptr.Deref(sent.Spec.HolderIdentity, "") != "", nil, errors.New("the host cluster of this test is away")
	})
	return away
}

func count(client *fake.Clientset, verb string) (n int) {
	for _, action := range client.Actions() {
		if action.GetVerb() == verb {
			n++
		}
	}
	return n
}

func holder(t *testing.T, client *fake.Clientset) string {
	t.Helper()
	got, err := client.CoordinationV1().Leases(DefaultNamespace).Get(t.Context(), "entente-controllers", metav1.GetOptions{})
	require.NoError(t, err)
	return ptr.Deref(got.Spec.HolderIdentity, "")
}

// candidate is a replica that stands for election.
type candidate struct {
	terms   atomic.Int32
	working atomic.Bool
	told    atomic.Bool   // to stop working
	hold    chan struct{} // if set, work ends only when it is closed
	stop    context.CancelFunc
	ended   chan struct{}
}

func (c *candidate) stand(t *testing.T, h *Host, name string, p pace) {
	t.Helper()
	ctx, cancel := context.WithCancel(klog.NewContext(context.WithoutCancel(t.Context()), klog.FromContext(t.Context())))
	c.stop, c.ended = cancel, make(chan struct{})
	go func() {
		defer close(c.ended)
		assert.NoError(t, h.lead(ctx, name, p, func(ctx context.Context) {
			c.working.Store(true)
			defer c.working.Store(false)
			c.terms.Add(1)
			<-ctx.Done()
			c.told.Store(true)
			if c.hold != nil {
				<-c.hold
			}
		}))
	}()
	t.Cleanup(func() {
		cancel()
		if c.hold != nil && !isClosed(c.hold) {
			close(c.hold) // the test has failed
		}
		<-c.ended
	})
}

// Of two replicas one leads, and the other one as soon as the first has ended: the work
// first, the lease after it.
func TestLeadHandsOver(t *testing.T) {
	noLeak(t)
	h, client := leases(t, shippedLease())
	first, second := &candidate{hold: make(chan struct{})}, &candidate{}
	first.stand(t, h, "first", slow())
	require.Eventually(t, first.working.Load, deadline, time.Millisecond)
	second.stand(t, h, "second", slow())
	assert.Equal(t, "first", holder(t, client))

	first.stop()
	// While the first one still works it keeps the lease: several attempts are in vain.
	gets, updates := count(client, "get"), count(client, "update")
	require.Eventually(t, func() bool { return count(client, "get") > gets+4 && count(client, "update") > updates+4 }, deadline, time.Millisecond)
	assert.True(t, first.working.Load())
	assert.False(t, second.working.Load(), "two at a time")
	assert.Equal(t, "first", holder(t, client))

	close(first.hold)
	<-first.ended
	require.Eventually(t, second.working.Load, deadline, time.Millisecond)
	assert.Equal(t, "second", holder(t, client))
	second.stop()
	<-second.ended
	assert.Empty(t, holder(t, client))
	assert.EqualValues(t, 1, first.terms.Load())
	assert.EqualValues(t, 1, second.terms.Load())
}

// A leader that cannot reach the host cluster stops working in time, and works again
// when it has been elected again.
func TestLostLeaseStopsTheWork(t *testing.T) {
	noLeak(t)
	h, client := leases(t, shippedLease())
	away := leaseOutage(client)
	c := &candidate{}
	c.stand(t, h, "only", quick())
	require.Eventually(t, c.working.Load, deadline, time.Millisecond)
	away.Store(true)
	lost := time.Now()
	require.Eventually(t, func() bool { return !c.working.Load() }, deadline, time.Millisecond)
	assert.Less(t, time.Since(lost), quick().lease, "longer than others wait")
	away.Store(false)
	require.Eventually(t, c.working.Load, deadline, time.Millisecond)
	assert.EqualValues(t, 2, c.terms.Load())
}

// Whoever has lost the lease and still works leaves it as it is until the work has ended,
// and takes it from no successor then.
func TestLostLeaseIsNotTakenFromASuccessor(t *testing.T) {
	noLeak(t)
	h, client := leases(t, shippedLease())
	away := leaseOutage(client)
	c := &candidate{hold: make(chan struct{})}
	c.stand(t, h, "only", quick())
	require.Eventually(t, c.working.Load, deadline, time.Millisecond)
	away.Store(true)
	require.Eventually(t, c.told.Load, deadline, time.Millisecond)
	assert.Equal(t, "only", holder(t, client), "given up while it works")
	taken := shippedLease()
	taken.Spec.HolderIdentity = ptr.To("successor")
	require.NoError(t, client.Tracker().Update(coordinationv1.SchemeGroupVersion.WithResource("leases"), taken, DefaultNamespace))
	away.Store(false)
	c.stop()
	assert.Never(t, func() bool { return isClosed(c.ended) }, 4*quick().retry, quick().retry, "it does not wait for the work")
	close(c.hold)
	<-c.ended
	assert.Equal(t, "successor", holder(t, client))
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// A Lease that is missing is said once, with what to do, and not created.
func TestMissingLease(t *testing.T) {
	noLeak(t)
	h, client := leases(t)
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	log := func() string { return logger.GetSink().(ktesting.Underlier).GetBuffer().String() }
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), logger))
	worked, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		assert.NoError(t, h.lead(ctx, "only", slow(), func(ctx context.Context) { close(worked); <-ctx.Done() }))
	}()
	require.Eventually(t, func() bool { return len(client.Actions()) > 4 }, deadline, time.Millisecond)
	assert.Equal(t, 1, strings.Count(log(), "the Lease entente-system/entente-controllers is missing; create it empty"), log())
	require.NoError(t, client.Tracker().Create(coordinationv1.SchemeGroupVersion.WithResource("leases"), shippedLease(), DefaultNamespace))
	<-worked
	cancel()
	<-ended
	assert.Equal(t, 1, strings.Count(log(), "ERROR"), log())
}

// Work that ends by itself gives the lease up, and is begun again after a pause.
func TestWorkThatEndsIsBegunAgain(t *testing.T) {
	noLeak(t)
	h, client := leases(t, shippedLease())
	ctx, cancel := context.WithCancel(t.Context())
	var times []time.Time
	require.NoError(t, h.lead(ctx, "only", slow(), func(context.Context) {
		if times = append(times, time.Now()); len(times) == 3 {
			cancel()
		}
	}))
	assert.Empty(t, holder(t, client))
	assert.GreaterOrEqual(t, times[2].Sub(times[0]), 2*slow().retry)
}

// A replica that is told to end before it was elected never works.
func TestLeadNotAtAll(t *testing.T) {
	noLeak(t)
	taken := shippedLease()
	taken.Spec = coordinationv1.LeaseSpec{HolderIdentity: ptr.To("other"), LeaseDurationSeconds: ptr.To[int32](3600), RenewTime: ptr.To(metav1.NowMicro())}
	h, client := leases(t, taken)
	c := &candidate{}
	c.stand(t, h, "only", slow())
	require.Eventually(t, func() bool { return len(client.Actions()) > 2 }, deadline, time.Millisecond)
	c.stop()
	<-c.ended
	assert.Zero(t, c.terms.Load())
	assert.Equal(t, "other", holder(t, client))

	// And one that is told so at the very moment works, or does not; it always ends.
	for range 50 {
		h, client := leases(t, shippedLease())
		c := &candidate{}
		client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			go c.stop()
			return false, nil, nil
		})
		c.stand(t, h, "only", slow())
		<-c.ended
		assert.Empty(t, holder(t, client))
	}
}

// The manifests' pace is one that the library accepts.
func TestUsualPace(t *testing.T) {
	h, client := leases(t, shippedLease())
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, h.Lead(ctx, "only", func(context.Context) {
		assert.Equal(t, "only", holder(t, client))
		cancel()
	}))
	got, err := client.CoordinationV1().Leases(DefaultNamespace).Get(t.Context(), LeaseName, metav1.GetOptions{})
	require.NoError(t, err)
	assert.EqualValues(t, 1, *got.Spec.LeaseDurationSeconds, "given up: a successor need not wait")
}
