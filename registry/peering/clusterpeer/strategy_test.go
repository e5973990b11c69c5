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
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"entente.dev/entente/apis/peering"
	"entente.dev/entente/apis/peering/install"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

// The secrets of these tests.
const (
	joinCanary   = "kQ7zCANARYjoinVw3x0a1b2c3d4e5f6g7h8"
	inviteCanary = "cX9yCANARYinviteTu8y8h7g6f5e4d3c2b1a"
	placeholder  = "<omitted>"
)

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, install.Install(scheme))
	metav1.AddToGroupVersion(scheme, peeringv1alpha1.SchemeGroupVersion)
	return scheme
}

func requestContext(subresource string) context.Context {
	ctx := genericapirequest.WithNamespace(context.Background(), "")
	return genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		IsResourceRequest: true, APIGroup: peering.GroupName, APIVersion: "v1alpha1", Resource: resource, Subresource: subresource,
	})
}

// join is a stored ClusterPeer of type Join, with everything in it.
func join() *peering.ClusterPeer {
	return &peering.ClusterPeer{
		ObjectMeta: metav1.ObjectMeta{
			Name: "a-peer", UID: "uid", ResourceVersion: "5", Generation: 3, CreationTimestamp: metav1.Unix(1700000000, 0),
			Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}, Finalizers: []string{"entente.dev/peer"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "y"}},
			ManagedFields:   managedBy("before"),
		},
		Spec: peering.ClusterPeerSpec{
			Type: peering.ClusterPeerTypeJoin, Capabilities: []string{"one"}, Projects: []string{"two"},
			Join: &peering.JoinSpec{ConnectionString: joinCanary, ExpectedClusterUUID: "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"},
		},
		Status: peering.ClusterPeerStatus{
			Phase: peering.ClusterPeerPhasePending, ObservedGeneration: 2, Invite: &peering.InviteStatus{ConnectionString: inviteCanary, TokenID: "id"},
			Conditions: []metav1.Condition{{Type: "Ready", Status: "False", Reason: "WaitingForPeer", LastTransitionTime: metav1.Unix(1700000000, 0), ObservedGeneration: 2}},
		},
	}
}

func managedBy(manager string) []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "peering.entente.dev/v1alpha1", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:type":{}}}`),
	}}
}

func changed(base *peering.ClusterPeer, change func(*peering.ClusterPeer)) *peering.ClusterPeer {
	out := base.DeepCopy()
	change(out)
	return out
}

// metadata are changes that a write to a subresource must not make.
var metadata = map[string]func(*peering.ClusterPeer){
	"labels":         func(p *peering.ClusterPeer) { p.Labels = map[string]string{"x": "y"} },
	"no labels":      func(p *peering.ClusterPeer) { p.Labels = nil },
	"annotations":    func(p *peering.ClusterPeer) { p.Annotations["peering.entente.dev/renew"] = "now" },
	"finalizers":     func(p *peering.ClusterPeer) { p.Finalizers = nil },
	"owners":         func(p *peering.ClusterPeer) { p.OwnerReferences = nil },
	"generation":     func(p *peering.ClusterPeer) { p.Generation = 99 },
	"the name":       func(p *peering.ClusterPeer) { p.Name, p.GenerateName = "other", "other-" },
	"the creation":   func(p *peering.ClusterPeer) { p.CreationTimestamp = metav1.Now() },
	"a deletion":     func(p *peering.ClusterPeer) { p.DeletionTimestamp = &metav1.Time{} },
	"a grace period": func(p *peering.ClusterPeer) { p.DeletionGracePeriodSeconds = new(int64) },
	"all of metadata": func(p *peering.ClusterPeer) {
		p.ObjectMeta = metav1.ObjectMeta{Name: "a-peer", ManagedFields: p.ManagedFields}
	},
}

