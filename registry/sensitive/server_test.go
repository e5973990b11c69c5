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
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	genericapifilters "k8s.io/apiserver/pkg/endpoints/filters"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/storage"
	etcd3testing "k8s.io/apiserver/pkg/storage/etcd3/testing"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/util/compatibility"
	restclient "k8s.io/client-go/rest"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// The users of these tests. reader may see sensitive fields, writer may not.
const (
	reader = "reader"
	writer = "writer"
)

// referee is the authorizer that the decision asks. It keeps what it was asked.
type referee struct {
	mu    sync.Mutex
	asked []authorizer.AttributesRecord
	// says, where set, is the answer; otherwise reader is allowed and nobody else.
	says func(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error)
}

func (r *referee) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	r.mu.Lock()
	r.asked = append(r.asked, a.(authorizer.AttributesRecord))
	r.mu.Unlock()
	if r.says != nil {
		return r.says(ctx, a)
	}
	if a.GetUser().GetName() == reader {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// calls returns what was asked since the last call of it.
func (r *referee) calls() []authorizer.AttributesRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := r.asked
	r.asked = nil
	return asked
}

// registry is the real thing: Vaults in an etcd, with the watch cache, behind the
// endpoints of this package.
type registry struct {
	*referee
	store     *genericregistry.Store
	etcd      *clientv3.Client
	main      *REST
	status    *Subresource
	sensitive *Subresource
}

func newRegistry(t *testing.T) *registry {
	t.Helper()
	server, storageConfig := etcd3testing.NewUnsecuredEtcd3TestClientServer(t)
	storageConfig.Codec = vaultCodecs.LegacyCodec(vaultGV)
	storageConfig.EventsHistoryWindow = storagebackend.DefaultEventsHistoryWindow
	options := generic.RESTOptions{
		StorageConfig:           storageConfig.ForResource(vaultResource.GroupResource()),
		Decorator:               genericregistry.StorageWithCacher(),
		ResourcePrefix:          "vaults",
		DeleteCollectionWorkers: 1,
		EnableGarbageCollection: true,
	}
	strategy := vaultStrategy{ObjectTyper: vaultScheme}
	store := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return &Vault{} },
		NewListFunc:               func() runtime.Object { return &VaultList{} },
		PredicateFunc:             matchVault,
		DefaultQualifiedResource:  vaultResource.GroupResource(),
		SingularQualifiedResource: vaultGV.WithResource("vault").GroupResource(),
		CreateStrategy:            namedStrategy{strategy},
		UpdateStrategy:            strategy,
		DeleteStrategy:            strategy,
		ResetFieldsStrategy:       noResetFields{},
		TableConvertor:            rest.NewDefaultTableConvertor(vaultResource.GroupResource()),
		ReturnDeletedObject:       true,
	}
	require.NoError(t, store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: options, AttrFunc: vaultAttributes}))
	t.Cleanup(store.Destroy)
	statusStore, sensitiveStore := *store, *store
	statusStore.UpdateStrategy = statusStrategy{strategy}

	r := &registry{referee: &referee{}, store: store, etcd: server.V3Client.Client}
	decider, err := NewDecider(r.referee, vaultResource, "Vault", nil)
	require.NoError(t, err)
	r.main, err = NewREST(store, decider, []string{"vt"}, []string{"tests"})
	require.NoError(t, err)
	all := ResetFieldsFilter{"vault.test/v1": fieldpath.NewIncludeMatcherFilter(fieldpath.MakePrefixMatcherOrDie("spec"), fieldpath.MakePrefixMatcherOrDie("status"))}
	r.status, err = NewSubresource(&statusStore, decider, all)
	require.NoError(t, err)
	r.sensitive, err = NewSubresource(&sensitiveStore, decider, all)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return store.ReadinessCheck() == nil }, time.Minute, time.Millisecond)
	return r
}

// namedStrategy makes the name of an object without one.
type namedStrategy struct{ vaultStrategy }

func (namedStrategy) GenerateName(base string) string { return base + "made" }

type noResetFields struct{}

func (noResetFields) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set { return nil }

func vaultAttributes(obj runtime.Object) (labels.Set, fields.Set, error) {
	v, ok := obj.(*Vault)
	if !ok {
		return nil, nil, errors.New("not a Vault")
	}
	return v.Labels, generic.ObjectMetaFieldsSet(&v.ObjectMeta, false), nil
}

func matchVault(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
	return storage.SelectionPredicate{Label: label, Field: field, GetAttrs: vaultAttributes}
}

