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
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
)

// plugin is an admission plugin that prints what it sees, and mutates.
type plugin struct {
	seen   string
	mutate func(admission.Attributes) error
}

func (p *plugin) Handles(operation admission.Operation) bool { return operation != admission.Connect }

func (p *plugin) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	p.see(a)
	if p.mutate == nil {
		return nil
	}
	return p.mutate(a)
}

func (p *plugin) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	p.see(a)
	return nil
}

func (p *plugin) see(a admission.Attributes) {
	for _, obj := range []runtime.Object{a.GetObject(), a.GetOldObject()} {
		if vault, ok := obj.(*Vault); ok {
			p.seen += encode(vault)
		}
	}
}

func encode(v *Vault) string {
	text := v.Annotations[corev1.LastAppliedConfigAnnotation] + " " + v.Annotations["copy"]
	for i, path := range Fields(v) {
		text += " " + path + "=" + get(v, i)
	}
	return text
}

func request(operation admission.Operation, obj, old runtime.Object) admission.Attributes {
	return admission.NewAttributesRecord(obj, old, schema.GroupVersionKind{Group: "test", Version: "v1", Kind: "Vault"}, "", "vault",
		schema.GroupVersionResource{Group: "test", Version: "v1", Resource: "vaults"}, "", operation, nil, false, &user.DefaultInfo{Name: "admin"})
}

func withCopies(v *Vault) *Vault {
	v.Annotations = map[string]string{
		corev1.LastAppliedConfigAnnotation: `{"spec":{"key":{"secret":"` + keyCanary + `"}}}`,
		"copy":                             "of " + codeCanary,
	}
	return v
}

// R13: plugins get redacted copies, old and new, whoever calls and whatever for; the
// object itself keeps its values, and is not changed by looking at it.
func TestR13_PluginsSeeRedactedCopies(t *testing.T) {
	for _, operation := range []admission.Operation{admission.Create, admission.Update, admission.Delete} {
		t.Run(string(operation), func(t *testing.T) {
			p := &plugin{}
			wrapped := NewAdmission(p).(*redactedAdmission)
			obj, old := withCopies(newVault("new")), withCopies(newVault("old"))
			a := request(operation, obj, old)
			require.NoError(t, wrapped.Validate(t.Context(), a, nil))
			assertNoCanary(t, p.seen)
			assert.Contains(t, p.seen, keyPath+"="+Placeholder)
			assert.Equal(t, withCopies(newVault("new")), obj, "validation changed the object")

			p.seen = ""
			require.NoError(t, wrapped.Admit(t.Context(), a, nil))
			assertNoCanary(t, p.seen)
			assert.Equal(t, newVault("new").Spec, obj.Spec)
			assert.Equal(t, newVault("new").Status, obj.Status)
			assert.Equal(t, withCopies(newVault("old")), old)
		})
	}
}

