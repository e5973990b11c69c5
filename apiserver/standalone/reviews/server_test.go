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

package reviews

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	genericapifilters "k8s.io/apiserver/pkg/endpoints/filters"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"

	"entente.dev/entente/apis/generated/openapi"
)

// newServer serves the groups for somebody, who may do what is asked of a.
func newServer(t *testing.T, a authorizer.UnconditionalAuthorizer) *httptest.Server {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, AddToScheme(scheme))
	config := genericapiserver.NewConfig(serializer.NewCodecFactory(scheme))
	config.ExternalAddress = "localhost:443"
	config.LoopbackClientConfig = &restclient.Config{}
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	config.Authorization.Authorizer = authorizerfactory.NewAlwaysAllowAuthorizer()
	namer := openapinamer.NewDefinitionNamer(scheme)
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(openapi.GetOpenAPIDefinitions, namer)
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(openapi.GetOpenAPIDefinitions, namer)
	config.BuildHandlerChainFunc = func(handler http.Handler, c *genericapiserver.Config) http.Handler {
		asSomebody := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			handler.ServeHTTP(w, req.WithContext(genericapirequest.WithUser(req.Context(), somebody)))
		})
		return genericapifilters.WithRequestInfo(genericapifilters.WithAuditInit(genericapifilters.WithWarningRecorder(asSomebody)), c.RequestInfoResolver)
	}
	generic, err := config.Complete(nil).New("test", genericapiserver.NewEmptyDelegate())
	require.NoError(t, err)
	t.Cleanup(generic.Destroy)
	groups, err := APIGroups(a, resolver{})
	require.NoError(t, err)
	require.NoError(t, generic.InstallAPIGroups(groups...))
	generic.PrepareRun() // installs OpenAPI
	server := httptest.NewServer(generic.Handler)
	t.Cleanup(server.Close)
	return server
}

// What kubectl auth does, in each encoding.
func TestServedReviews(t *testing.T) {
	a := &asked{decision: authorizer.DecisionAllow, reason: "for a test"}
	server := newServer(t, a)
	for _, encoding := range []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeProtobuf} {
		t.Run(encoding, func(t *testing.T) {
			client, err := kubernetes.NewForConfig(&restclient.Config{
				Host:          server.URL,
				ContentConfig: restclient.ContentConfig{ContentType: encoding, AcceptContentTypes: encoding},
			})
			require.NoError(t, err)

			access := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Group: "peering.entente.dev", Resource: "clusterpeers", Subresource: "sensitive"},
			}}
			for _, options := range []metav1.CreateOptions{{}, {DryRun: []string{metav1.DryRunAll}}} {
				a.attributes = nil
				allowed, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), access, options)
				require.NoError(t, err)
				assert.Equal(t, access.Spec, allowed.Spec)
				assert.Equal(t, authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: "for a test"}, allowed.Status)
				require.Len(t, a.attributes, 1)
				assert.Equal(t, somebody, a.attributes[0].GetUser())
				assert.Equal(t, "sensitive", a.attributes[0].GetSubresource())
			}

			rules := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "default"}}
			rules, err = client.AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(), rules, metav1.CreateOptions{})
			require.NoError(t, err)
			assert.Empty(t, rules.Status.EvaluationError)

			self, err := client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
			require.NoError(t, err)
			assert.Equal(t, userInfo(somebody), self.Status.UserInfo)

			_, err = client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{}, metav1.CreateOptions{})
			assert.True(t, apierrors.IsInvalid(err), "%v", err)
			_, err = client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{}, metav1.CreateOptions{})
			assert.True(t, apierrors.IsNotFound(err), "about others: %v", err)
			_, err = client.AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{}, metav1.CreateOptions{})
			assert.True(t, apierrors.IsNotFound(err), "about others: %v", err)
		})
	}
}

func TestDiscovery(t *testing.T) {
	client, err := kubernetes.NewForConfig(&restclient.Config{Host: newServer(t, &asked{}).URL})
	require.NoError(t, err)
	_, lists, err := client.Discovery().ServerGroupsAndResources()
	require.NoError(t, err)
	served := map[string]string{}
	for _, list := range lists {
		for _, resource := range list.APIResources {
			assert.Equal(t, metav1.Verbs{"create"}, resource.Verbs, resource.Name)
			assert.False(t, resource.Namespaced, resource.Name)
			served[list.GroupVersion+" "+resource.Name] = resource.Kind
		}
	}
	assert.Equal(t, map[string]string{
		"authentication.k8s.io/v1 selfsubjectreviews":      "SelfSubjectReview",
		"authorization.k8s.io/v1 selfsubjectaccessreviews": "SelfSubjectAccessReview",
		"authorization.k8s.io/v1 selfsubjectrulesreviews":  "SelfSubjectRulesReview",
	}, served)
}

// The schemas tell of the served version and of no other.
func TestOpenAPI(t *testing.T) {
	client, err := kubernetes.NewForConfig(&restclient.Config{Host: newServer(t, &asked{}).URL})
	require.NoError(t, err)
	for _, path := range []string{"/openapi/v2", "/openapi/v3/apis/authentication.k8s.io/v1", "/openapi/v3/apis/authorization.k8s.io/v1"} {
		body, err := client.Discovery().RESTClient().Get().AbsPath(path).SetHeader("Accept", runtime.ContentTypeJSON).DoRaw(context.Background())
		require.NoError(t, err, path)
		assert.Contains(t, string(body), "SelfSubject", path)
		assert.NotContains(t, string(body), runtime.APIVersionInternal, path)
	}
}
