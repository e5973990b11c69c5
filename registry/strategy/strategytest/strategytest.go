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

// Package strategytest holds the strategies of a kind to what all kinds have in common.
package strategytest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"entente.dev/entente/registry/strategy"
)

// Kind is a kind, and how its objects are written.
type Kind[T any, P strategy.Object[T]] struct {
	Main interface {
		rest.RESTCreateStrategy
		rest.RESTUpdateStrategy
	}
	Status rest.RESTUpdateStrategy
	// Stored returns an object with everything in it, of generation 3.
	Stored func() P
	// Specs are changes of the spec, none for a kind without.
	Specs map[string]func(P)
	// Same are changes of the spec that are none to whoever reads it.
	Same map[string]func(P)
	// CopyStatus gives one object the status of another, Other returns one whose status is
	// another one than that which is stored.
	CopyStatus func(to, from P)
	Other      func() P
}

// object is one of the API.
type object interface {
	metav1.Object
	runtime.Object
}

// metadata are changes of the metadata. None moves the generation, and none may be made by a
// write of the status.
func metadata() map[string]func(metav1.Object) {
	return map[string]func(metav1.Object){
		"nothing":        func(metav1.Object) {},
		"labels":         func(o metav1.Object) { o.SetLabels(map[string]string{"x": "y"}) },
		"no labels":      func(o metav1.Object) { o.SetLabels(nil) },
		"annotations":    func(o metav1.Object) { o.GetAnnotations()["x"] = "y" },
		"finalizers":     func(o metav1.Object) { o.SetFinalizers(nil) },
		"owners":         func(o metav1.Object) { o.SetOwnerReferences(nil) },
		"generation":     func(o metav1.Object) { o.SetGeneration(99) },
		"the name":       func(o metav1.Object) { o.SetName("other"); o.SetGenerateName("other-") },
		"the creation":   func(o metav1.Object) { o.SetCreationTimestamp(metav1.Now()) },
		"a deletion":     func(o metav1.Object) { o.SetDeletionTimestamp(&metav1.Time{}) },
		"a grace period": func(o metav1.Object) { o.SetDeletionGracePeriodSeconds(new(int64)) },
	}
}

func managedBy(manager string) []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate}}
}

// Test tests K2 and S1: what can be written through which endpoint, and when the generation
// moves.
func (k Kind[T, P]) Test(t *testing.T) {
	t.Run("K2 create", k.create)
	t.Run("K2 update", k.update)
	t.Run("S1 status", k.status)
}

func (k Kind[T, P]) obj(p P) object { return any(p).(object) }

// create: the status is dropped and the generation starts.
func (k Kind[T, P]) create(t *testing.T) {
	made := k.Stored()
	k.Main.PrepareForCreate(t.Context(), k.obj(made))
	want := k.Stored()
	k.CopyStatus(want, new(T))
	want.SetGeneration(1)
	assert.Equal(t, want, made)
}

// update: the generation moves with the spec, by one, and with nothing else; the status
// cannot be changed here.
func (k Kind[T, P]) update(t *testing.T) {
	moves := func(name string, generation int64, change func(P)) {
		t.Run(name, func(t *testing.T) {
			old, next := k.Stored(), k.Stored()
			change(next)
			k.CopyStatus(next, k.Other())
			want := P(next.DeepCopy())
			k.CopyStatus(want, k.Stored())
			want.SetGeneration(generation)
			k.Main.PrepareForUpdate(t.Context(), k.obj(next), k.obj(old))
			assert.Equal(t, want, next)
			assert.Equal(t, k.Stored(), old)
		})
	}
	for name, change := range metadata() {
		moves(name, 3, func(o P) { change(o) })
	}
	for name, change := range k.Specs {
		moves("spec: "+name, 4, change)
	}
	for name, change := range k.Same {
		moves("the same: "+name, 3, change)
	}
}

// status: a write of it changes nothing else, neither of the metadata nor of the spec.
func (k Kind[T, P]) status(t *testing.T) {
	changes := map[string]func(P){}
	for name, change := range metadata() {
		changes[name] = func(o P) { change(o) }
	}
	for name, change := range k.Specs {
		changes["spec: "+name] = change
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			old, next := k.Stored(), k.Stored()
			change(next)
			k.CopyStatus(next, k.Other())
			next.SetManagedFields(managedBy("after"))
			k.Status.PrepareForUpdate(t.Context(), k.obj(next), k.obj(old))
			want := k.Stored()
			k.CopyStatus(want, k.Other())
			want.SetManagedFields(managedBy("after"))
			assert.Equal(t, want, next)
			next.GetLabels()["a"] = "changed"
			assert.Equal(t, k.Stored(), old, "nothing is shared")
		})
	}
}

// Faults are the causes of an error of validation, as type and path, in order; none for nil.
func Faults(t *testing.T, err error) (out []string) {
	t.Helper()
	if err == nil {
		return nil
	}
	var status apierrors.APIStatus
	require.ErrorAs(t, err, &status)
	require.Equal(t, metav1.StatusReasonInvalid, status.Status().Reason)
	for _, cause := range status.Status().Details.Causes {
		out = append(out, string(cause.Type)+" "+cause.Field)
	}
	slices.Sort(out)
	return out
}
