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

package sensitive

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/registry/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

func createOptions() *metav1.CreateOptions { return &metav1.CreateOptions{} }
func getOptions() *metav1.GetOptions       { return &metav1.GetOptions{} }

func listOptions(selector string) *metainternalversion.ListOptions {
	parsed, err := fields.ParseSelector(selector)
	if err != nil {
		panic(err)
	}
	return &metainternalversion.ListOptions{FieldSelector: parsed, LabelSelector: labels.Everything()}
}

// becomes is an update to v.
func becomes(v *Vault) rest.UpdatedObjectInfo { return rest.DefaultUpdatedObjectInfo(v) }

// changing is an update that changes what it finds, as a patch does.
func changing(change func(*Vault)) rest.UpdatedObjectInfo {
	return rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		v := old.DeepCopyObject().(*Vault)
		change(v)
		return v, nil
	})
}

// R1, R5: every verb of every endpoint asks once, under the verb and the name that
// the answer calls for, and answers accordingly.
func TestR5EveryVerb(t *testing.T) {
	r := newRegistry(t)
	version := "" // of the object; a read not older than it comes from the cache
	dryRun := []string{metav1.DryRunAll}
	labelled := func(v *Vault) { v.Labels = map[string]string{"changed": "yes"} }
	first := func(out runtime.Object, _ bool, err error) (runtime.Object, error) { return out, err }
	type asks struct{ verb, name string }
	for _, test := range []struct {
		name string
		// do gets the context of the caller; an object called "one" exists.
		do   func(ctx context.Context) (runtime.Object, error)
		want asks
	}{
		{"get", func(ctx context.Context) (runtime.Object, error) { return r.main.Get(ctx, "one", getOptions()) }, asks{"get", "one"}},
		{"get from the cache", func(ctx context.Context) (runtime.Object, error) {
			return r.main.Get(ctx, "one", &metav1.GetOptions{ResourceVersion: version})
		}, asks{"get", "one"}},
		{"list", func(ctx context.Context) (runtime.Object, error) { return r.main.List(ctx, listOptions("")) }, asks{"list", ""}},
		{"list without options", func(ctx context.Context) (runtime.Object, error) { return r.main.List(ctx, nil) }, asks{"list", ""}},
		{"list by name", func(ctx context.Context) (runtime.Object, error) {
			return r.main.List(ctx, listOptions("metadata.name=one"))
		}, asks{"list", "one"}},
		{"list in chunks", func(ctx context.Context) (runtime.Object, error) {
			options := listOptions("")
			options.Limit = 1
			return r.main.List(ctx, options)
		}, asks{"list", ""}},
		{"create", func(ctx context.Context) (runtime.Object, error) {
			return r.main.Create(ctx, newVault("two"), rest.ValidateAllObjectFunc, createOptions())
		}, asks{"get", "two"}},
		{"create with a generated name", func(ctx context.Context) (runtime.Object, error) {
			v := newVault("")
			v.GenerateName = "two-"
			return r.main.Create(ctx, v, rest.ValidateAllObjectFunc, createOptions())
		}, asks{"get", "two-made"}},
		{"create, dry run", func(ctx context.Context) (runtime.Object, error) {
			return r.main.Create(ctx, newVault("two"), rest.ValidateAllObjectFunc, &metav1.CreateOptions{DryRun: dryRun})
		}, asks{"get", "two"}},
		{"update", func(ctx context.Context) (runtime.Object, error) {
			return first(r.main.Update(ctx, "one", becomes(newVault("one")), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{}))
		}, asks{"get", "one"}},
		{"patch", func(ctx context.Context) (runtime.Object, error) {
			return first(r.main.Update(ctx, "one", changing(labelled), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{}))
		}, asks{"get", "one"}},
		{"patch that changes nothing", func(ctx context.Context) (runtime.Object, error) {
			return first(r.main.Update(ctx, "one", changing(func(*Vault) {}), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{}))
		}, asks{"get", "one"}},
		{"patch, dry run", func(ctx context.Context) (runtime.Object, error) {
			return first(r.main.Update(ctx, "one", changing(labelled), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{DryRun: dryRun}))
		}, asks{"get", "one"}},
		{"apply that creates", func(ctx context.Context) (runtime.Object, error) {
			return first(r.main.Update(ctx, "two", becomes(newVault("two")), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, true, &metav1.UpdateOptions{}))
		}, asks{"get", "two"}},
		{"delete", func(ctx context.Context) (runtime.Object, error) {
			return first(r.main.Delete(ctx, "one", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}))
		}, asks{"get", "one"}},
		{"delete, dry run", func(ctx context.Context) (runtime.Object, error) {
			return first(r.main.Delete(ctx, "one", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{DryRun: dryRun}))
		}, asks{"get", "one"}},
		{"deletecollection", func(ctx context.Context) (runtime.Object, error) {
			return r.main.DeleteCollection(ctx, rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}, listOptions(""))
		}, asks{"list", ""}},
		{"deletecollection by name", func(ctx context.Context) (runtime.Object, error) {
			return r.main.DeleteCollection(ctx, rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}, listOptions("metadata.name=one"))
		}, asks{"list", "one"}},
		{"get of a subresource", func(ctx context.Context) (runtime.Object, error) { return r.status.Get(ctx, "one", getOptions()) }, asks{"get", "one"}},
		{"update of a subresource", func(ctx context.Context) (runtime.Object, error) {
			return first(r.status.Update(ctx, "one", becomes(newVault("one")), nil, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{}))
		}, asks{"get", "one"}},
		{"get of sensitive", func(ctx context.Context) (runtime.Object, error) { return r.sensitive.Get(ctx, "one", getOptions()) }, asks{"get", "one"}},
		{"patch of sensitive", func(ctx context.Context) (runtime.Object, error) {
			return first(r.sensitive.Update(ctx, "one", changing(labelled), nil, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{}))
		}, asks{"get", "one"}},
	} {
		for _, caller := range []string{reader, writer} {
			t.Run(test.name+" by "+caller, func(t *testing.T) {
				version = r.add(t, newVault("one")).ResourceVersion
				t.Cleanup(func() { r.clear(t) })
				out, err := test.do(requestContext(caller, ""))
				require.NoError(t, err)
				asked := r.calls()
				require.Len(t, asked, 1, "R1: one question a request")
				assert.Equal(t, test.want, asks{asked[0].Verb, asked[0].Name})
				assert.Equal(t, caller, asked[0].User.GetName())

				vaults := vaultsIn(t, out)
				require.Len(t, vaults, 1)
				want := redactedVault("")
				if caller == reader {
					want = newVault("")
				}
				assert.Equal(t, want.Spec.Key, vaults[0].Spec.Key)
				assert.Equal(t, want.Spec.Door, vaults[0].Spec.Door)
				assert.Equal(t, want.Status, vaults[0].Status)
			})
		}
	}
}

