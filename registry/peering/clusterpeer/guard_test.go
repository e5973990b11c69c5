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
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/rest"

	"entente.dev/entente/apis/peering"
)

// capabilities is a store in which there is none.
type capabilities struct{}

func (capabilities) Get(_ context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	return nil, apierrors.NewNotFound(peering.Resource("peeringcapabilities"), name)
}

// binders are an authorizer that lets some users name every capability, and notes whom it
// was asked about.
type binders struct {
	users []string
	asked []string
}

func (b *binders) authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	b.asked = append(b.asked, a.GetUser().GetName()+" "+a.GetVerb()+" "+a.GetName())
	if a.GetVerb() == "bind" && slices.Contains(b.users, a.GetUser().GetName()) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// G2: every way to write a ClusterPeer leads past the guard, but for /status, through which
// nothing is granted. What is refused is not stored.
func TestG2Guarded(t *testing.T) {
	b := &binders{users: []string{holder}}
	s := newGuardedStorage(t, b.authorize)
	s.create(t, newJoin())
	assert.Equal(t, []string{"holder bind one"}, b.asked)
	before := s.read(t, "a-peer")

	// Nobody who lacks the right creates one that names a capability.
	for name, options := range map[string]*metav1.CreateOptions{"": {}, "a dry run": {DryRun: []string{metav1.DryRunAll}}} {
		peer := newJoin()
		peer.Name = "b-peer"
		_, err := s.Main.Create(as(operator, ""), peer, rest.ValidateAllObjectFunc, options)
		assert.True(t, apierrors.IsForbidden(err), "%s: %v", name, err)
		peer = newJoin()
		peer.Name, peer.GenerateName = "", "c-"
		_, err = s.Main.Create(as(operator, ""), peer, rest.ValidateAllObjectFunc, options)
		assert.True(t, apierrors.IsForbidden(err), "%s: %v", name, err)
	}
	applied := rest.DefaultUpdatedObjectInfo(nil, func(context.Context, runtime.Object, runtime.Object) (runtime.Object, error) {
		peer := newJoin()
		peer.Name = "b-peer"
		return peer, nil
	})
	_, _, err := s.Main.Update(as(operator, ""), "b-peer", applied, rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, true, &metav1.UpdateOptions{})
	assert.True(t, apierrors.IsForbidden(err), "an apply: %v", err)
	_, err = s.Main.Get(as(operator, ""), "b-peer", &metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)

	for name, tt := range map[string]struct {
		endpoint string
		change   func(*peering.ClusterPeer)
		guarded  bool
	}{
		"an echo":                             {"", func(*peering.ClusterPeer) {}, false},
		"the placeholder":                     {"", func(p *peering.ClusterPeer) { p.Spec.Join.ConnectionString = placeholder }, false},
		"a label":                             {"", func(p *peering.ClusterPeer) { p.Labels = map[string]string{"l": "l"} }, false},
		"a status that is ignored":            {"", func(p *peering.ClusterPeer) { p.Status.Phase = "" }, false},
		"a value for the status, ignored too": {"", func(p *peering.ClusterPeer) { p.Status.Invite = &peering.InviteStatus{ConnectionString: "guess"} }, false},
		"a connection string":                 {"", func(p *peering.ClusterPeer) { p.Spec.Join.ConnectionString = "other" }, true},
		"no connection string":                {"", func(p *peering.ClusterPeer) { p.Spec.Join.ConnectionString = "" }, true},
		"a UUID":                              {"", func(p *peering.ClusterPeer) { p.Spec.Join.ExpectedClusterUUID = "" }, true},
		"a capability":                        {"", func(p *peering.ClusterPeer) { p.Spec.Capabilities = []string{"one", "two"} }, true},
		"projects":                            {"", func(p *peering.ClusterPeer) { p.Spec.Projects = nil }, true},
		"a renewal":                           {"", func(p *peering.ClusterPeer) { p.Annotations = map[string]string{"peering.entente.dev/renew": "id"} }, true},
		"an echo on sensitive":                {"sensitive", func(*peering.ClusterPeer) {}, false},
		"what sensitive ignores":              {"sensitive", func(p *peering.ClusterPeer) { p.Spec.Projects, p.Spec.Capabilities = nil, []string{"two"} }, false},
		"a connection string on sensitive":    {"sensitive", func(p *peering.ClusterPeer) { p.Spec.Join.ConnectionString = "other" }, true},
		"status":                              {"status", func(p *peering.ClusterPeer) { p.Status.Phase = peering.ClusterPeerPhaseError }, false},
		"what status ignores":                 {"status", func(p *peering.ClusterPeer) { p.Spec.Join.ConnectionString = "other" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			endpoint := map[string]updater{"": s.Main, "sensitive": s.Sensitive, "status": s.Status}[tt.endpoint]
			b.asked = nil
			change := func(user string, dryRun ...string) error {
				_, _, err := endpoint.Update(as(user, tt.endpoint), "a-peer", patch(tt.change), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{DryRun: dryRun})
				return err
			}
			err := change(operator, metav1.DryRunAll)
			assert.Equal(t, tt.guarded, apierrors.IsForbidden(err), "%v", err)
			assert.Equal(t, tt.guarded, err != nil, "%v", err)
			assert.Equal(t, tt.guarded, len(b.asked) > 0, "%v", b.asked)
			if tt.guarded {
				err := change(operator)
				assert.True(t, apierrors.IsForbidden(err), "%v", err)
				assert.Equal(t, before, s.read(t, "a-peer"), "nothing of it is stored")
			}
			assert.NoError(t, change(holder, metav1.DryRunAll), "with the right")
		})
	}
}

