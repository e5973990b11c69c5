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

package clusterpeer

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/peering/record"
)

// grants puts what was granted into the ledger, with or without having made it.
func (f *fixture) grants(uid string, grants ...record.Grant) {
	f.t.Helper()
	require.NoError(f.t, f.ledger.Update(f.t.Context(), func(tx record.Tx) error {
		for _, grant := range grants {
			grant.PeerUID, grant.PeerName = uid, "p"
			if err := tx.PutGrant(&grant); err != nil {
				return err
			}
		}
		return nil
	}))
}

// G3, G5: the status tells what takes effect by the plan, and what is granted by the
// ledger: a Role that is about to be made gives nothing yet.
func TestG5StatusTellsWhatIsGranted(t *testing.T) {
	f := newFixture(t)
	f.holds(invitePeer("p", "u"))
	f.planned.plan = access.Plan{
		Effective: []access.Capability{{Name: "backup"}, {Name: "nodes"}},
		Paired:    []access.Pair{{Name: "b"}, {Name: "c"}},
	}
	f.grants("u",
		record.Grant{Capability: "nodes", Objects: []record.GrantedObject{{Kind: "ClusterRole", Name: "entente-1", UID: "1"}}},
		record.Grant{Capability: "backup", Objects: []record.GrantedObject{
			{Kind: "Role", Namespace: "c", Name: "entente-2", UID: "2"}, {Kind: "Role", Namespace: "b", Name: "entente-3", UID: "3"}, {Kind: "Role", Namespace: "d", Name: "entente-4"},
		}},
		record.Grant{Capability: "soon", Objects: []record.GrantedObject{{Kind: "Role", Namespace: "b", Name: "entente-5"}}},
	)
	f.settle("p")
	status := f.real("p").Status
	assert.Equal(t, []string{"backup", "nodes"}, status.EffectiveCapabilities)
	assert.EqualValues(t, 2, status.PairedProjectsCount)
	assert.Equal(t, []peeringv1alpha1.Grant{{Capability: "backup", Namespaces: []string{"b", "c"}}, {Capability: "nodes"}}, status.Grants)

	// While it cannot be told, nothing is said to have gone.
	f.planned.err = access.ErrUnknown
	f.settle("p")
	assert.Equal(t, []string{"backup", "nodes"}, f.real("p").Status.EffectiveCapabilities)
	f.planned.err, f.planned.plan = nil, access.Plan{}
	f.settle("p")
	assert.Empty(t, f.real("p").Status.EffectiveCapabilities)
	assert.Zero(t, f.real("p").Status.PairedProjectsCount)
}

// G5: however much is granted, the status fits the store.
func TestG5StatusFitsTheStore(t *testing.T) {
	var grants []*record.Grant
	for _, capability := range []string{"c", "b", "a"} {
		grant := &record.Grant{Capability: capability}
		for i := range 1500 {
			grant.Objects = append(grant.Objects, record.GrantedObject{Kind: "Role", Namespace: fmt.Sprintf("ns-%04d", i), UID: "u"})
		}
		grants = append(grants, grant)
	}
	shown := projectGrants(append(grants, &record.Grant{Capability: "d", Objects: []record.GrantedObject{{Kind: "ClusterRole", UID: "u"}}}))
	var counts []int
	for _, grant := range shown {
		counts = append(counts, len(grant.Namespaces))
	}
	assert.Equal(t, []int{1500, 500, 1, 0}, counts)
}

// G3: of each capability that does not take effect an Event says why, once, and so does
// the condition.
func TestG3WhyNot(t *testing.T) {
	f := newFixture(t)
	f.holds(invitePeer("p", "u"))
	f.planned.plan.Ineffective = []access.Ineffective{
		{Name: "a", Why: access.NotFound}, {Name: "b", Why: access.NotValid}, {Name: "c", Why: access.NotOffered}, {Name: "d", Why: access.VersionMismatch},
	}
	f.settle("p")
	message := readyOf(t, f.real("p")).Message
	assert.Contains(t, message, " Not in effect: a (CapabilityNotFound), b (CapabilityNotValid), c (CapabilityNotOffered), d (CapabilityVersionMismatch).")
	told := f.recorded()
	for _, text := range []string{
		"Warning CapabilityNotFound Capability a is not in effect: there is no PeeringCapability of that name in this cluster.",
		"Warning CapabilityNotValid Capability b is not in effect: the PeeringCapability is not valid, as its condition Valid says.",
		"Warning CapabilityNotOffered Capability c is not in effect: the other cluster does not offer a capability of that name.",
		"Warning CapabilityVersionMismatch Capability d is not in effect: the other cluster offers it in another major version.",
	} {
		assert.Contains(t, told, text)
	}
	f.settle("p")
	assert.Empty(t, f.recorded(), "once")

	f.planned.plan.Ineffective = []access.Ineffective{{Name: "a", Why: access.NotValid}}
	f.settle("p")
	assert.Equal(t, []string{"Warning CapabilityNotValid Capability a is not in effect: the PeeringCapability is not valid, as its condition Valid says."}, f.recorded())
	f.planned.plan.Ineffective = nil
	f.settle("p")
	assert.NotContains(t, readyOf(t, f.real("p")).Message, "Not in effect")
	f.planned.plan.Ineffective = []access.Ineffective{{Name: "a", Why: access.NotValid}}
	f.settle("p")
	assert.Len(t, f.recorded(), 1, "again, after it was well")
}

func TestNotInEffectIsShort(t *testing.T) {
	plan := &access.Plan{}
	for i := range 12 {
		plan.Ineffective = append(plan.Ineffective, access.Ineffective{Name: "c" + strconv.Itoa(i), Why: access.NotFound})
	}
	assert.Equal(t, " Not in effect: c0 (CapabilityNotFound), c1 (CapabilityNotFound), c2 (CapabilityNotFound), c3 (CapabilityNotFound), c4 (CapabilityNotFound) and 7 more.", notInEffect(plan))
	assert.Empty(t, notInEffect(nil))
	assert.Empty(t, notInEffect(&access.Plan{}))
}

// P12, G5: a ClusterPeer that is deleted stays until what was granted for it is gone.
func TestP12StaysUntilGrantsAreGone(t *testing.T) {
	f := newFixture(t)
	peer := invitePeer("p", "u")
	f.holds(peer)
	f.settle("p")
	f.grants("u", record.Grant{Capability: "backup", Objects: []record.GrantedObject{{Kind: "Role", Namespace: "b", Name: "entente-3", UID: "3"}}})
	f.delete("p")
	f.host = true
	assert.Equal(t, grantsFor, f.run("p"))
	assert.Nil(t, f.ledger.Peer("u"), "the peering has ended all the same")
	assert.Contains(t, f.real("p").Finalizers, peeringv1alpha1.FinalizerDisconnect)
	f.grants("u", record.Grant{Capability: "backup"})
	f.run("p")
	assert.NotContains(t, f.real("p").Finalizers, peeringv1alpha1.FinalizerDisconnect)
}

// Without a host cluster nobody could take back what was granted in one: it is not waited
// for.
func TestP12NothingToWaitForAlone(t *testing.T) {
	f := newFixture(t)
	f.holds(invitePeer("p", "u"))
	f.settle("p")
	f.grants("u", record.Grant{Capability: "backup", Objects: []record.GrantedObject{{Kind: "Role", Namespace: "b", Name: "entente-3", UID: "3"}}})
	f.delete("p")
	f.run("p")
	assert.NotContains(t, f.real("p").Finalizers, peeringv1alpha1.FinalizerDisconnect)
}