func vaultsIn(t *testing.T, obj runtime.Object) []Vault {
	t.Helper()
	switch typed := obj.(type) {
	case *Vault:
		return []Vault{*typed}
	case *VaultList:
		return typed.Items
	}
	require.Failf(t, "not a Vault", "%T", obj)
	return nil
}

// R7: what is answered never changes what is stored or cached.
func TestR7ReadsChangeNothingInTheCache(t *testing.T) {
	r := newRegistry(t)
	version := r.add(t, newVault("one")).ResourceVersion
	cached := &metainternalversion.ListOptions{ResourceVersion: version, LabelSelector: labels.Everything(), FieldSelector: fields.Everything()}
	for range 3 {
		for _, caller := range []string{writer, reader} {
			want := redactedVault("one")
			if caller == reader {
				want = newVault("one")
			}
			one, err := r.main.Get(requestContext(caller, ""), "one", &metav1.GetOptions{ResourceVersion: version})
			require.NoError(t, err)
			assert.Equal(t, want.Spec, one.(*Vault).Spec)
			for _, options := range []*metainternalversion.ListOptions{cached, listOptions("")} {
				list, err := r.main.List(requestContext(caller, ""), options)
				require.NoError(t, err)
				require.Len(t, list.(*VaultList).Items, 1)
				assert.Equal(t, want.Spec, list.(*VaultList).Items[0].Spec)
				assert.Equal(t, want.Status, list.(*VaultList).Items[0].Status)
			}
		}
	}
}

