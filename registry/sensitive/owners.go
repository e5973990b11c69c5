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
	"bytes"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// restoreOwners gives the fields at paths, whose values were put back, the owners
// they had in old: they differ from old only by way of the placeholder, so that no
// manager has changed them (R11).
func restoreOwners(obj, old metav1.Object, paths []string) {
	// The slice may still be that of the stored object.
	entries, before := slices.Clone(obj.GetManagedFields()), old.GetManagedFields()
	for _, path := range paths {
		entries = restoreOwnersOf(fieldpath.MakePathOrDie(toAny(strings.Split(path, "."))...), entries, before)
	}
	obj.SetManagedFields(inOrderOf(before, entries))
}

func restoreOwnersOf(field fieldpath.Path, entries, before []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	for i := range entries {
		if b := sameManager(before, entries[i]); b < 0 || !owns(before[b], field) {
			disown(&entries[i], field)
		}
	}
	for _, owner := range before {
		if !owns(owner, field) {
			continue
		}
		i := sameManager(entries, owner)
		if i < 0 {
			empty := owner
			empty.FieldsV1 = metav1.NewFieldsV1("{}")
			entries, i = append(entries, empty), len(entries)
		}
		own(&entries[i], field)
	}
	return slices.DeleteFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return fieldsOf(e).Empty() })
}

// inOrderOf sorts entries as those of before if they are the same but for their
// times. Whoever writes the value that is stored differs from the placeholder, so
// that field management notes a new time and sorts by it; the store looks for a
// write that changed nothing entry by entry.
func inOrderOf(before, entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	if len(before) != len(entries) {
		return entries
	}
	sorted := make([]metav1.ManagedFieldsEntry, 0, len(entries))
	for _, b := range before {
		i := sameManager(entries, b)
		if i < 0 || !bytes.Equal(raw(entries[i]), raw(b)) {
			return entries
		}
		sorted = append(sorted, entries[i])
	}
	return sorted
}

func sameManager(entries []metav1.ManagedFieldsEntry, e metav1.ManagedFieldsEntry) int {
	return slices.IndexFunc(entries, func(o metav1.ManagedFieldsEntry) bool {
		return o.Manager == e.Manager && o.Operation == e.Operation && o.APIVersion == e.APIVersion && o.Subresource == e.Subresource
	})
}

func owns(e metav1.ManagedFieldsEntry, field fieldpath.Path) bool {
	return fieldsOf(e).Has(field)
}

func disown(e *metav1.ManagedFieldsEntry, field fieldpath.Path) {
	if set := fieldsOf(*e); set.Has(field) {
		setFields(e, set.Difference(fieldpath.NewSet(field)))
	}
}

func own(e *metav1.ManagedFieldsEntry, field fieldpath.Path) {
	if set := fieldsOf(*e); !set.Has(field) {
		setFields(e, set.Union(fieldpath.NewSet(field)))
	}
}

func raw(e metav1.ManagedFieldsEntry) []byte {
	if e.FieldsV1 == nil {
		return nil
	}
	return e.FieldsV1.GetRawBytes()
}

// fieldsOf decodes what an entry owns; nothing if it cannot be decoded, which the
// library has refused before.
func fieldsOf(e metav1.ManagedFieldsEntry) *fieldpath.Set {
	set := &fieldpath.Set{}
	if err := set.FromJSON(bytes.NewReader(raw(e))); err != nil {
		return fieldpath.NewSet()
	}
	return set
}

func setFields(e *metav1.ManagedFieldsEntry, set *fieldpath.Set) {
	// Fails for path elements of unknown types only, which a decoded set has not.
	if encoded, err := set.ToJSON(); err == nil {
		e.FieldsV1 = metav1.NewFieldsV1(string(encoded))
	}
}

func toAny(parts []string) []any {
	out := make([]any, len(parts))
	for i, part := range parts {
		out[i] = part
	}
	return out
}