// specs are changes of the spec, but of its sensitive field.
var specs = map[string]func(*peering.ClusterPeer){
	"capabilities":      func(p *peering.ClusterPeer) { p.Spec.Capabilities = []string{"one", "more"} },
	"no capabilities":   func(p *peering.ClusterPeer) { p.Spec.Capabilities = nil },
	"projects":          func(p *peering.ClusterPeer) { p.Spec.Projects[0] = "other" },
	"the expected UUID": func(p *peering.ClusterPeer) { p.Spec.Join.ExpectedClusterUUID = "" },
	"the type":          func(p *peering.ClusterPeer) { p.Spec.Type = peering.ClusterPeerTypeInvite },
	"an invite block":   func(p *peering.ClusterPeer) { p.Spec.Invite = &peering.InviteSpec{} },
}

// K2: on create the status is dropped and the generation starts.
func TestK2Create(t *testing.T) {
	peer := join()
	newStrategy(newScheme(t)).PrepareForCreate(t.Context(), peer)
	assert.Equal(t, peering.ClusterPeerStatus{}, peer.Status)
	assert.EqualValues(t, 1, peer.Generation)
	assert.Equal(t, join().Spec, peer.Spec)
}

// P12: every ClusterPeer has the finalizer from its creation on, once, beside others;
// whoever takes it away later does so on purpose.
func TestP12FinalizerOnCreate(t *testing.T) {
	s := newStrategy(newScheme(t))
	for name, test := range map[string]struct{ given, want []string }{
		"none":            {nil, []string{"peering.entente.dev/disconnect"}},
		"others":          {[]string{"entente.dev/peer"}, []string{"entente.dev/peer", "peering.entente.dev/disconnect"}},
		"given by hand":   {[]string{"peering.entente.dev/disconnect", "a.b/c"}, []string{"peering.entente.dev/disconnect", "a.b/c"}},
		"nearly the same": {[]string{"entente.dev/disconnect"}, []string{"entente.dev/disconnect", "peering.entente.dev/disconnect"}},
	} {
		t.Run(name, func(t *testing.T) {
			peer := changed(join(), func(p *peering.ClusterPeer) { p.Finalizers = test.given })
			s.PrepareForCreate(t.Context(), peer)
			assert.Equal(t, test.want, peer.Finalizers)
			assert.Empty(t, s.Validate(t.Context(), peer))
		})
	}
	peer := changed(join(), func(p *peering.ClusterPeer) { p.Finalizers = nil })
	s.PrepareForUpdate(t.Context(), peer, join())
	assert.Empty(t, peer.Finalizers, "it is not forced upon who takes it away")
}

// K2: the generation moves with the spec, by one, and with nothing else; the
// status cannot be changed here.
func TestK2Update(t *testing.T) {
	s := newStrategy(newScheme(t))
	moves := func(name string, want int64, change func(*peering.ClusterPeer)) {
		t.Run(name, func(t *testing.T) {
			old, peer := join(), changed(join(), change)
			wanted := peer.DeepCopy()
			s.PrepareForUpdate(t.Context(), peer, old)
			assert.Equal(t, want, peer.Generation)
			assert.Equal(t, join(), old, "R7")
			wanted.Generation, wanted.Status = want, old.Status
			assert.Equal(t, wanted, peer)
		})
	}
	moves("nothing", 3, func(*peering.ClusterPeer) {})
	for name, change := range metadata {
		moves(name, 3, change)
	}
	for name, change := range specs {
		moves(name, 4, change)
	}
	moves("the connection string", 4, func(p *peering.ClusterPeer) { p.Spec.Join.ConnectionString = "new" })
	moves("no connection string", 4, func(p *peering.ClusterPeer) { p.Spec.Join.ConnectionString = "" })
	moves("no join block", 4, func(p *peering.ClusterPeer) { p.Spec.Join = nil })
	moves("the status", 3, func(p *peering.ClusterPeer) {
		p.Status = peering.ClusterPeerStatus{Phase: peering.ClusterPeerPhaseActive}
	})

	// An empty list is no list.
	old := changed(join(), func(p *peering.ClusterPeer) { p.Spec.Capabilities = nil })
	peer := changed(old, func(p *peering.ClusterPeer) { p.Spec.Capabilities = []string{} })
	s.PrepareForUpdate(t.Context(), peer, old)
	assert.EqualValues(t, 3, peer.Generation)
}