// R1, R8: a watch asks once, at its start, however many events there are.
func TestR1WatchAsksOnce(t *testing.T) {
	for selector, name := range map[string]string{"": "", "metadata.name=one": "one"} {
		for _, caller := range []string{reader, writer} {
			t.Run(caller+" with selector "+selector, func(t *testing.T) {
				r := newRegistry(t)
				r.main.decider.clock = clocktesting.NewFakeClock(time.Now()) // it stands still: nothing is renewed (R3)
				w, err := r.main.Watch(requestContext(caller, ""), listOptions(selector))
				require.NoError(t, err)
				t.Cleanup(w.Stop)
				asked := r.calls()
				require.Len(t, asked, 1)
				assert.Equal(t, "watch", asked[0].Verb)
				assert.Equal(t, name, asked[0].Name)

				ctx := requestContext(reader, "")
				r.add(t, newVault("one"))
				_, _, err = r.store.Update(ctx, "one", changing(func(v *Vault) { v.Labels = map[string]string{"a": "b"} }), nil, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
				require.NoError(t, err)
				_, _, err = r.store.Delete(ctx, "one", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{})
				require.NoError(t, err)
				for _, kind := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
					event := receive(t, w)
					require.Equal(t, kind, event.Type)
					shared, ok := event.Object.(runtime.CacheableObject)
					require.True(t, ok, "the cache hands out %T; if that changes, so must the tests of R8", event.Object)
					v := shared.GetObject().(*Vault)
					if caller == reader {
						assert.Equal(t, newVault("one").Spec, v.Spec)
					} else {
						assert.Equal(t, redactedVault("one").Spec, v.Spec)
						assert.Equal(t, redactedVault("one").Status, v.Status)
					}
				}
				assert.Empty(t, r.calls())
			})
		}
	}
}

func receive(t *testing.T, w watch.Interface) watch.Event {
	t.Helper()
	select {
	case event, ok := <-w.ResultChan():
		require.True(t, ok, "the watch ended")
		return event
	case <-time.After(time.Minute):
		require.Fail(t, "no event came")
	}
	return watch.Event{}
}

// failingStore is a store whose verbs fail, or answer with something odd.
type failingStore struct {
	Store
	out runtime.Object
	err error
}

func (s failingStore) Get(context.Context, string, *metav1.GetOptions) (runtime.Object, error) {
	return s.out, s.err
}

func (s failingStore) List(context.Context, *metainternalversion.ListOptions) (runtime.Object, error) {
	return s.out, s.err
}

func (s failingStore) Watch(context.Context, *metainternalversion.ListOptions) (watch.Interface, error) {
	return nil, s.err
}

func (s failingStore) Create(context.Context, runtime.Object, rest.ValidateObjectFunc, *metav1.CreateOptions) (runtime.Object, error) {
	return s.out, s.err
}

func (s failingStore) Update(context.Context, string, rest.UpdatedObjectInfo, rest.ValidateObjectFunc, rest.ValidateObjectUpdateFunc, bool, *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return s.out, false, s.err
}

func (s failingStore) Delete(context.Context, string, rest.ValidateObjectFunc, *metav1.DeleteOptions) (runtime.Object, bool, error) {
	return s.out, false, s.err
}

func (s failingStore) DeleteCollection(context.Context, rest.ValidateObjectFunc, *metav1.DeleteOptions, *metainternalversion.ListOptions) (runtime.Object, error) {
	return s.out, s.err
}

func (s failingStore) GetCorruptObjDeleter() rest.GracefulDeleter {
	if s.out == nil {
		return nil
	}
	return s
}

func (failingStore) New() runtime.Object { return &Vault{} }

// everyVerb calls each verb of an endpoint and returns what it answers.
func everyVerb(ctx context.Context, r *REST) map[string]func() (runtime.Object, error) {
	first := func(out runtime.Object, _ bool, err error) (runtime.Object, error) { return out, err }
	return map[string]func() (runtime.Object, error){
		"get":    func() (runtime.Object, error) { return r.Get(ctx, "one", getOptions()) },
		"list":   func() (runtime.Object, error) { return r.List(ctx, listOptions("")) },
		"create": func() (runtime.Object, error) { return r.Create(ctx, newVault("one"), nil, createOptions()) },
		"update": func() (runtime.Object, error) {
			return first(r.Update(ctx, "one", becomes(newVault("one")), nil, nil, false, &metav1.UpdateOptions{}))
		},
		"delete": func() (runtime.Object, error) { return first(r.Delete(ctx, "one", nil, &metav1.DeleteOptions{})) },
		"deletecollection": func() (runtime.Object, error) {
			return r.DeleteCollection(ctx, nil, &metav1.DeleteOptions{}, listOptions(""))
		},
		"delete of what cannot be read": func() (runtime.Object, error) {
			inner := r.GetCorruptObjDeleter()
			if inner == nil {
				return nil, apierrors.NewNotFound(vaultResource.GroupResource(), "one")
			}
			return first(inner.Delete(ctx, "one", nil, &metav1.DeleteOptions{}))
		},
	}
}

