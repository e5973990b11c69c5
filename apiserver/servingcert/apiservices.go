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

package servingcert

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/cert"
)

// APIService is what matters here of an APIService.
type APIService struct {
	ResourceVersion string
	// Namespace and Service name the Service that serves it; empty if it is the
	// kube-apiserver itself.
	Namespace, Service string
	// CABundle is PEM.
	CABundle []byte
	// InsecureSkipTLSVerify has kube-aggregator trust everybody.
	InsecureSkipTLSVerify bool
}

// APIServices reads and changes APIServices. Errors are those of the API, so that a
// missing object and a conflict can be told.
type APIServices interface {
	Get(ctx context.Context, name string) (APIService, error)
	// Publish sets the CA bundle and has it enforced, if the object is still the one of
	// that resource version, and else fails with a conflict.
	Publish(ctx context.Context, name, resourceVersion string, caBundle []byte) error
}

// NewAPIServices returns the APIServices of a cluster. It takes the dynamic client
// because the typed one would bring all of kube-aggregator.
func NewAPIServices(client dynamic.Interface) APIServices {
	return apiServices{client.Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"})}
}

type apiServices struct {
	client dynamic.ResourceInterface
}

// fieldManager is who owns spec.caBundle.
const fieldManager = "entente-serving-certificate"

// Get implements APIServices.
func (a apiServices) Get(ctx context.Context, name string) (APIService, error) {
	object, err := a.client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return APIService{}, err
	}
	text := func(path ...string) string {
		value, _, _ := unstructured.NestedString(object.Object, path...)
		return value
	}
	out := APIService{
		ResourceVersion: object.GetResourceVersion(),
		Namespace:       text("spec", "service", "namespace"),
		Service:         text("spec", "service", "name"),
	}
	out.InsecureSkipTLSVerify, _, _ = unstructured.NestedBool(object.Object, "spec", "insecureSkipTLSVerify")
	if out.CABundle, err = base64.StdEncoding.DecodeString(text("spec", "caBundle")); err != nil {
		return APIService{}, fmt.Errorf("could not read spec.caBundle: %w", err)
	}
	return out, nil
}

// Publish implements APIServices.
func (a apiServices) Publish(ctx context.Context, name, resourceVersion string, caBundle []byte) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": resourceVersion},
		"spec": map[string]any{
			"caBundle": caBundle,
			// The API refuses one beside the other.
			"insecureSkipTLSVerify": nil,
		},
	})
	if err != nil {
		return fmt.Errorf("could not encode a patch: %w", err)
	}
	_, err = a.client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
	return err
}

// sighting is what was seen of an APIService at one look.
type sighting struct {
	name string
	// err says why nothing was seen. A missing APIService is not one.
	err    error
	absent bool
	// foreign is set if another server is behind it; served names that.
	foreign bool
	served  string
	APIService
}

type sightings []sighting

// ours tells whether kube-aggregator reaches this server through it.
func (s sighting) ours() bool { return s.err == nil && !s.absent && !s.foreign }

// holds tells whether kube-aggregator trusts that authority and those in the bundle
// only.
func (s sighting) holds(authority *x509.Certificate) bool {
	if s.InsecureSkipTLSVerify {
		return false
	}
	certificates, err := cert.ParseCertsPEM(s.CABundle)
	return err == nil && slices.ContainsFunc(certificates, authority.Equal)
}

// everywhere tells whether the authority is trusted wherever kube-aggregator
// reaches this server. It does not through an APIService that is absent or foreign;
// through one that could not be read it may.
func (s sightings) everywhere(authority *x509.Certificate) bool {
	return !slices.ContainsFunc(s, func(one sighting) bool {
		return one.err != nil || (one.ours() && !one.holds(authority))
	})
}