// S1: a write of the status changes the status alone: nothing of the metadata, and
// nothing of the spec.
func TestS1StatusUpdate(t *testing.T) {
	s := statusStrategy{newStrategy(newScheme(t)), everybody}
	status := peering.ClusterPeerStatus{Phase: peering.ClusterPeerPhaseActive, Invite: &peering.InviteStatus{ConnectionString: "new"}}
	for name, change := range metadata {
		t.Run(name, func(t *testing.T) {
			old, peer := join(), changed(join(), change)
			peer.Status, peer.ManagedFields = *status.DeepCopy(), managedBy("after")
			s.PrepareForUpdate(as(operator, "status"), peer, old)
			want := join()
			want.Status, want.ManagedFields = status, managedBy("after")
			assert.Equal(t, want, peer)
			assert.Equal(t, join(), old, "R7")
		})
	}
	for name, change := range specs {
		t.Run(name, func(t *testing.T) {
			peer := changed(join(), change)
			peer.Status = status
			s.PrepareForUpdate(as(operator, "status"), peer, join())
			want := join()
			want.Status = status
			assert.Equal(t, want, peer)
		})
	}
}

// R9: a write of /sensitive changes the sensitive field of the spec alone.
func TestR9SensitiveUpdate(t *testing.T) {
	s := sensitiveStrategy{newStrategy(newScheme(t))}
	for name, changes := range map[string]map[string]func(*peering.ClusterPeer){
		"metadata": metadata, "spec": specs, "status": {
			"the phase":            func(p *peering.ClusterPeer) { p.Status.Phase = peering.ClusterPeerPhaseActive },
			"the issued string":    func(p *peering.ClusterPeer) { p.Status.Invite.ConnectionString = "new" },
			"no status":            func(p *peering.ClusterPeer) { p.Status = peering.ClusterPeerStatus{} },
			"a string, other UUID": func(p *peering.ClusterPeer) { p.Spec.Join.ExpectedClusterUUID = "x" },
		},
	} {
		for what, change := range changes {
			t.Run(name+" "+what, func(t *testing.T) {
				old, peer := join(), changed(join(), change)
				s.PrepareForUpdate(t.Context(), peer, old)
				assert.Equal(t, join(), peer)
				assert.Equal(t, join(), old, "R7")

				peer = changed(join(), change)
				peer.Spec.Join.ConnectionString = "new"
				s.PrepareForUpdate(t.Context(), peer, old)
				want := join()
				want.Spec.Join.ConnectionString, want.Generation = "new", 4
				assert.Equal(t, want, peer)
				assert.Equal(t, join(), old, "R7")
			})
		}
	}
	block := func(value, uuid string) *peering.JoinSpec {
		return &peering.JoinSpec{ConnectionString: value, ExpectedClusterUUID: uuid}
	}
	for name, test := range map[string]struct {
		stored, submitted, want *peering.JoinSpec
	}{
		"set where there is no block":            {nil, block("new", ""), block("new", "")},
		"set where there is no value":            {block("", "u"), block("new", ""), block("new", "u")},
		"changed":                                {block("old", "u"), block("new", ""), block("new", "u")},
		"as it is":                               {block("old", "u"), block("old", ""), block("old", "u")},
		"removed":                                {block("old", "u"), block("", ""), block("", "u")},
		"removed with the block":                 {block("old", "u"), nil, block("", "u")},
		"nothing where there is nothing":         {nil, nil, nil},
		"no value where there is none":           {block("", "u"), block("", "v"), block("", "u")},
		"no block where there is no value":       {block("", "u"), nil, block("", "u")},
		"a block without a value for no block":   {nil, block("", "u"), nil},
		"an empty block where there is no block": {nil, &peering.JoinSpec{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			old := changed(join(), func(p *peering.ClusterPeer) { p.Spec.Join = test.stored })
			peer := changed(join(), func(p *peering.ClusterPeer) { p.Spec.Join = test.submitted })
			before := old.DeepCopy()
			s.PrepareForUpdate(t.Context(), peer, old)
			assert.Equal(t, test.want, peer.Spec.Join)
			generation := int64(3)
			if fmt.Sprintf("%#v", test.want) != fmt.Sprintf("%#v", test.stored) || !assert.ObjectsAreEqual(test.want, test.stored) {
				generation = 4
			}
			assert.Equal(t, generation, peer.Generation)
			assert.Equal(t, before, old, "R7")
		})
	}
}

