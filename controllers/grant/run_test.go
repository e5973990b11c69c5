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

package grant

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	rbacv1 "k8s.io/api/rbac/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/peering/record"
)

// runs runs the controller and its informers until the test ends, or stop is called.
func (f *fixture) runs() (stop func()) {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.t.Context())
	var running sync.WaitGroup
	f.peers.StartWithContext(ctx)
	f.objects.StartWithContext(ctx)
	running.Go(func() { assert.NoError(f.t, f.Run(ctx)) })
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		f.peers.Shutdown()
		f.objects.Shutdown()
	})
	f.t.Cleanup(stop)
	return stop
}

func (f *fixture) eventually(what string, happened func() bool) {
	f.t.Helper()
	require.Eventually(f.t, happened, 20*time.Second, 5*time.Millisecond, what)
}

// G5: what was granted on account of ClusterPeers that are gone is found at the start, in
// the ledger and, if that was restored, by what objects bear.
func TestG5RunFindsWhatIsLeft(t *testing.T) {
	for _, restored := range []bool{false, true} {
		f, _ := granted(t)
		f.forgets("west")
		if restored {
			require.NoError(t, f.book.Memory.Update(t.Context(), func(tx record.Tx) error {
				return tx.PutGrant(&record.Grant{PeerUID: westUID, Capability: "logs"})
			}))
		} else {
			for r := range f.host.all() {
				f.host.changes(r, func(live object) { live.SetLabels(nil) })
			}
		}
		f.restart()
		stop := f.runs()
		f.eventually("nothing is left", func() bool { return len(f.host.all()) == 0 && len(f.book.AllGrants()) == 0 })
		stop()
		require.Error(t, f.Run(t.Context()), "its informers have been stopped")
	}
}

// Run: everything by itself, with informers, as the events come.
func TestG5Run(t *testing.T) {
	f := newFixture(t)
	f.holds("west", westUID)
	plan := planned([]access.Capability{capability("logs", "get")}, "a", "b")
	f.plans.set(plan)
	f.runs()
	eventually := func(what string, lines ...string) {
		t.Helper()
		f.eventually(what, func() bool { return slices.Equal(lines, f.grants()) })
	}
	both := []string{"a d8-logs:reader get configmaps", "b d8-logs:reader get configmaps"}
	eventually("granted", both...)

	p := wantedBy(plan, self)[0]
	f.host.changes(p.role, func(live object) { live.(*rbacv1.Role).Rules[0].Verbs = []string{"*"} })
	eventually("changed by somebody", both...)
	f.host.changes(p.binding, func(live object) { live.SetLabels(nil) })
	f.clock.Step(maxPause) // it was made anew just now
	f.eventually("made anew", func() bool { live := f.host.all()[p.binding]; return live != nil && live.GetLabels() != nil })
	eventually("out of sight", both...)
	f.host.loses(p.role)
	eventually("deleted by somebody", both...)
	f.plans.set(planned(plan.Effective, "b"))
	eventually("unpaired", both[1])
	require.NoError(t, f.api.Tracker().Delete(peeringv1alpha1.SchemeGroupVersion.WithResource("clusterpeers"), "", "west"))
	eventually("the ClusterPeer is gone")
	f.eventually("and so is all else", func() bool { return len(f.book.AllGrants()) == 0 && len(f.host.all()) == 0 })
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
