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
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
)

// kinds are the served kinds by group and version. The other kinds of these
// groups are not even registered.
func kinds() map[schema.GroupVersion][]runtime.Object {
	return map[schema.GroupVersion][]runtime.Object{
		authenticationv1.SchemeGroupVersion: {&authenticationv1.SelfSubjectReview{}},
		authorizationv1.SchemeGroupVersion:  {&authorizationv1.SelfSubjectAccessReview{}, &authorizationv1.SelfSubjectRulesReview{}},
	}
}

// AddToScheme registers the served kinds. The scheme that OpenAPI is made of
// needs them.
func AddToScheme(scheme *runtime.Scheme) error {
	for version, objects := range kinds() {
		scheme.AddKnownTypes(version, objects...)
		metav1.AddToGroupVersion(scheme, version)
		if err := scheme.SetVersionPriority(version); err != nil {
			return fmt.Errorf("could not register %s: %w", version, err)
		}
	}
	return nil
}

// newScheme returns the scheme that the endpoints work with. Handlers decode into
// the internal version of a kind. These kinds need none of their own, so their Go
// types are registered for it too: here, since OpenAPI would publish __internal
// as one of their versions if it were in the scheme of the server.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		return nil, err
	}
	for version, objects := range kinds() {
		scheme.AddKnownTypes(schema.GroupVersion{Group: version.Group, Version: runtime.APIVersionInternal}, objects...)
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return scheme, nil
}

// APIGroups returns the groups authentication.k8s.io and authorization.k8s.io.
// Answers are what a says, which should be the authorizer of the server itself,
// and what rules says.
func APIGroups(a authorizer.UnconditionalAuthorizer, rules authorizer.RuleResolver) ([]*genericapiserver.APIGroupInfo, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	codecs, parameterCodec := serializer.NewCodecFactory(scheme), runtime.NewParameterCodec(scheme)
	group := func(version schema.GroupVersion, storage map[string]rest.Storage) *genericapiserver.APIGroupInfo {
		info := genericapiserver.NewDefaultAPIGroupInfo(version.Group, scheme, parameterCodec, codecs)
		info.VersionedResourcesStorageMap[version.Version] = storage
		return &info
	}
	return []*genericapiserver.APIGroupInfo{
		group(authenticationv1.SchemeGroupVersion, map[string]rest.Storage{
			"selfsubjectreviews": newSubjectReview(),
		}),
		group(authorizationv1.SchemeGroupVersion, map[string]rest.Storage{
			"selfsubjectaccessreviews": newAccessReview(a),
			"selfsubjectrulesreviews":  newRulesReview(rules),
		}),
	}, nil
}