// faults are the causes of an error, as type and path.
func faults(t *testing.T, err error) (out []string) {
	t.Helper()
	if err == nil {
		return nil
	}
	var status apierrors.APIStatus
	require.ErrorAs(t, err, &status)
	require.Equal(t, metav1.StatusReasonInvalid, status.Status().Reason)
	for _, cause := range status.Status().Details.Causes {
		out = append(out, string(cause.Type)+" "+cause.Field)
	}
	slices.Sort(out)
	return out
}

// create does to an object what the store does before it stores it.
func create(t *testing.T, peer *peering.ClusterPeer) error {
	t.Helper()
	rest.FillObjectMetaSystemFields(peer)
	return rest.BeforeCreate(newStrategy(newScheme(t)), requestContext(""), peer)
}

// K1: every fault of an object is told at once, by its path and once, whichever
// validation finds it.
func TestK1EveryFaultOnCreate(t *testing.T) {
	peer := &peering.ClusterPeer{ObjectMeta: metav1.ObjectMeta{Name: "Not_A_Label", Labels: map[string]string{"-": ""}}, Spec: peering.ClusterPeerSpec{
		Type: peering.ClusterPeerTypeJoin, Capabilities: []string{"a", "A", "a"}, Projects: []string{"*"},
		Invite: &peering.InviteSpec{ExpectedClusterUUID: "x", TokenTTL: "1s"},
		Join:   &peering.JoinSpec{ConnectionString: placeholder, ExpectedClusterUUID: "y"},
	}}
	err := create(t, peer)
	assert.Equal(t, []string{
		"FieldValueDuplicate spec.capabilities[2]",
		"FieldValueForbidden spec.invite",
		"FieldValueInvalid metadata.labels",
		"FieldValueInvalid metadata.name",
		"FieldValueInvalid spec.capabilities[1]",
		"FieldValueInvalid spec.invite.expectedClusterUUID",
		"FieldValueInvalid spec.invite.tokenTTL",
		"FieldValueInvalid spec.join.connectionString",
		"FieldValueInvalid spec.join.expectedClusterUUID",
		"FieldValueInvalid spec.projects[0]",
	}, faults(t, err))
	assert.NoError(t, create(t, &peering.ClusterPeer{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: peering.ClusterPeerSpec{Type: "Invite"}}))
	assert.Equal(t, []string{"FieldValueRequired spec.type"}, faults(t, create(t, &peering.ClusterPeer{ObjectMeta: metav1.ObjectMeta{Name: "a"}})))
}

// R15: nor does the answer to it hold a value.
func TestR15ValidationThroughTheStrategy(t *testing.T) {
	long := strings.Repeat(joinCanary, 200)
	scheme := newScheme(t)
	errs := map[string]error{
		"create": create(t, &peering.ClusterPeer{
			ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: peering.ClusterPeerSpec{Type: "Invite", Join: &peering.JoinSpec{ConnectionString: long}},
		}),
		"update":    rest.BeforeUpdate(newStrategy(scheme), requestContext(""), changed(join(), func(p *peering.ClusterPeer) { p.Spec.Join.ConnectionString = long }), join()),
		"status":    rest.BeforeUpdate(statusStrategy{newStrategy(scheme), everybody}, as(operator, "status"), changed(join(), func(p *peering.ClusterPeer) { p.Status.Invite.ConnectionString = long }), join()),
		"sensitive": rest.BeforeUpdate(sensitiveStrategy{newStrategy(scheme)}, requestContext("sensitive"), changed(join(), func(p *peering.ClusterPeer) { p.Spec.Join.ConnectionString = long }), join()),
	}
	for name, err := range errs {
		require.Error(t, err, name)
		assert.NotContains(t, fmt.Sprintf("%v %+v", err, err), "CANARY", name)
		told := faults(t, err)
		assert.True(t, slices.ContainsFunc(told, func(s string) bool { return strings.Contains(s, "connectionString") }), "%s: %v", name, told)
	}
}

