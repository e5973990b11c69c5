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
	"fmt"
	"iter"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Placeholder stands in the place of a sensitive value that is set and must not
// be seen. Written to a sensitive field it means "as it is".
const Placeholder = "<omitted>"

// Object is an API object with sensitive fields, in its internal version.
type Object interface {
	runtime.Object
	metav1.Object

	// SensitiveField names the sensitive fields by number, from 0; past the last
	// one it returns an empty path. path is the JSON path of the field from the
	// root of the object, dotted, through structs only: list elements cannot be
	// told apart safely when values are put back. value points to it. Without
	// write it is for reading, and nil if the object has no place for the field.
	// With write it may be set through: structs on the way are copied or made, so
	// that no other object that shares them changes.
	SensitiveField(i int, write bool) (path string, value *string)
}

// Fields yields the number and the path of each sensitive field of obj.
func Fields(obj Object) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for i := 0; ; i++ {
			path, _ := obj.SensitiveField(i, false)
			if path == "" || !yield(i, path) {
				return
			}
		}
	}
}

// get returns the value of field i; it is empty when the field is not set.
func get(obj Object, i int) string {
	if _, value := obj.SensitiveField(i, false); value != nil {
		return *value
	}
	return ""
}

func set(obj Object, i int, value string) {
	_, target := obj.SensitiveField(i, true)
	*target = value
}

// submittedValues returns the sensitive values in obj that somebody wrote: what
// is set and is not the placeholder.
func submittedValues(obj Object) []string {
	var values []string
	for i := range Fields(obj) {
		if value := get(obj, i); value != "" && value != Placeholder {
			values = append(values, value)
		}
	}
	return values
}

// submittedPaths returns the paths of those values.
func submittedPaths(obj Object) []string {
	var paths []string
	for i, path := range Fields(obj) {
		if value := get(obj, i); value != "" && value != Placeholder {
			paths = append(paths, path)
		}
	}
	return paths
}

// redactOwned redacts an object whose top-level struct belongs to the caller, in
// place. What it points to may be shared with the watch cache and is copied
// where it changes (R7).
func redactOwned(obj Object) {
	for i := 0; ; i++ {
		path, value := obj.SensitiveField(i, false)
		if path == "" {
			return
		}
		if value == nil || *value == "" {
			continue
		}
		_, own := obj.SensitiveField(i, true)
		*own = Placeholder
	}
}

// redactShared returns a redacted copy of an object that others may hold.
func redactShared(obj Object) Object {
	out := reflect.New(reflect.TypeOf(obj).Elem())
	out.Elem().Set(reflect.ValueOf(obj).Elem())
	redacted := out.Interface().(Object)
	redactOwned(redacted)
	return redacted
}

// redactAny redacts what a store hands out: an object, a list whose item structs
// are the request's own, or a Status. Anything else is refused rather than
// passed on.
func redactAny(out runtime.Object) (runtime.Object, error) {
	switch typed := out.(type) {
	case nil:
		return nil, nil
	case *metav1.Status:
		return typed, nil
	case Object:
		return redactShared(typed), nil
	}
	items, err := meta.GetItemsPtr(out)
	if err != nil {
		return nil, fmt.Errorf("could not redact an answer of type %T", out)
	}
	// Only of structs are the items the list's own.
	if kind := reflect.TypeOf(items).Elem().Elem().Kind(); kind != reflect.Struct {
		return nil, fmt.Errorf("could not redact a list of type %T: its items are no structs", out)
	}
	err = meta.EachListItem(out, func(item runtime.Object) error {
		obj, ok := item.(Object)
		if !ok {
			return fmt.Errorf("could not redact a list item of type %T", item)
		}
		redactOwned(obj)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Validate reports each sensitive field that still holds the placeholder after
// stored values were put back: there is nothing that it could stand for (R11). A
// strategy appends the result to its own.
func Validate(obj Object) field.ErrorList {
	var allErrs field.ErrorList
	for i, path := range Fields(obj) {
		if get(obj, i) == Placeholder {
			allErrs = append(allErrs, field.Invalid(fieldPath(path), field.OmitValueType{},
				"the placeholder keeps a stored value, and none is stored; set the value or leave the field out"))
		}
	}
	return allErrs
}

func fieldPath(path string) *field.Path {
	segments := strings.Split(path, ".")
	return field.NewPath(segments[0], segments[1:]...)
}
