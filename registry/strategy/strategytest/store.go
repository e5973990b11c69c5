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

package strategytest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	etcd3testing "k8s.io/apiserver/pkg/storage/etcd3/testing"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"entente.dev/entente/registry/plain"
	"entente.dev/entente/registry/strategy"
)

// Options have a store of a resource made over a real etcd, with the watch cache.
func Options(t *testing.T, scheme *runtime.Scheme, resource schema.GroupVersionResource) generic.RESTOptions {
	t.Helper()
	_, config := etcd3testing.NewUnsecuredEtcd3TestClientServer(t)
	config.Codec = serializer.NewCodecFactory(scheme).LegacyCodec(resource.GroupVersion())
	config.EventsHistoryWindow = storagebackend.DefaultEventsHistoryWindow
	return generic.RESTOptions{
		StorageConfig: config.ForResource(resource.GroupResource()), Decorator: genericregistry.StorageWithCacher(),
		ResourcePrefix: resource.Resource, DeleteCollectionWorkers: 1, EnableGarbageCollection: true,
	}
}

// NoOptions fail as a server does whose store cannot be made.
type NoOptions struct{}

// GetRESTOptions fails.
func (NoOptions) GetRESTOptions(schema.GroupResource, runtime.Object) (generic.RESTOptions, error) {
	return generic.RESTOptions{}, assert.AnError
}

// Ready waits until the main resource of a kind can be asked.
func Ready(t *testing.T, main *plain.REST) {
	t.Helper()
	t.Cleanup(main.Destroy)
	require.Eventually(t, func() bool { return main.ReadinessCheck() == nil }, time.Minute, time.Millisecond)
}

// Request is the context of a request of somebody for a resource of a namespace, which may be
// one with a subresource as in things/status.
func Request(namespace string, resource schema.GroupVersionResource) context.Context {
	ctx := genericapirequest.WithUser(context.Background(), &user.DefaultInfo{Name: "somebody"})
	main, subresource, _ := strings.Cut(resource.Resource, "/")
	return genericapirequest.WithRequestInfo(genericapirequest.WithNamespace(ctx, namespace), &genericapirequest.RequestInfo{
		IsResourceRequest: true, APIGroup: resource.Group, APIVersion: resource.Version, Namespace: namespace, Resource: main, Subresource: subresource,
	})
}

// Write changes an object through an endpoint, as an apply does: it would create one.
func Write[T any, P strategy.Object[T]](ctx context.Context, endpoint rest.Updater, name string, change func(P), dryRun ...string) (P, error) {
	info := rest.DefaultUpdatedObjectInfo(nil, func(ctx context.Context, _, old runtime.Object) (runtime.Object, error) {
		obj := P(any(old).(P).DeepCopy())
		change(obj)
		obj.SetNamespace(genericapirequest.NamespaceValue(ctx))
		obj.SetName(name)
		return any(obj).(runtime.Object), nil
	})
	out, _, err := endpoint.Update(ctx, name, info, rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, true, &metav1.UpdateOptions{DryRun: dryRun})
	if err != nil {
		return nil, err
	}
	return any(out).(P), nil
}

// Served is a namespaced kind of a guarded store, as it is served.
type Served[T any, P strategy.Object[T]] struct {
	Main     *plain.REST
	Status   *plain.Status
	Resource schema.GroupVersionResource
	// Rights are those of somebody: what writes take is held.
	Rights *Rights
	// Fill gives an object a spec and a status, and Guarded is a change of the spec which takes
	// what a create takes.
	Fill, Guarded func(P)
}

// Create creates an object of the namespace default.
func (s Served[T, P]) Create(name string, dryRun ...string) (P, error) {
	obj := P(new(T))
	s.Fill(obj)
	obj.SetNamespace("default")
	obj.SetName(name)
	out, err := s.Main.Create(Request("default", s.Resource), any(obj).(runtime.Object), rest.ValidateAllObjectFunc, &metav1.CreateOptions{DryRun: dryRun})
	if err != nil {
		return nil, err
	}
	return any(out).(P), nil
}

// Write changes an object of the namespace default, as an apply does: it would create one.
func (s Served[T, P]) Write(name string, change func(P), dryRun ...string) (P, error) {
	return Write(Request("default", s.Resource), s.Main, name, change, dryRun...)
}

// WriteStatus does so through the endpoint of the status.
func (s Served[T, P]) WriteStatus(name string, change func(P)) (P, error) {
	resource := s.Resource
	resource.Resource += "/status"
	return Write(Request("default", resource), s.Status, name, change)
}

func (s Served[T, P]) names(t *testing.T, selector fields.Selector) []string {
	t.Helper()
	list, err := s.Main.List(Request("default", s.Resource), &metainternalversion.ListOptions{FieldSelector: selector, LabelSelector: labels.Everything()})
	require.NoError(t, err)
	items, err := meta.ExtractList(list)
	require.NoError(t, err)
	names := []string{}
	for _, item := range items {
		names = append(names, any(item).(P).GetName())
	}
	return names
}