// K2, R11: updates on every endpoint, as the store makes them: prepared, then
// validated.
func TestUpdates(t *testing.T) {
	scheme := newScheme(t)
	main := newStrategy(scheme)
	strategies := map[string]rest.RESTUpdateStrategy{"": main, "status": statusStrategy{main, everybody}, "sensitive": sensitiveStrategy{main}}
	invite := changed(join(), func(p *peering.ClusterPeer) {
		p.Spec.Type, p.Spec.Join = peering.ClusterPeerTypeInvite, nil
	})
	for name, test := range map[string]struct {
		endpoint string
		old      *peering.ClusterPeer
		change   func(*peering.ClusterPeer)
		want     []string
	}{
		"nothing, main":        {"", join(), func(*peering.ClusterPeer) {}, nil},
		"nothing, status":      {"status", join(), func(*peering.ClusterPeer) {}, nil},
		"nothing, sensitive":   {"sensitive", join(), func(*peering.ClusterPeer) {}, nil},
		"a label":              {"", join(), func(p *peering.ClusterPeer) { p.Labels["x"] = "y" }, nil},
		"the type":             {"", join(), func(p *peering.ClusterPeer) { p.Spec.Type, p.Spec.Join = "Invite", nil }, []string{"FieldValueInvalid spec.type"}},
		"a status":             {"status", join(), func(p *peering.ClusterPeer) { p.Status.Phase = "Active" }, nil},
		"a phase that is none": {"status", join(), func(p *peering.ClusterPeer) { p.Status.Phase = "Done" }, []string{"FieldValueNotSupported status.phase"}},
		"a long alias":         {"status", join(), func(p *peering.ClusterPeer) { p.Status.Peer = &peering.PeerStatus{Alias: strings.Repeat("x", 1048577)} }, []string{"FieldValueTooLong status.peer.alias"}},
		"a long reason":        {"status", join(), func(p *peering.ClusterPeer) { p.Status.Conditions[0].Reason = strings.Repeat("x", 1025) }, []string{"FieldValueTooLong status.conditions[0].reason"}},
		"a fault of the spec, written to the status": {"status", join(), func(p *peering.ClusterPeer) { p.Spec.Capabilities = []string{"*"} }, nil},
		"a new string":             {"sensitive", join(), func(p *peering.ClusterPeer) { p.Spec.Join.ConnectionString = "new" }, nil},
		"a string to an Invite":    {"sensitive", invite, func(p *peering.ClusterPeer) { p.Spec.Join = &peering.JoinSpec{ConnectionString: "new"} }, []string{"FieldValueForbidden spec.join"}},
		"a placeholder, main":      {"", join(), func(p *peering.ClusterPeer) { p.Spec.Join.ConnectionString = placeholder }, []string{"FieldValueInvalid spec.join.connectionString"}},
		"a placeholder, status":    {"status", join(), func(p *peering.ClusterPeer) { p.Status.Invite.ConnectionString = placeholder }, []string{"FieldValueInvalid status.invite.connectionString"}},
		"a placeholder, sensitive": {"sensitive", join(), func(p *peering.ClusterPeer) { p.Spec.Join.ConnectionString = placeholder }, []string{"FieldValueInvalid spec.join.connectionString"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := rest.BeforeUpdate(strategies[test.endpoint], as(operator, test.endpoint), changed(test.old, test.change), test.old.DeepCopy())
			assert.Equal(t, test.want, faults(t, err))
		})
	}
}