func newREST(t *testing.T, store Store, r *referee) *REST {
	t.Helper()
	d, err := NewDecider(r, vaultResource, "Vault", nil)
	require.NoError(t, err)
	out, err := NewREST(store, d, nil, nil)
	require.NoError(t, err)
	return out
}

// R5: a store that fails answers nothing but its error, of its own type.
func TestR5FailuresAnswerNothing(t *testing.T) {
	failure := apierrors.NewNotFound(vaultResource.GroupResource(), "one")
	rst := newREST(t, failingStore{err: failure}, &referee{})
	for name, do := range everyVerb(requestContext(reader, ""), rst) {
		out, err := do()
		assert.Nil(t, out, name)
		assert.True(t, apierrors.IsNotFound(err), "%s: %v", name, err)
	}
	_, err := rst.Watch(requestContext(reader, ""), listOptions(""))
	assert.True(t, apierrors.IsNotFound(err))
	assert.Nil(t, rst.GetCorruptObjDeleter())
}

// R5: where a store fails and hands out an object all the same, that stays here.
func TestR5FailureWithAnObject(t *testing.T) {
	rst := newREST(t, failingStore{out: newVault("one"), err: apierrors.NewServiceUnavailable("away")}, &referee{})
	for name, do := range everyVerb(requestContext(writer, ""), rst) {
		out, err := do()
		assert.Nil(t, out, name)
		assert.True(t, apierrors.IsServiceUnavailable(err), "%s: %v", name, err)
	}
}

// R5: a store that answers with what names no sensitive fields is an error of the
// server for whom may not see them, not a leak.
func TestR5UnknownAnswersAreRefused(t *testing.T) {
	for name, do := range everyVerb(requestContext(writer, ""), newREST(t, failingStore{out: &Plain{Value: keyCanary}}, &referee{})) {
		out, err := do()
		assert.Nil(t, out, name)
		require.Error(t, err, name)
		assertNoCanary(t, err.Error())
	}
	for name, do := range everyVerb(requestContext(writer, ""), newREST(t, failingStore{out: newVault("one")}, &referee{})) {
		out, err := do()
		require.NoError(t, err, name)
		assert.Equal(t, redactedVault("one"), out, name)
	}
	// Some deletes answer with a Status.
	gone := &metav1.Status{Status: metav1.StatusSuccess}
	out, _, err := newREST(t, failingStore{out: gone}, &referee{}).Delete(requestContext(writer, ""), "one", nil, &metav1.DeleteOptions{})
	require.NoError(t, err)
	assert.Equal(t, gone, out)
}

// R9: a subresource never creates, not even for an apply.
func TestR9SubresourcesNeverCreate(t *testing.T) {
	r := newRegistry(t)
	for name, endpoint := range map[string]*Subresource{"status": r.status, "sensitive": r.sensitive} {
		_, created, err := endpoint.Update(requestContext(reader, name), "absent", becomes(newVault("absent")), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, true, &metav1.UpdateOptions{})
		assert.True(t, apierrors.IsNotFound(err), "%s: %v", name, err)
		assert.False(t, created, name)
		_, err = r.store.Get(requestContext(reader, ""), "absent", getOptions())
		assert.True(t, apierrors.IsNotFound(err), name)
	}
}