// add stores a Vault past the endpoints, and forgets what was asked meanwhile.
func (r *registry) add(t *testing.T, v *Vault) *Vault {
	t.Helper()
	out, err := r.store.Create(requestContext(reader, ""), v.DeepCopyObject(), rest.ValidateAllObjectFunc, createOptions())
	require.NoError(t, err)
	r.calls()
	return out.(*Vault)
}

// stored returns a Vault as it is stored.
func (r *registry) stored(t *testing.T, name string) *Vault {
	t.Helper()
	out, err := r.store.Get(requestContext(reader, ""), name, getOptions())
	require.NoError(t, err)
	return out.DeepCopyObject().(*Vault)
}

// requestContext is what the handlers make of a request by a user.
func requestContext(name, subresource string) context.Context {
	ctx := genericapirequest.WithNamespace(context.Background(), "")
	ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		IsResourceRequest: true, APIGroup: vaultGV.Group, APIVersion: vaultGV.Version, Resource: "vaults", Subresource: subresource,
	})
	if name != "" {
		ctx = genericapirequest.WithUser(ctx, &user.DefaultInfo{Name: name, UID: "uid-" + name, Groups: []string{"tests"}, Extra: map[string][]string{"extra": {name}}})
	}
	return ctx
}

// api is a registry behind the library's handlers, over HTTP.
type api struct {
	*registry
	server *httptest.Server
}

const bodyLimit = 64 * 1024

func newAPI(t *testing.T) *api {
	t.Helper()
	return newAPIWith(t, NewNegotiatedSerializer(vaultCodecs))
}

func newAPIWith(t *testing.T, serializer runtime.NegotiatedSerializer) *api {
	t.Helper()
	r := newRegistry(t)
	config := genericapiserver.NewConfig(vaultCodecs)
	config.ExternalAddress = "localhost:443"
	config.LoopbackClientConfig = &restclient.Config{}
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	config.MaxRequestBodyBytes = bodyLimit
	config.Authorization.Authorizer = authorizerfactory.NewAlwaysAllowAuthorizer()
	definitions, err := MarkOpenAPI(vaultDefinitions, vaultModel, &Vault{})
	require.NoError(t, err)
	namer := openapinamer.NewDefinitionNamer(vaultScheme)
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(definitions, namer)
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(definitions, namer)
	config.BuildHandlerChainFunc = func(handler http.Handler, c *genericapiserver.Config) http.Handler {
		handler = WithApplyBodyCheck(handler, sets.New(vaultGV.Group), c.MaxRequestBodyBytes, c.Serializer)
		handler = withUser(handler)
		handler = genericapifilters.WithWarningRecorder(handler)
		handler = genericapifilters.WithAuditInit(handler)
		return genericapifilters.WithRequestInfo(handler, c.RequestInfoResolver)
	}
	generic, err := config.Complete(nil).New("test", genericapiserver.NewEmptyDelegate())
	require.NoError(t, err)
	t.Cleanup(generic.Destroy)
	group := genericapiserver.NewDefaultAPIGroupInfo(vaultGV.Group, vaultScheme, runtime.NewParameterCodec(vaultScheme), vaultCodecs)
	group.NegotiatedSerializer = serializer
	group.VersionedResourcesStorageMap["v1"] = map[string]rest.Storage{
		"vaults": r.main, "vaults/status": r.status, "vaults/sensitive": r.sensitive,
	}
	require.NoError(t, generic.InstallAPIGroup(&group))
	server := httptest.NewServer(generic.Handler)
	t.Cleanup(server.Close)
	return &api{registry: r, server: server}
}

func withUser(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if name := req.Header.Get("X-User"); name != "" {
			req = req.WithContext(genericapirequest.WithUser(req.Context(), &user.DefaultInfo{Name: name}))
		}
		handler.ServeHTTP(w, req)
	})
}

// call is a request; the zero value of a field is left out.
type call struct {
	user, method, path, accept, contentType, body string
}

// reply is an answer: all that a client sees of it.
type reply struct {
	code   int
	header http.Header
	body   string
}

// text is everything in the answer.
func (r reply) text(t *testing.T) string {
	t.Helper()
	var header bytes.Buffer
	require.NoError(t, r.header.Write(&header))
	return header.String() + r.body
}

func (r reply) vault(t *testing.T) *Vault {
	t.Helper()
	v := &Vault{}
	require.NoError(t, json.Unmarshal([]byte(r.body), v), r.body)
	return v
}