// What a write of an endpoint may own is what it can change.
func TestResetFields(t *testing.T) {
	main := newStrategy(newScheme(t))
	set := fieldpath.NewSet(
		fieldpath.MakePathOrDie("metadata", "labels", "a"),
		fieldpath.MakePathOrDie("spec", "type"),
		fieldpath.MakePathOrDie("spec", "join", "connectionString"),
		fieldpath.MakePathOrDie("spec", "join", "expectedClusterUUID"),
		fieldpath.MakePathOrDie("status", "phase"),
		fieldpath.MakePathOrDie("status", "invite", "connectionString"),
	)
	const version = "peering.entente.dev/v1alpha1"
	require.Contains(t, main.GetResetFields(), fieldpath.APIVersion(version))
	assert.Len(t, main.GetResetFields(), 1)
	kept := set.RecursiveDifference(main.GetResetFields()[version])
	assert.False(t, kept.Has(fieldpath.MakePathOrDie("status", "phase")))
	assert.True(t, kept.Has(fieldpath.MakePathOrDie("spec", "type")))

	assert.Equal(t, fieldpath.NewSet(
		fieldpath.MakePathOrDie("status", "phase"),
		fieldpath.MakePathOrDie("status", "invite", "connectionString"),
	).String(), statusStrategy{kindStrategy: main}.resetFieldsFilter()[version].Filter(set).String())
	assert.Equal(t, fieldpath.NewSet(
		fieldpath.MakePathOrDie("spec", "join", "connectionString"),
	).String(), sensitiveStrategy{main}.resetFieldsFilter()[version].Filter(set).String())
}

// The rest of what a strategy says.
func TestStrategy(t *testing.T) {
	s := newStrategy(newScheme(t))
	assert.False(t, s.NamespaceScoped())
	assert.False(t, s.AllowCreateOnUpdate(t.Context()), "a PUT does not create")
	assert.True(t, s.AllowUnconditionalUpdate(t.Context()))
	assert.Empty(t, s.WarningsOnCreate(t.Context(), join()))
	assert.Empty(t, s.WarningsOnUpdate(t.Context(), join(), join()))
	peer := join()
	s.Canonicalize(peer)
	assert.Equal(t, join(), peer)
	assert.True(t, strings.HasPrefix(s.GenerateName("a-"), "a-"))
	assert.LessOrEqual(t, len(s.GenerateName(strings.Repeat("x", 100))), 63)
}

// S1: what was issued is written by who issues; anybody else's write of a status leaves
// it as it is, the connection string first of all, which leads the other cluster to whom
// it names.
func TestS1OnlyIssuersWriteWhatWasIssued(t *testing.T) {
	s := statusStrategy{newStrategy(newScheme(t)), func(who user.Info) bool { return who.GetName() == "issuer" }}
	for name, status := range map[string]peering.ClusterPeerStatus{
		"planted": {Invite: &peering.InviteStatus{ConnectionString: "evil", TokenID: "evil", TokenHash: "evil"}},
		"removed": {},
		"emptied": {Invite: &peering.InviteStatus{}},
	} {
		for _, who := range []string{"issuer", "operator", ""} {
			ctx := requestContext("status")
			if who != "" {
				ctx = genericapirequest.WithUser(ctx, &user.DefaultInfo{Name: who})
			}
			peer := join()
			peer.Status = *status.DeepCopy()
			peer.Status.Phase = peering.ClusterPeerPhaseActive
			s.PrepareForUpdate(ctx, peer, join())
			want := join().Status.Invite
			if who == "issuer" {
				want = status.Invite
			}
			assert.Equal(t, want, peer.Status.Invite, "%s by %q", name, who)
			assert.Equal(t, peering.ClusterPeerPhaseActive, peer.Status.Phase, "all else is written")
		}
	}
	old := join()
	peer := join()
	s.PrepareForUpdate(requestContext("status"), peer, old)
	peer.Status.Invite.TokenID = "changed"
	assert.NotEqual(t, "changed", old.Status.Invite.TokenID, "R7")

	s.issuers = nil
	peer = join()
	peer.Status.Invite.TokenID = "planted"
	s.PrepareForUpdate(as("issuer", "status"), peer, join())
	assert.Equal(t, join().Status.Invite, peer.Status.Invite, "without issuers nobody is one")
}