// Endpoints that would serve something else than sensitive objects are not made.
func TestEndpointsThatAreNotMade(t *testing.T) {
	d, err := NewDecider(&referee{}, vaultResource, "Vault", nil)
	require.NoError(t, err)
	_, err = NewREST(plainStore{}, d, nil, nil)
	assert.Error(t, err)
	_, err = NewREST(failingStore{}, nil, nil, nil)
	assert.Error(t, err)
	filter := ResetFieldsFilter{"vault.test/v1": nil}
	_, err = NewSubresource(plainStore{}, d, filter)
	assert.Error(t, err)
	_, err = NewSubresource(failingStore{}, nil, filter)
	assert.Error(t, err)
	_, err = NewSubresource(failingStore{}, d, nil)
	assert.Error(t, err, "without a filter an apply could own every field")
	_, err = newREST(t, failingStore{}, &referee{}).Create(requestContext(reader, ""), &Plain{}, nil, createOptions())
	assert.True(t, apierrors.IsInternalError(err))
}

type plainStore struct{ failingStore }

func (plainStore) New() runtime.Object { return &Plain{} }

// K2: what the store is passes through.
func TestEndpointDescriptions(t *testing.T) {
	r := newRegistry(t)
	assert.Equal(t, []string{"vt"}, r.main.ShortNames())
	assert.Equal(t, []string{"tests"}, r.main.Categories())
	assert.Equal(t, "vault", r.main.GetSingularName())
	assert.False(t, r.main.NamespaceScoped())
	assert.True(t, r.main.DeleteReturnsDeletedObject())
	assert.IsType(t, &Vault{}, r.main.New())
	assert.IsType(t, &VaultList{}, r.main.NewList())
	assert.Equal(t, r.store.StorageVersion(), r.main.StorageVersion())
	assert.NoError(t, r.main.ReadinessCheck())
	assert.IsType(t, &Vault{}, r.status.New())
	r.status.Destroy() // belongs to the main endpoint
	assert.NoError(t, r.main.ReadinessCheck())
	assert.Contains(t, r.status.GetResetFieldsFilter(), fieldpath.APIVersion("vault.test/v1"))
}