// TestCreates tests K2: the status never creates an object, and the main resource by an apply
// only.
func (s Served[T, P]) TestCreates(t *testing.T) {
	_, err := s.WriteStatus("a", s.Fill)
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	applied, err := s.Write("a", s.Fill)
	require.NoError(t, err)
	assert.NotEmpty(t, applied.GetFinalizers())
}

// TestGuarded tests that the guard stands before each create and update of the main resource,
// the one by an apply and a dry run too, and not before the status; and that what it refuses is
// not stored.
func (s Served[T, P]) TestGuarded(t *testing.T) {
	stored, err := s.Create("a")
	require.NoError(t, err)
	writes := map[string]func() (P, error){
		"create":          func() (P, error) { return s.Create("b") },
		"dry run":         func() (P, error) { return s.Create("c", metav1.DryRunAll) },
		"apply":           func() (P, error) { return s.Write("d", s.Fill) },
		"apply, dry run":  func() (P, error) { return s.Write("e", s.Fill, metav1.DryRunAll) },
		"update":          func() (P, error) { return s.Write("a", s.Guarded) },
		"update, dry run": func() (P, error) { return s.Write("a", s.Guarded, metav1.DryRunAll) },
	}
	held := s.Rights.Held
	s.Rights.Held = nil
	for name, write := range writes {
		before := len(s.Rights.Asked)
		_, err := write()
		assert.True(t, apierrors.IsForbidden(err), "%s: %v", name, err)
		assert.Len(t, s.Rights.Asked, before+1, name)
	}
	assert.Equal(t, []string{"a"}, s.names(t, fields.Everything()))
	left, err := s.Main.Get(Request("default", s.Resource), "a", &metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, stored, any(left).(P))

	before := len(s.Rights.Asked)
	_, err = s.WriteStatus("a", func(o P) { s.Guarded(o); s.Fill(o) })
	require.NoError(t, err)
	_, err = s.Write("a", func(o P) { o.SetLabels(map[string]string{"a": "b"}); o.SetFinalizers(nil) })
	require.NoError(t, err)
	assert.Len(t, s.Rights.Asked, before, "a status and the metadata decide nothing")

	s.Rights.Held = held
	for _, name := range []string{"update, dry run", "update", "create", "dry run", "apply", "apply, dry run"} {
		_, err := writes[name]()
		assert.NoError(t, err, name)
	}
	s.Rights.Err = assert.AnError
	_, err = s.Create("f")
	assert.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
}

// TestSelectors tests K2: metadata.name and metadata.namespace select, and no other field.
func (s Served[T, P]) TestSelectors(t *testing.T, field string) {
	for _, name := range []string{"a", "b"} {
		_, err := s.Create(name)
		require.NoError(t, err)
	}
	for selector, want := range map[string][]string{
		"": {"a", "b"}, "metadata.name=a": {"a"}, "metadata.namespace=default,metadata.name!=a": {"b"}, "metadata.namespace=other": {}, field: {},
	} {
		parsed, err := fields.ParseSelector(selector)
		require.NoError(t, err)
		assert.Equal(t, want, s.names(t, parsed), selector)
	}
}

// TestNames tests K2: how the kind is called, and what a write of each endpoint may own.
func (s Served[T, P]) TestNames(t *testing.T, singular string) {
	assert.Empty(t, s.Main.ShortNames())
	assert.Equal(t, []string{"entente"}, s.Main.Categories())
	assert.Equal(t, singular, s.Main.GetSingularName())
	assert.True(t, s.Main.NamespaceScoped())
	assert.IsType(t, P(new(T)), s.Main.New())
	assert.IsType(t, P(new(T)), s.Status.New())

	spec, status := fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "any")), fieldpath.NewSet(fieldpath.MakePathOrDie("status", "any"))
	version := fieldpath.APIVersion(s.Resource.GroupVersion().String())
	assert.Equal(t, spec.String(), spec.Union(status).RecursiveDifference(s.Main.GetResetFields()[version]).String())
	assert.Equal(t, status.String(), s.Status.GetResetFieldsFilter()[version].Filter(spec.Union(status)).String())
}

// Rights is an authorizer: somebody may do what is listed, and nobody anything else. A right
// is said as in "get secrets default/a", with the group of a resource before it where it has
// one, as in "use g:things default/a". It keeps what it was asked.
type Rights struct {
	Held  []string
	Asked []string
	// Err is its answer where it is set, together with a yes.
	Err error
}

// Authorize answers as the rights say.
func (r *Rights) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	resource := a.GetResource()
	if a.GetAPIGroup() != "" {
		resource = a.GetAPIGroup() + ":" + resource
	}
	asked := a.GetVerb() + " " + resource + " " + a.GetNamespace() + "/" + a.GetName()
	r.Asked = append(r.Asked, asked)
	switch {
	case r.Err != nil:
		return authorizer.DecisionAllow, "", r.Err
	case a.GetUser().GetName() == "somebody" && slices.Contains(r.Held, asked):
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}