// R13: what a mutating step changes outside the sensitive fields is kept.
func TestR13_MutationsOutsideSensitiveFieldsAreKept(t *testing.T) {
	tests := []struct {
		name   string
		mutate func(*Vault)
		want   func(*Vault)
	}{
		{"nothing", func(*Vault) {}, func(*Vault) {}},
		{"a label", func(v *Vault) { v.Labels = map[string]string{"a": "b"} }, func(v *Vault) { v.Labels = map[string]string{"a": "b"} }},
		{"a field beside a sensitive one", func(v *Vault) { v.Spec.Key.Hint = "other" }, func(v *Vault) { v.Spec.Key.Hint = "other" }},
		{"a sensitive value", func(v *Vault) { v.Spec.Key.Secret = "of the webhook" }, func(*Vault) {}},
		{"a sensitive value cleared", func(v *Vault) { v.Spec.Key.Secret = "" }, func(*Vault) {}},
		{"the struct replaced", func(v *Vault) { v.Spec.Key = &VaultKey{Hint: "new"} }, func(v *Vault) { v.Spec.Key.Hint = "new" }},
		{"the struct removed", func(v *Vault) { v.Spec.Key = nil }, func(v *Vault) { v.Spec.Key = nil }},
		{"an outer struct removed", func(v *Vault) { v.Spec.Door = nil }, func(v *Vault) { v.Spec.Door = nil }},
		{"the placeholder copied", func(v *Vault) { v.Spec.Label = v.Spec.Key.Secret }, func(v *Vault) { v.Spec.Label = Placeholder }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := &plugin{mutate: func(a admission.Attributes) error { test.mutate(a.GetObject().(*Vault)); return nil }}
			obj, want := newVault("v"), newVault("v")
			test.want(want)
			require.NoError(t, NewAdmission(p).(admission.MutationInterface).Admit(t.Context(), request(admission.Create, obj, nil), nil))
			assert.Equal(t, want, obj)
		})
	}
	t.Run("a value where none was", func(t *testing.T) {
		p := &plugin{mutate: func(a admission.Attributes) error {
			a.GetObject().(*Vault).Spec.Key = &VaultKey{Secret: "of the webhook", Hint: "new"}
			return nil
		}}
		obj := newVault("v")
		obj.Spec.Key = nil
		require.NoError(t, NewAdmission(p).(admission.MutationInterface).Admit(t.Context(), request(admission.Create, obj, nil), nil))
		assert.Equal(t, &VaultKey{Hint: "new"}, obj.Spec.Key)
	})
	t.Run("a plugin that refuses", func(t *testing.T) {
		refusal := errors.New("refused by this test")
		p := &plugin{mutate: func(a admission.Attributes) error { a.GetObject().(*Vault).Spec.Label = "half done"; return refusal }}
		obj := newVault("v")
		require.ErrorIs(t, NewAdmission(p).(admission.MutationInterface).Admit(t.Context(), request(admission.Create, obj, nil), nil), refusal)
		assert.Equal(t, newVault("v"), obj)
	})
}

// The wrapper stands for what it wraps: operations, other objects, audit annotations.
func TestAdmissionPassesTheRestThrough(t *testing.T) {
	p := &plugin{mutate: func(a admission.Attributes) error {
		if plain, ok := a.GetObject().(*Plain); ok {
			plain.Value = "mutated"
		}
		return a.AddAnnotation("example.com/seen", "yes")
	}}
	wrapped := NewAdmission(p)
	assert.True(t, wrapped.Handles(admission.Create))
	assert.False(t, wrapped.Handles(admission.Connect))
	plain := &Plain{}
	a := request(admission.Create, plain, nil)
	require.NoError(t, wrapped.(admission.MutationInterface).Admit(t.Context(), a, nil))
	assert.Equal(t, "mutated", plain.Value)
	require.Error(t, a.AddAnnotation("example.com/seen", "no"), "the annotation is not on the request itself")
	require.NoError(t, wrapped.(admission.MutationInterface).Admit(t.Context(), request(admission.Delete, nil, nil), nil))
}

// R13: on /sensitive a patch is computed on the values for who may see them; what it
// copies elsewhere is ignored later on, and plugins never see it.
func TestR13_CopiesOnSensitiveAreNotSeen(t *testing.T) {
	p := &plugin{mutate: func(a admission.Attributes) error {
		vault := a.GetObject().(*Vault)
		assertNoCanary(t, vault.Spec.Label+vault.Labels["copy"]+vault.Name)
		assert.Equal(t, "label of old", vault.Spec.Label)
		assert.Equal(t, Placeholder, vault.Spec.Key.Secret)
		assert.Empty(t, vault.Spec.Door.Lock.Code, "a value that is removed")
		vault.Spec.Label = "of the plugin"
		return nil
	}}
	obj, old := newVault("old"), newVault("old")
	obj.Spec.Label, obj.Labels = keyCanary, map[string]string{"copy": keyCanary}
	obj.Spec.Key.Secret, obj.Spec.Door.Lock.Code = keyCanary+"-new", ""
	want := obj.DeepCopyObject()
	a := admission.NewAttributesRecord(obj, old, schema.GroupVersionKind{Group: "test", Version: "v1", Kind: "Vault"}, "", "old",
		schema.GroupVersionResource{Group: "test", Version: "v1", Resource: "vaults"}, SubresourceName, admission.Update, nil, false, &user.DefaultInfo{Name: "admin"})
	require.NoError(t, NewAdmission(p).(admission.MutationInterface).Admit(t.Context(), a, nil))
	assertNoCanary(t, p.seen)
	assert.Equal(t, want, obj, "the write itself")
}