// shapes are the ways to ask for an answer; whole ones hold the object.
var shapes = []struct {
	name, accept, query string
	whole               bool
}{
	{"JSON", "application/json", "", true},
	{"YAML", "application/yaml", "", true},
	{"Table", "application/json;as=Table;g=meta.k8s.io;v=v1", "", false},
	{"Table with objects", "application/json;as=Table;g=meta.k8s.io;v=v1", "includeObject=Object", true},
	{"Table of metadata", "application/json;as=Table;g=meta.k8s.io;v=v1", "includeObject=Metadata", false},
	{"Table without objects", "application/json;as=Table;g=meta.k8s.io;v=v1", "includeObject=None", false},
	{"metadata", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "", false},
	{"metadata in protobuf", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "", false},
	{"list of metadata", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", "", false},
}

// requests are the ways to make the server answer with objects.
var requests = []struct {
	name              string
	call              call
	collection, write bool
}{
	{"get", call{path: "/one"}, false, false},
	{"list", call{}, true, false},
	{"list by name", call{path: "?fieldSelector=metadata.name%3Done"}, true, false},
	{"list in chunks", call{path: "?limit=1"}, true, false},
	{"list from the cache", call{path: "?resourceVersion=VERSION"}, true, false},
	{"get of status", call{path: "/one/status"}, false, false},
	{"get of sensitive", call{path: "/one/sensitive"}, false, false},
	{"create", call{method: http.MethodPost, body: manifest("two", keyCanary)}, false, true},
	{"create, dry run", call{method: http.MethodPost, path: "?dryRun=All", body: manifest("two", keyCanary)}, false, true},
	{"create in YAML", call{method: http.MethodPost, contentType: "application/yaml", body: manifest("two", keyCanary)}, false, true},
	{"update", call{method: http.MethodPut, path: "/one", body: manifest("one", Placeholder)}, false, true},
	{"update, dry run", call{method: http.MethodPut, path: "/one?dryRun=All", body: manifest("one", Placeholder)}, false, true},
	{"update of status", call{method: http.MethodPut, path: "/one/status", body: manifest("one", Placeholder)}, false, true},
	{"update of sensitive", call{method: http.MethodPut, path: "/one/sensitive", body: manifest("one", Placeholder)}, false, true},
	{"JSON patch", call{method: http.MethodPatch, path: "/one", contentType: jsonPatch, body: `[{"op":"add","path":"/spec/label","value":"new"}]`}, false, true},
	{"merge patch", call{method: http.MethodPatch, path: "/one", contentType: mergePatch, body: `{"spec":{"label":"new"}}`}, false, true},
	{"merge patch of nothing", call{method: http.MethodPatch, path: "/one", contentType: mergePatch, body: `{}`}, false, true},
	{"merge patch, dry run", call{method: http.MethodPatch, path: "/one?dryRun=All", contentType: mergePatch, body: `{"spec":{"label":"new"}}`}, false, true},
	{"strategic patch", call{method: http.MethodPatch, path: "/one", contentType: strategicPatch, body: `{"spec":{"label":"new"}}`}, false, true},
	{"apply", call{method: http.MethodPatch, path: "/one?fieldManager=me", contentType: applyPatch, body: `{"apiVersion":"vault.test/v1","kind":"Vault","metadata":{"labels":{"a":"b"}}}`}, false, true},
	{"apply that creates", call{method: http.MethodPatch, path: "/two?fieldManager=me", contentType: applyPatch, body: manifest("two", keyCanary)}, false, true},
	{"merge patch of status", call{method: http.MethodPatch, path: "/one/status", contentType: mergePatch, body: `{"status":{"phase":"Shut"}}`}, false, true},
	{"merge patch of sensitive", call{method: http.MethodPatch, path: "/one/sensitive", contentType: mergePatch, body: `{"spec":{"label":"new"}}`}, false, true},
	{"apply on sensitive", call{method: http.MethodPatch, path: "/one/sensitive?fieldManager=me&force=true", contentType: applyPatch, body: manifest("one", Placeholder)}, false, true},
	{"delete, dry run", call{method: http.MethodDelete, path: "/one?dryRun=All"}, false, true},
	{"deletecollection, dry run", call{method: http.MethodDelete, path: "?dryRun=All"}, true, true},
	{"delete", call{method: http.MethodDelete, path: "/one"}, false, true},
	{"deletecollection", call{method: http.MethodDelete}, true, true},
}

// manifest is a Vault in JSON with secret as the key's value.
func manifest(name, secret string) string {
	return fmt.Sprintf(`{"apiVersion":"vault.test/v1","kind":"Vault","metadata":{"name":%q},"spec":{"label":"mine","key":{"secret":%q}}}`, name, secret)
}

// R5: no verb, in no encoding and in no shape, shows a value to whom may not see
// it, and the whole object shows it to whom may.
func TestR5EveryShape(t *testing.T) {
	a := newAPI(t)
	for _, request := range requests {
		for _, shape := range shapes {
			if strings.HasPrefix(shape.name, "list of") != request.collection && !shape.whole && !strings.HasPrefix(shape.name, "Table") {
				continue // metadata of an object for an object, a list of it for a collection
			}
			for _, caller := range []string{reader, writer, ""} {
				t.Run(request.name+" as "+shape.name+" by "+caller, func(t *testing.T) {
					one := a.add(t, newVault("one"))
					t.Cleanup(func() { a.clear(t) })
					c := request.call
					c.path = strings.ReplaceAll(c.path, "VERSION", one.ResourceVersion)
					c.user, c.accept = caller, shape.accept
					if c.contentType == "" && c.body != "" {
						c.contentType = "application/json"
					}
					if shape.query != "" {
						if strings.Contains(c.path, "?") {
							c.path += "&" + shape.query
						} else {
							c.path += "?" + shape.query
						}
					}
					got := a.do(t, c)
					require.Less(t, got.code, 300, got.body)
					require.Regexp(t, "one|two", got.body, "the answer holds an object")
					switch {
					case caller != reader:
						assertNoCanary(t, got.text(t))
						if shape.whole {
							assert.Contains(t, strings.ReplaceAll(strings.ReplaceAll(got.body, `\u003c`, "<"), `\u003e`, ">"), Placeholder)
						}
					case shape.whole:
						assert.Contains(t, got.body, keyCanary)
					default:
						assertNoCanary(t, got.text(t))
					}
					asked := len(a.calls())
					if caller == "" {
						assert.Zero(t, asked, "there is nobody to ask about")
						assert.NotEmpty(t, got.header.Get("Warning"), "R2")
					} else {
						assert.Equal(t, 1, asked, "R1")
						assert.Empty(t, got.header.Get("Warning"))
					}
				})
			}
		}
	}
}

// clear deletes everything.
func (r *registry) clear(t *testing.T) {
	t.Helper()
	_, err := r.store.DeleteCollection(requestContext(reader, ""), rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}, listOptions(""))
	require.NoError(t, err)
	r.calls()
}

