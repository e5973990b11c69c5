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

package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"entente.dev/entente/registry/sensitive"
)

// Hook is an address that is called when something happens, and what to present
// there. This is the internal version.
type Hook struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              HookSpec `json:"spec,omitempty"`
}

// HookSpec is the spec of a Hook.
type HookSpec struct {
	URL  string    `json:"url,omitempty"`
	Auth *HookAuth `json:"auth,omitempty"`
}

// HookAuth says who calls.
type HookAuth struct {
	User  string `json:"user,omitempty"`
	Token string `json:"token,omitempty" datapolicy:"token"` // sensitive
}

// HookList is a list of Hooks.
type HookList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Hook `json:"items"`
}

var _ sensitive.Object = &Hook{}

// SensitiveField is the whole declaration: one case a field (step 1).
func (h *Hook) SensitiveField(i int, write bool) (path string, value *string) {
	if i != 0 {
		return "", nil
	}
	if write {
		// Others may share the struct that holds the value: it is copied first.
		own := HookAuth{}
		if h.Spec.Auth != nil {
			own = *h.Spec.Auth
		}
		h.Spec.Auth = &own
	}
	if h.Spec.Auth == nil {
		return "spec.auth.token", nil
	}
	return "spec.auth.token", &h.Spec.Auth.Token
}

// What follows is written by generators in a real project: the served version,
// conversions and deep copies.

// HookV1 is a Hook as it is served and stored.
type HookV1 Hook

// HookV1List is a HookList as it is served.
type HookV1List struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HookV1 `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (h *Hook) DeepCopyObject() runtime.Object {
	out := *h
	h.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	if h.Spec.Auth != nil {
		auth := *h.Spec.Auth
		out.Spec.Auth = &auth
	}
	return &out
}

// DeepCopyObject implements runtime.Object.
func (h *HookV1) DeepCopyObject() runtime.Object {
	return (*HookV1)((*Hook)(h).DeepCopyObject().(*Hook))
}

// DeepCopyObject implements runtime.Object.
func (l *HookList) DeepCopyObject() runtime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]Hook, len(l.Items))
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*Hook)
	}
	return &out
}

// DeepCopyObject implements runtime.Object.
func (l *HookV1List) DeepCopyObject() runtime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]HookV1, len(l.Items))
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*HookV1)
	}
	return &out
}

// The group of the example.
const (
	groupName = "hooks.example.com"
	kind      = "Hook"
	resource  = "hooks"
)

func groupVersion() schema.GroupVersion { return schema.GroupVersion{Group: groupName, Version: "v1"} }

// newScheme knows the types of the example.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	internal := schema.GroupVersion{Group: groupName, Version: runtime.APIVersionInternal}
	scheme.AddKnownTypes(internal, &Hook{}, &HookList{})
	scheme.AddKnownTypeWithName(groupVersion().WithKind(kind), &HookV1{})
	scheme.AddKnownTypeWithName(groupVersion().WithKind(kind+"List"), &HookV1List{})
	metav1.AddToGroupVersion(scheme, groupVersion())
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	scheme.AddUnversionedTypes(schema.GroupVersion{Version: "v1"},
		&metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{}, &metav1.APIGroup{}, &metav1.APIResourceList{})
	return scheme, addConversions(scheme)
}

func addConversions(scheme *runtime.Scheme) error {
	if err := scheme.AddConversionFunc((*Hook)(nil), (*HookV1)(nil), func(a, b any, _ conversion.Scope) error {
		in, out := a.(*Hook), b.(*HookV1)
		out.ObjectMeta, out.Spec = in.ObjectMeta, in.Spec
		return nil
	}); err != nil {
		return err
	}
	if err := scheme.AddConversionFunc((*HookV1)(nil), (*Hook)(nil), func(a, b any, _ conversion.Scope) error {
		in, out := a.(*HookV1), b.(*Hook)
		out.ObjectMeta, out.Spec = in.ObjectMeta, in.Spec
		return nil
	}); err != nil {
		return err
	}
	if err := scheme.AddConversionFunc((*HookList)(nil), (*HookV1List)(nil), func(a, b any, _ conversion.Scope) error {
		in, out := a.(*HookList), b.(*HookV1List)
		out.ListMeta, out.Items = in.ListMeta, make([]HookV1, len(in.Items))
		for i := range in.Items {
			out.Items[i] = HookV1(in.Items[i])
		}
		return nil
	}); err != nil {
		return err
	}
	return scheme.AddConversionFunc((*HookV1List)(nil), (*HookList)(nil), func(a, b any, _ conversion.Scope) error {
		in, out := a.(*HookV1List), b.(*HookList)
		out.ListMeta, out.Items = in.ListMeta, make([]Hook, len(in.Items))
		for i := range in.Items {
			out.Items[i] = Hook(in.Items[i])
		}
		return nil
	})
}
