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

package strategy

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
)

// Parts are the parts of the objects of one kind that are written apart: what is the
// owner's, through the main resource, and the status, through /status.
type Parts[T any, P Object[T]] struct {
	// Spec returns a pointer to the spec; nil: the kind has none.
	Spec func(P) any
	// CopyStatus gives one object the status of another.
	CopyStatus func(to, from P)
}

// Create prepares an object that is to be created: it has no status yet, whatever was sent.
func (p Parts[T, P]) Create(obj runtime.Object) {
	object := any(obj).(P)
	p.CopyStatus(object, new(T))
	object.SetGeneration(1)
}

// Update prepares an object that is to replace another one: the status stays, and the
// generation moves with the spec (K2). The library moves it when deletion starts.
func (p Parts[T, P]) Update(obj, old runtime.Object) {
	object, before := any(obj).(P), any(old).(P)
	p.CopyStatus(object, before)
	object.SetGeneration(before.GetGeneration())
	if p.Spec != nil && !apiequality.Semantic.DeepEqual(p.Spec(object), p.Spec(before)) {
		object.SetGeneration(before.GetGeneration() + 1)
	}
}

// UpdateStatus prepares an object whose status is to replace that of another one: nothing
// else changes, the metadata least of all. Annotations and finalizers decide things, and
// whoever may write a status must not (S1).
func (p Parts[T, P]) UpdateStatus(obj, old runtime.Object) {
	object, before := any(obj).(P), any(old).(P)
	submitted := *object
	Revert(object, before)
	p.CopyStatus(object, &submitted)
}
