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
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// MaxManagedFieldsBytes is how much of an object may say who manages which fields, as JSON.
const MaxManagedFieldsBytes = 128 << 10

// BoundManagedFields forgets who managed which fields longest ago, where that is too much.
// The library has no limit, and every write under another name adds an entry, one of the
// status too: until the object is larger than what the store takes, and can neither be written
// nor deleted. A refusal would lock it as well, so entries go: theirs who wrote last stay.
func BoundManagedFields(obj metav1.Object) {
	entries := obj.GetManagedFields()
	latestFirst := make([]int, len(entries))
	for i := range latestFirst {
		latestFirst[i] = i
	}
	slices.SortStableFunc(latestFirst, func(i, j int) int { return -cmp.Compare(written(&entries[i]), written(&entries[j])) })
	size, stays := 1, make([]bool, len(entries)) // a bracket, and what follows each entry
	for _, i := range latestFirst {
		encoded, err := json.Marshal(entries[i])
		if err != nil || size+len(encoded)+1 > MaxManagedFieldsBytes {
			break // those of before go as well: who wrote last must not have less than they
		}
		size += len(encoded) + 1
		stays[i] = true
	}
	if !slices.Contains(stays, false) {
		return
	}
	var left []metav1.ManagedFieldsEntry
	for i, entry := range entries {
		if stays[i] {
			left = append(left, entry)
		}
	}
	obj.SetManagedFields(left)
}

// written is when an entry was written, as a Unix time; 0: it does not say.
func written(entry *metav1.ManagedFieldsEntry) int64 {
	if entry.Time == nil {
		return 0
	}
	return entry.Time.Unix()
}
