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

package apiserver

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	coreinstall "entente.dev/entente/apis/core/install"
	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	peeringinstall "entente.dev/entente/apis/peering/install"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/apiserver/standalone/reviews"
)

// API is what the server knows of its types: the scheme, and the codecs and
// parameter codec made of it.
type API struct {
	Scheme         *runtime.Scheme
	Codecs         serializer.CodecFactory
	ParameterCodec runtime.ParameterCodec
}

// NewAPI registers every group that the server can serve.
func NewAPI() (*API, error) {
	scheme := runtime.NewScheme()
	for _, install := range []func(*runtime.Scheme) error{peeringinstall.Install, coreinstall.Install, reviews.AddToScheme} {
		if err := install(scheme); err != nil {
			return nil, fmt.Errorf("could not register an API group: %w", err)
		}
	}
	// What the API machinery exchanges beside the served kinds.
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	scheme.AddUnversionedTypes(schema.GroupVersion{Version: "v1"},
		&metav1.Status{},
		&metav1.APIVersions{},
		&metav1.APIGroupList{},
		&metav1.APIGroup{},
		&metav1.APIResourceList{},
	)
	return &API{Scheme: scheme, Codecs: serializer.NewCodecFactory(scheme), ParameterCodec: runtime.NewParameterCodec(scheme)}, nil
}

// storageVersions are the versions in which objects are stored, one a group.
func storageVersions() schema.GroupVersions {
	return schema.GroupVersions{peeringv1alpha1.SchemeGroupVersion, corev1alpha1.SchemeGroupVersion}
}
