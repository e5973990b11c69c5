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

package projectpeer

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"entente.dev/entente/apis/peering"
	"entente.dev/entente/apis/peering/install"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/registry/strategy/strategytest"
)

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, install.Install(scheme))
	metav1.AddToGroupVersion(scheme, peeringv1alpha1.SchemeGroupVersion)
	return scheme
}

func requestContext(namespace, subresource string) context.Context {
	ctx := genericapirequest.WithNamespace(context.Background(), namespace)
	return genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		IsResourceRequest: true, APIGroup: peering.GroupName, APIVersion: "v1alpha1", Namespace: namespace, Resource: resource, Subresource: subresource,
	})
}

// stored is a ProjectPeer with everything in it.
func stored() *peering.ProjectPeer {
	return &peering.ProjectPeer{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "a-peer", UID: "uid", ResourceVersion: "5", Generation: 3, CreationTimestamp: metav1.Unix(1700000000, 0),
			Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}, Finalizers: []string{"entente.dev/test"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "y"}},
			ManagedFields:   managedBy("before"),
		},
		Status: peering.ProjectPeerStatus{
			State: peering.ProjectPeerStatePaired, Reason: "Active", Message: "Both clusters offer the project.", ClusterUUID: "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0",
			Capabilities:     []peering.OfferedCapability{{Name: "one", Version: "1", Scope: []peering.CapabilityScope{peering.CapabilityScopeProject}}, {Name: "two"}},
			RemoteNamespaces: []string{"x", "y"},
		},
	}
}

func managedBy(manager string) []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "peering.entente.dev/v1alpha1", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:state":{}}}`),
	}}
}

func changed(base *peering.ProjectPeer, change func(*peering.ProjectPeer)) *peering.ProjectPeer {
	out := base.DeepCopy()
	change(out)
	return out
}

// K2, S1: what can be written through which endpoint, and when the generation moves.
func TestK2S1Endpoints(t *testing.T) {
	s := newStrategy(newScheme(t))
	strategytest.Kind[peering.ProjectPeer, *peering.ProjectPeer]{
		Main: s, Status: statusStrategy{s}, Stored: stored,
		CopyStatus: func(to, from *peering.ProjectPeer) { to.Status = from.Status },
		Other: func() *peering.ProjectPeer {
			return &peering.ProjectPeer{Status: peering.ProjectPeerStatus{State: peering.ProjectPeerStatePeerUnreachable}}
		},
	}.Test(t)
}

// K1: what is wrong is told by its path, of a new object and of a status.
func TestK1Faults(t *testing.T) {
	main := newStrategy(newScheme(t))
	create := func(peer *peering.ProjectPeer) []string {
		rest.FillObjectMetaSystemFields(peer)
		return strategytest.Faults(t, rest.BeforeCreate(main, requestContext("default", ""), peer))
	}
	assert.Empty(t, create(&peering.ProjectPeer{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}}))
	assert.Equal(t, []string{"FieldValueInvalid metadata.name"}, create(&peering.ProjectPeer{ObjectMeta: metav1.ObjectMeta{Name: "a.b", Namespace: "default"}}))
	for name, test := range map[string]struct {
		change func(*peering.ProjectPeerStatus)
		want   []string
	}{
		"nothing":                 {func(*peering.ProjectPeerStatus) {}, nil},
		"another state":           {func(s *peering.ProjectPeerStatus) { s.State = "PeerUnreachable" }, nil},
		"a state that is none":    {func(s *peering.ProjectPeerStatus) { s.State = "Lost" }, []string{"FieldValueNotSupported status.state"}},
		"a capability twice":      {func(s *peering.ProjectPeerStatus) { s.Capabilities[1].Name = "one" }, []string{"FieldValueDuplicate status.capabilities[1]"}},
		"a namespace twice":       {func(s *peering.ProjectPeerStatus) { s.RemoteNamespaces[1] = "x" }, []string{"FieldValueDuplicate status.remoteNamespaces[1]"}},
		"a capability of no name": {func(s *peering.ProjectPeerStatus) { s.Capabilities[1].Name = "" }, []string{"FieldValueRequired status.capabilities[1].name"}},
	} {
		t.Run(name, func(t *testing.T) {
			peer := changed(stored(), func(p *peering.ProjectPeer) { test.change(&p.Status) })
			assert.Equal(t, test.want, strategytest.Faults(t, rest.BeforeUpdate(statusStrategy{main}, requestContext("default", "status"), peer, stored())))
		})
	}
}

// The rest of what a strategy says.
func TestStrategy(t *testing.T) {
	s := newStrategy(newScheme(t))
	assert.True(t, s.NamespaceScoped())
	assert.False(t, s.AllowCreateOnUpdate(t.Context()), "a PUT does not create")
	assert.True(t, s.AllowUnconditionalUpdate(t.Context()))
	assert.Empty(t, s.WarningsOnCreate(t.Context(), stored()))
	assert.Empty(t, s.WarningsOnUpdate(t.Context(), stored(), stored()))
	peer := stored()
	s.Canonicalize(peer)
	assert.Equal(t, stored(), peer)
	assert.LessOrEqual(t, len(s.GenerateName(strings.Repeat("x", 100))), 63)
}
