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

package install

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

// manifests is what is applied, and what the shipped roles grant to Entente.
type manifests struct {
	yaml   string
	grants []grant
	// clusterRoles are the rules of the shipped ClusterRoles.
	clusterRoles map[string][]rbacv1.PolicyRule
}

// grant is a binding of Entente's ServiceAccount. Rules is empty if the role is
// Kubernetes' own.
type grant struct {
	// kind, namespace and name are those of the binding; the namespace is empty for
	// a ClusterRoleBinding.
	kind, namespace, name string
	roleKind, role        string
	rules                 []rbacv1.PolicyRule
}

// outsideCluster changes the shipped manifests for a process on the loopback
// interface, and leaves out what would run it in a Pod.
func outsideCluster(shipped string, port int) (*manifests, error) {
	objects, err := decode(shipped)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	var services, apiServices int
	for _, object := range objects {
		switch object.GetKind() {
		case "StatefulSet", "Deployment":
			continue
		case "Service":
			if object.GetName() != service {
				break
			}
			services++
			object.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "localhost"}
		case "APIService":
			apiServices++
			if err := unstructured.SetNestedField(object.Object, int64(port), "spec", "service", "port"); err != nil {
				return nil, fmt.Errorf("could not change APIService %s: %w", object.GetName(), err)
			}
		}
		content, err := sigsyaml.Marshal(object.Object)
		if err != nil {
			return nil, err
		}
		out.WriteString("---\n")
		out.Write(content)
	}
	if services != 1 || apiServices == 0 {
		return nil, fmt.Errorf("could not change the manifests: found %d Services %s and %d APIServices", services, service, apiServices)
	}
	grants, clusterRoles, err := grants(objects)
	if err != nil {
		return nil, err
	}
	return &manifests{yaml: out.String(), grants: grants, clusterRoles: clusterRoles}, nil
}

func decode(content string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewBufferString(content), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("could not read the manifests: %w", err)
		}
		objects = append(objects, object)
	}
}

// grants finds what the manifests grant to Entente's ServiceAccount, and the rules of their
// ClusterRoles.
func grants(objects []*unstructured.Unstructured) ([]grant, map[string][]rbacv1.PolicyRule, error) {
	type role struct{ kind, namespace, name string }
	rules := map[role][]rbacv1.PolicyRule{}
	for _, object := range objects {
		if kind := object.GetKind(); kind != "ClusterRole" && kind != "Role" {
			continue
		}
		// A ClusterRole has the same fields.
		var decoded rbacv1.Role
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &decoded); err != nil {
			return nil, nil, fmt.Errorf("could not read %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		rules[role{object.GetKind(), object.GetNamespace(), object.GetName()}] = decoded.Rules
	}
	clusterRoles := map[string][]rbacv1.PolicyRule{}
	for of, granted := range rules {
		if of.kind == "ClusterRole" {
			clusterRoles[of.name] = granted
		}
	}
	var found []grant
	for _, object := range objects {
		if kind := object.GetKind(); kind != "ClusterRoleBinding" && kind != "RoleBinding" {
			continue
		}
		// A ClusterRoleBinding has the same fields.
		var binding rbacv1.RoleBinding
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &binding); err != nil {
			return nil, nil, fmt.Errorf("could not read %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		ours := slices.ContainsFunc(binding.Subjects, func(subject rbacv1.Subject) bool {
			return subject.Kind == rbacv1.ServiceAccountKind && subject.Namespace == Namespace && subject.Name == ServiceAccount
		})
		if !ours {
			continue
		}
		ref := role{kind: binding.RoleRef.Kind, name: binding.RoleRef.Name}
		if ref.kind == "Role" {
			ref.namespace = binding.Namespace
		}
		found = append(found, grant{
			kind: object.GetKind(), namespace: binding.Namespace, name: binding.Name,
			roleKind: ref.kind, role: ref.name, rules: rules[ref],
		})
	}
	return found, clusterRoles, nil
}
