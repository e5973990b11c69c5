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
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
)

// NewAdmission puts redaction around the admission plugins of a server (R13): for
// every caller they see redacted copies, the new object and the old one, and so do
// webhooks and policies behind them. What a mutating plugin changes outside of the
// sensitive fields is kept; what it writes into one is not. Objects without
// sensitive fields pass as they are.
//
// It takes the place of Config.AdmissionControl, from where the library also takes
// what validates an object inside the store's transaction.
func NewAdmission(plugins admission.Interface) admission.Interface {
	return &redactedAdmission{plugins: plugins}
}

type redactedAdmission struct {
	plugins admission.Interface
}

var (
	_ admission.MutationInterface   = &redactedAdmission{}
	_ admission.ValidationInterface = &redactedAdmission{}
)

func (r *redactedAdmission) Handles(operation admission.Operation) bool {
	return r.plugins.Handles(operation)
}

// Admit lets plugins mutate a copy, and takes over what they changed.
func (r *redactedAdmission) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	mutating, ok := r.plugins.(admission.MutationInterface)
	if !ok {
		return nil
	}
	obj, ok := a.GetObject().(Object)
	if !ok {
		return mutating.Admit(ctx, redactAttributes(ctx, a, a.GetObject()), o)
	}
	if old, ok := a.GetOldObject().(Object); ok && a.GetSubresource() == SubresourceName {
		return mutating.Admit(ctx, redactAttributes(ctx, a, sensitiveView(ctx, obj, old)), o)
	}
	view := admissionView(ctx, obj)
	if err := mutating.Admit(ctx, redactAttributes(ctx, a, view), o); err != nil {
		return err
	}
	takeOver(obj, view)
	return nil
}

// Validate lets plugins look at a copy.
func (r *redactedAdmission) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	validating, ok := r.plugins.(admission.ValidationInterface)
	if !ok {
		return nil
	}
	view := a.GetObject()
	if obj, ok := view.(Object); ok {
		view = admissionView(ctx, obj)
	}
	return validating.Validate(ctx, redactAttributes(ctx, a, view), o)
}

// admissionView is a copy of an object that plugins may change, without sensitive
// values in its fields and annotations. On create the annotations have not been
// scrubbed yet; they will be when the object is stored.
func admissionView(ctx context.Context, obj Object) Object {
	view := obj.DeepCopyObject().(Object)
	scrubAnnotations(ctx, view, submittedValues(view))
	redactOwned(view)
	return view
}

// sensitiveView is what comes of a write on /sensitive: the old object, with other
// sensitive values. Whatever else was written there is ignored later on, and may be made
// of values; and so is what plugins change.
func sensitiveView(ctx context.Context, obj, old Object) Object {
	view := admissionView(ctx, old)
	for i := range Fields(obj) {
		_, place := view.SensitiveField(i, false)
		switch {
		case get(obj, i) != "":
			set(view, i, Placeholder)
		case place != nil:
			set(view, i, "")
		}
	}
	return view
}

// takeOver makes obj what plugins made of its view, with the sensitive values that
// it had. A value goes with the struct that holds it, if a plugin has removed that;
// none comes where none was.
func takeOver(obj, view Object) {
	for i := range Fields(obj) {
		// Where there is no place for the value any more it goes.
		if _, place := view.SensitiveField(i, false); place != nil {
			set(view, i, get(obj, i))
		}
	}
	reflect.ValueOf(obj).Elem().Set(reflect.ValueOf(view).Elem())
}

// attributes are those of a request, with copies in place of its objects. Whatever
// is noted on them, is noted on the request's own.
type attributes struct {
	admission.Attributes
	object, oldObject runtime.Object
}

func redactAttributes(ctx context.Context, a admission.Attributes, view runtime.Object) admission.Attributes {
	old := a.GetOldObject()
	if obj, ok := old.(Object); ok {
		old = admissionView(ctx, obj)
	}
	return &attributes{Attributes: a, object: view, oldObject: old}
}

func (a *attributes) GetObject() runtime.Object    { return a.object }
func (a *attributes) GetOldObject() runtime.Object { return a.oldObject }
