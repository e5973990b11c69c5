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

package release

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/controllers/mutation"
	"entente.dev/entente/controllers/target"
	"entente.dev/entente/peering/record"
)

// wanted is one object that a Release wants.
type wanted struct {
	record.ReleaseObject
	object *unstructured.Unstructured
}

// refusal is why one object is not as the Release wants it.
type refusal struct {
	object record.ReleaseObject
	text   string
}

// render returns the objects of a Release as they are to be applied, but for what the target
// has to be asked for. It fails with an error that may be shown.
func (c *Controller) render(ctx context.Context, release *corev1alpha1.Release, cluster *corev1alpha1.Cluster) ([]*unstructured.Unstructured, error) {
	objects := make([]*unstructured.Unstructured, 0, len(release.Spec.Resources))
	for i := range release.Spec.Resources {
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(release.Spec.Resources[i].Raw); err != nil {
			return nil, fmt.Errorf("spec.resources[%d]: it is not an object of Kubernetes", i)
		}
		objects = append(objects, object)
	}
	plan, err := c.memory.compiled(ctx, release)
	if err == nil {
		objects, err = plan.Apply(ctx, objects, mutation.Context(cluster.Name, cluster.Spec.Metadata))
	}
	var fault *mutation.Fault
	switch {
	case errors.As(err, &fault):
		return nil, fault
	case err != nil:
		return nil, errors.New("spec.mutations: they could not be carried out")
	}
	return objects, nil
}

// resolve asks the target what each object is there. What cannot be told of one is refused,
// and does not keep the others from being applied. It fails if the target does not answer.
func resolve(ctx context.Context, client *target.Client, release *corev1alpha1.Release, objects []*unstructured.Unstructured) (all []wanted, refused []refusal, err error) {
	seen := map[record.ReleaseObject]bool{}
	known := &kinds{client: client}
	for _, object := range objects {
		kind := object.GroupVersionKind()
		listed := record.ReleaseObject{Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Namespace: object.GetNamespace(), Name: object.GetName()}
		mapping, err := known.mapping(ctx, kind)
		if err != nil {
			text, away := objectTo(ctx, err)
			if away != nil {
				return nil, nil, away
			}
			refused = append(refused, refusal{listed, text})
			continue
		}
		listed.Resource = mapping.Resource.Resource
		copied := object.DeepCopy()
		switch namespaced := mapping.Scope.Name() == meta.RESTScopeNameNamespace; {
		case namespaced && listed.Namespace == "":
			listed.Namespace = release.Namespace
			copied.SetNamespace(release.Namespace)
		case !namespaced && listed.Namespace != "":
			refused = append(refused, refusal{listed, "its kind has no namespaces"})
			continue
		}
		once := listed
		once.Version, once.Resource = "", ""
		if seen[once] {
			refused = append(refused, refusal{listed, "it is there twice"})
			continue
		}
		seen[once] = true
		labels := copied.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[corev1alpha1.LabelRelease] = string(release.UID)
		copied.SetLabels(labels)
		all = append(all, wanted{listed, copied})
	}
	return all, refused, nil
}

// kinds tells what kinds a cluster has, for all that is done at once for one Release.
type kinds struct {
	client *target.Client
	// renewed says that the cluster was asked anew: what it does not have then it has not.
	renewed bool
}

// renew has the cluster asked anew.
func (k *kinds) renew() {
	k.client.Mapper().Reset()
	k.renewed = true
}

// mapping asks for a kind, in any version if none is said. One that a cluster did not have a
// moment ago it may have now.
func (k *kinds) mapping(ctx context.Context, kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	var versions []string
	if kind.Version != "" {
		versions = append(versions, kind.Version)
	}
	mapping, err := meta.ToRESTMapperWithContext(k.client.Mapper()).RESTMappingWithContext(ctx, kind.GroupKind(), versions...)
	if meta.IsNoMatchError(err) && !k.renewed {
		k.renew()
		mapping, err = meta.ToRESTMapperWithContext(k.client.Mapper()).RESTMappingWithContext(ctx, kind.GroupKind(), versions...)
	}
	if err == nil && len(validation.IsDNS1123Subdomain(mapping.Resource.Resource)) > 0 {
		// It comes from the cluster, and goes to the ledger (P11).
		return nil, &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: versions}
	}
	return mapping, err
}

// nameOf names an object as kubectl does.
func nameOf(o record.ReleaseObject) string {
	kind := o.Kind
	if o.Group != "" {
		kind += "." + o.Group
	}
	if o.Namespace == "" {
		return kind + " " + o.Name
	}
	return kind + " " + o.Namespace + "/" + o.Name
}

// maxListed is how many objects a message names at the most.
const maxListed = 5

// list says what is wrong with which objects.
func list(refused []refusal) string {
	var said []string
	for _, r := range refused[:min(len(refused), maxListed)] {
		said = append(said, nameOf(r.object)+": "+r.text)
	}
	text := strings.Join(said, "; ")
	if more := len(refused) - maxListed; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text + "."
}