// R5: the answer of a delete that only starts the deletion, and of the write that
// ends it.
func TestR5DeletionWithFinalizer(t *testing.T) {
	a := newAPI(t)
	v := newVault("one")
	v.Finalizers = []string{"test/finalizer"}
	a.add(t, v)
	for _, c := range []call{
		{method: http.MethodDelete, path: "/one"},
		{method: http.MethodDelete, path: "/one"},
		{method: http.MethodPatch, path: "/one", contentType: mergePatch, body: `{"metadata":{"finalizers":null}}`},
	} {
		c.user = writer
		got := a.do(t, c)
		require.Equal(t, http.StatusOK, got.code, got.body)
		assert.Equal(t, redactedVault("one").Spec, got.vault(t).Spec)
		assertNoCanary(t, got.text(t))
	}
	assert.Equal(t, http.StatusNotFound, a.do(t, call{user: writer, path: "/one"}).code)
}

// event is one of a watch over HTTP.
type event struct {
	Type   string
	Object json.RawMessage
}

// follow opens a watch and returns what yields its events.
func (a *api) follow(t *testing.T, c call) func() event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	res, err := a.server.Client().Do(a.request(ctx, t, c))
	require.NoError(t, err)
	t.Cleanup(func() { cancel(); res.Body.Close() })
	require.Equal(t, http.StatusOK, res.StatusCode)
	lines := bufio.NewReader(res.Body)
	return func() event {
		t.Helper()
		line, err := lines.ReadBytes('\n')
		require.NoError(t, err)
		var e event
		require.NoError(t, json.Unmarshal(line, &e), string(line))
		return e
	}
}

// R5, R8: a watch shows the same as a read, in every shape and for events of every
// type, also when watchers of both kinds share the encodings of an event.
func TestR8WatchOverHTTP(t *testing.T) {
	a := newAPI(t)
	a.add(t, newVault("before"))
	var watchers []watcher
	for _, base := range []string{"?watch=1", "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"} {
		for _, shape := range shapes {
			if strings.Contains(shape.accept, "protobuf") || strings.HasPrefix(shape.name, "list of") || shape.name == "YAML" {
				continue // not line by line, or not for a watch
			}
			query := base
			if shape.query != "" {
				query += "&" + shape.query
			}
			for _, caller := range []string{reader, writer, reader, writer, ""} {
				w := watcher{caller, shape.whole, a.follow(t, call{user: caller, path: query, accept: shape.accept})}
				watchers = append(watchers, w)
				first := w.next()
				require.Equal(t, "ADDED", first.Type)
				w.check(t, first)
				if strings.Contains(query, "sendInitialEvents") {
					bookmark := w.next()
					require.Equal(t, "BOOKMARK", bookmark.Type)
					assert.Contains(t, string(bookmark.Object), metav1.InitialEventsAnnotationKey)
				}
			}
		}
	}
	a.add(t, newVault("one"))
	require.Equal(t, http.StatusOK, a.do(t, call{user: writer, method: http.MethodPatch, path: "/one", contentType: mergePatch, body: `{"spec":{"label":"new"}}`}).code)
	require.Equal(t, http.StatusOK, a.do(t, call{user: writer, method: http.MethodDelete, path: "/one"}).code)
	for _, w := range watchers {
		for _, kind := range []string{"ADDED", "MODIFIED", "DELETED"} {
			e := w.next()
			for e.Type == "BOOKMARK" { // those come from time to time
				assertNoCanary(t, string(e.Object))
				e = w.next()
			}
			require.Equal(t, kind, e.Type)
			w.check(t, e)
		}
	}
}

// watcher is somebody who watches over HTTP.
type watcher struct {
	caller string
	whole  bool
	next   func() event
}

func (w watcher) check(t *testing.T, e event) {
	t.Helper()
	if w.caller == reader && w.whole {
		assert.Contains(t, string(e.Object), keyCanary)
		return
	}
	assertNoCanary(t, string(e.Object))
	if w.whole {
		assert.Contains(t, string(e.Object), `\u003comitted\u003e`)
	}
}
