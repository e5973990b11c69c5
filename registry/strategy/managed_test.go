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
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// entry is one of a manager, written at some second, of about that size.
func entry(manager string, second int64, size int) metav1.ManagedFieldsEntry {
	at := metav1.NewTime(time.Unix(second, 0))
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", Time: &at, FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:a":{"k:{\"type\":\"` + strings.Repeat("x", size) + `\"}":{}}}`),
	}
}

// S1: who manages which fields is forgotten where it is too much, the oldest first, whoever
// wrote last is not; the others stay as they are, in their order.
func TestS1ManagedFields(t *testing.T) {
	const third = MaxManagedFieldsBytes / 3
	untimed := entry("untimed", 0, 100)
	untimed.Time = nil
	var hundreds []metav1.ManagedFieldsEntry
	for i := range 400 {
		hundreds = append(hundreds, entry(fmt.Sprint("m", i), int64(i), 400))
	}
	for name, test := range map[string]struct {
		given []metav1.ManagedFieldsEntry
		want  []string
	}{
		"nothing":            {nil, nil},
		"little":             {[]metav1.ManagedFieldsEntry{entry("b", 2, 10), entry("a", 1, 10), untimed}, []string{"b", "a", "untimed"}},
		"the oldest goes":    {[]metav1.ManagedFieldsEntry{entry("a", 3, third), entry("b", 1, third), entry("c", 2, third)}, []string{"a", "c"}},
		"without a time":     {[]metav1.ManagedFieldsEntry{untimed, entry("a", 3, third), entry("b", 1, third), entry("c", 2, third)}, []string{"a", "c"}},
		"letters of six":     {[]metav1.ManagedFieldsEntry{withFields(entry("a", 2, 0), strings.Repeat("<", third)), entry("b", 1, 10)}, nil},
		"too much in itself": {[]metav1.ManagedFieldsEntry{entry("a", 1, 10), entry("b", 2, 3*third)}, nil},
		"no JSON":            {[]metav1.ManagedFieldsEntry{entry("b", 2, 10), {Manager: "a", FieldsV1: metav1.NewFieldsV1("{")}}, []string{"b"}},
	} {
		t.Run(name, func(t *testing.T) {
			obj := &metav1.ObjectMeta{ManagedFields: test.given}
			BoundManagedFields(obj)
			var got []string
			for _, left := range obj.ManagedFields {
				got = append(got, left.Manager)
			}
			assert.Equal(t, test.want, got)
		})
	}
	obj := &metav1.ObjectMeta{ManagedFields: hundreds}
	BoundManagedFields(obj)
	left := len(obj.ManagedFields)
	assert.Greater(t, left, 100)
	assert.Equal(t, hundreds[400-left:], obj.ManagedFields)
	encoded, err := json.Marshal(obj.ManagedFields)
	require.NoError(t, err)
	assert.LessOrEqual(t, len(encoded), MaxManagedFieldsBytes)
	assert.Greater(t, len(encoded), MaxManagedFieldsBytes-1000)
}

func withFields(e metav1.ManagedFieldsEntry, text string) metav1.ManagedFieldsEntry {
	e.FieldsV1 = metav1.NewFieldsV1(`{"f:` + text + `":{}}`)
	return e
}