func (a *api) do(t *testing.T, c call) reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req := a.request(ctx, t, c)
	res, err := a.server.Client().Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return reply{res.StatusCode, res.Header, string(body)}
}

func (a *api) request(ctx context.Context, t *testing.T, c call) *http.Request {
	t.Helper()
	if c.method == "" {
		c.method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, c.method, a.server.URL+"/apis/vault.test/v1/vaults"+c.path, bytes.NewBufferString(c.body))
	require.NoError(t, err)
	for key, value := range map[string]string{"X-User": c.user, "Accept": c.accept, "Content-Type": c.contentType} {
		if value != "" {
			req.Header.Set(key, value)
		}
	}
	return req
}

// The media types of patches.
const (
	jsonPatch      = string(types.JSONPatchType)
	mergePatch     = string(types.MergePatchType)
	strategicPatch = string(types.StrategicMergePatchType)
	applyPatch     = string(types.ApplyYAMLPatchType)
)

const vaultModel = "test.vault.v1.Vault"

// OpenAPIModelName names the schema of a Vault.
func (VaultV1) OpenAPIModelName() string { return vaultModel }

// OpenAPIModelName names the schema of a VaultList.
func (VaultV1List) OpenAPIModelName() string { return "test.vault.v1.VaultList" }

// vaultDefinitions are the schemas that a generator would make.
func vaultDefinitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	const meta, listMeta, fieldsTime = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta", "io.k8s.apimachinery.pkg.apis.meta.v1.Time"
	text := *spec.StringProperty()
	to := func(name string) spec.Schema { return *spec.RefSchema(urlOf(ref(name))) }
	object := func(properties map[string]spec.Schema, needs ...string) common.OpenAPIDefinition {
		return common.OpenAPIDefinition{
			Schema:       spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}, Properties: properties}},
			Dependencies: needs,
		}
	}
	set := *spec.ArrayProperty(&text)
	set.AddExtension("x-kubernetes-list-type", "set")
	const model = "test.vault.v1."
	return map[string]common.OpenAPIDefinition{
		vaultModel: object(map[string]spec.Schema{
			"apiVersion": text, "kind": text, "metadata": to(meta), "spec": to(model + "VaultSpec"), "status": to(model + "VaultStatus"),
		}, meta, model+"VaultSpec", model+"VaultStatus"),
		model + "VaultList": object(map[string]spec.Schema{
			"apiVersion": text, "kind": text, "metadata": to(listMeta), "items": *spec.ArrayProperty(ptrTo(to(vaultModel))),
		}, listMeta, vaultModel),
		model + "VaultSpec": object(map[string]spec.Schema{
			"label": text, "count": *spec.Int64Property(), "small": *spec.Int32Property(), "open": *spec.BooleanProperty(), "since": to(fieldsTime),
			"owners": set, "key": to(model + "VaultKey"),
			// A generator wraps a reference that has siblings.
			"door": {SchemaProps: spec.SchemaProps{Description: "A door.", AllOf: []spec.Schema{to(model + "VaultDoor")}}},
		}, fieldsTime, model+"VaultKey", model+"VaultDoor"),
		model + "VaultKey":    object(map[string]spec.Schema{"secret": text, "hint": text}),
		model + "VaultDoor":   object(map[string]spec.Schema{"color": text, "lock": to(model + "VaultLock")}, model+"VaultLock"),
		model + "VaultLock":   object(map[string]spec.Schema{"code": text, "make": text}),
		model + "VaultStatus": object(map[string]spec.Schema{"phase": text, "note": to(model + "VaultNote")}, model+"VaultNote"),
		model + "VaultNote":   object(map[string]spec.Schema{"token": text, "id": text}),
		meta: object(map[string]spec.Schema{
			"name": text, "generateName": text, "namespace": text, "selfLink": text, "uid": text, "resourceVersion": text,
			"generation": *spec.Int64Property(), "creationTimestamp": to(fieldsTime), "deletionTimestamp": to(fieldsTime),
			"deletionGracePeriodSeconds": *spec.Int64Property(), "finalizers": set,
			"managedFields": *spec.ArrayProperty(&spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}),
			"labels":        *spec.MapProperty(&text), "annotations": *spec.MapProperty(&text),
		}, fieldsTime),
		listMeta:   object(map[string]spec.Schema{"resourceVersion": text, "continue": text}),
		fieldsTime: {Schema: spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"string"}, Format: "date-time"}}},
	}
}

func urlOf(ref spec.Ref) string { return ref.String() }

func ptrTo[T any](value T) *T { return &value }