// G2, R10: by who cannot see the value, a guess of it is refused whether it is right or not;
// who can see it and writes it has changed nothing.
func TestG2RightGuess(t *testing.T) {
	b := &binders{users: []string{"founder"}}
	s := newGuardedStorage(t, b.authorize)
	_, err := s.Main.Create(as("founder", ""), newJoin(), rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	require.NoError(t, err)
	guess := func(value string) rest.UpdatedObjectInfo {
		return patch(func(p *peering.ClusterPeer) { p.Spec.Join.ConnectionString = value })
	}
	for name, endpoint := range map[string]updater{"": s.Main, "sensitive": s.Sensitive} {
		var said []string
		for _, value := range []string{joinCanary, "wrong"} {
			_, _, err := endpoint.Update(as(operator, name), "a-peer", guess(value), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
			require.True(t, apierrors.IsForbidden(err), "%s: %v", name, err)
			said = append(said, err.Error())
		}
		assert.Equal(t, said[0], said[1])
		_, _, err := endpoint.Update(as(holder, name), "a-peer", guess(joinCanary), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
		assert.NoError(t, err, name)
		_, _, err = endpoint.Update(as(holder, name), "a-peer", guess("wrong"), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
		assert.True(t, apierrors.IsForbidden(err), "%s: %v", name, err)
	}
}

// G2: who may not, is told so before admission plugins see what he wanted; what is invalid is
// 422 for everybody, and nobody is asked.
func TestG2Order(t *testing.T) {
	b := &binders{}
	s := newGuardedStorage(t, b.authorize)
	admitted := false
	admit := func(context.Context, runtime.Object) error { admitted = true; return nil }
	_, err := s.Main.Create(as(operator, ""), newJoin(), admit, &metav1.CreateOptions{})
	assert.True(t, apierrors.IsForbidden(err), "%v", err)
	assert.False(t, admitted)
	b.asked = nil
	peer := newJoin()
	peer.Spec.Capabilities = []string{"NOT VALID"}
	_, err = s.Main.Create(as(operator, ""), peer, admit, &metav1.CreateOptions{})
	assert.True(t, apierrors.IsInvalid(err), "%v", err)
	assert.Empty(t, b.asked)

	b.users = []string{operator, holder}
	refuse := func(context.Context, runtime.Object) error { return assert.AnError }
	_, err = s.Main.Create(as(operator, ""), newJoin(), refuse, &metav1.CreateOptions{})
	assert.ErrorIs(t, err, assert.AnError, "the guard is in nobody's place")
	s.create(t, newJoin())
	_, _, err = s.Main.Update(as(operator, ""), "a-peer", patch(func(p *peering.ClusterPeer) { p.Spec.Projects = nil }), admit, func(context.Context, runtime.Object, runtime.Object) error { return assert.AnError }, false, &metav1.UpdateOptions{})
	assert.ErrorIs(t, err, assert.AnError)
}
