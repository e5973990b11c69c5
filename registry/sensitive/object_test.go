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
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestFields(t *testing.T) {
	var paths []string
	for i, path := range Fields(&Vault{}) {
		assert.Len(t, paths, i)
		paths = append(paths, path)
	}
	assert.Equal(t, []string{keyPath, codePath, notePath}, paths, "also of an object without a place for any of them")
	for range Fields(&Vault{}) {
		break // stopping early must not panic
	}
}

// R6: what is set becomes the placeholder, what is not stays so.
func TestR6Redact(t *testing.T) {
	for name, test := range map[string]struct {
		in, want *Vault
	}{
		"everything is set":      {newVault("a"), redactedVault("a")},
		"nothing is there":       {&Vault{}, &Vault{}},
		"redacted already":       {redactedVault("a"), redactedVault("a")},
		"a place without value":  {&Vault{Spec: VaultSpec{Key: &VaultKey{}}}, &Vault{Spec: VaultSpec{Key: &VaultKey{}}}},
		"half of the way":        {&Vault{Spec: VaultSpec{Door: &VaultDoor{}}}, &Vault{Spec: VaultSpec{Door: &VaultDoor{}}}},
		"one of three":           {&Vault{Status: VaultStatus{Note: &VaultNote{Token: noteCanary}}}, &Vault{Status: VaultStatus{Note: &VaultNote{Token: Placeholder}}}},
		"a value of white space": {&Vault{Spec: VaultSpec{Key: &VaultKey{Secret: " "}}}, &Vault{Spec: VaultSpec{Key: &VaultKey{Secret: Placeholder}}}},
		// R11: anywhere else the placeholder is data, and so is a value.
		"an ordinary field": {&Vault{Spec: VaultSpec{Label: keyCanary}}, &Vault{Spec: VaultSpec{Label: keyCanary}}},
	} {
		t.Run(name, func(t *testing.T) {
			before := test.in.DeepCopyObject()
			assert.Equal(t, test.want, redactShared(test.in))
			assert.Equal(t, before, test.in, "R7: the object that was redacted is as it was")

			redactOwned(test.in)
			assert.Equal(t, test.want, test.in)
		})
	}
}

// R7: two objects of the cache may share what their pointers lead to, and with
// the copies that a read is given; none of that changes.
func TestR7NothingSharedIsChanged(t *testing.T) {
	shared := newVault("a")
	other := *shared // shares every pointer, slice and map
	other.Name = "b"
	before, otherBefore := shared.DeepCopyObject(), other.DeepCopyObject()
	key, lock, door, note := shared.Spec.Key, shared.Spec.Door.Lock, shared.Spec.Door, shared.Status.Note

	redacted := redactShared(shared).(*Vault)
	assert.Equal(t, redactedVault("a"), redacted)
	list := &VaultList{Items: []Vault{*shared, other}}
	out, err := redactAny(list)
	require.NoError(t, err)
	assert.Same(t, list, out, "a list is redacted in place")
	assert.Equal(t, *redactedVault("a"), list.Items[0])

	assert.Equal(t, before, shared)
	assert.Equal(t, otherBefore, &other)
	assert.Same(t, key, shared.Spec.Key)
	assert.Same(t, door, shared.Spec.Door)
	assert.Same(t, lock, door.Lock)
	assert.Same(t, note, shared.Status.Note)

	// R7: no deep copy; what holds no sensitive field is shared still.
	assert.Same(t, &shared.Spec.Owners[0], &redacted.Spec.Owners[0])
	// Nor does a change through the redacted copy reach the shared one.
	redacted.Spec.Door.Lock.Make, redacted.Spec.Key.Hint = "changed", "changed"
	assert.Equal(t, before, shared)
}

// R7: a redacted item of a list costs no more than the structs on the paths to
// its values: two for a Vault with a key and a note, four with a door and its
// lock beside.
func TestR7Allocations(t *testing.T) {
	for name, test := range map[string]struct {
		vault *Vault
		most  float64
	}{
		"two values, one struct away each": {&Vault{Spec: VaultSpec{Key: &VaultKey{Secret: keyCanary}}, Status: VaultStatus{Note: &VaultNote{Token: noteCanary}}}, 2},
		"one of them two structs away":     {newVault("a"), 4},
		"no value":                         {&Vault{Spec: VaultSpec{Key: &VaultKey{}}, Status: VaultStatus{Note: &VaultNote{}}}, 0},
		"no place for one":                 {&Vault{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			const items = 500
			list := &VaultList{Items: make([]Vault, items)}
			perList := testing.AllocsPerRun(20, func() {
				for i := range list.Items {
					list.Items[i] = *test.vault
				}
				_, err := redactAny(list)
				require.NoError(t, err)
			})
			// A handful a list, for its iteration, is not per item.
			assert.LessOrEqual(t, perList, items*test.most+20, "allocations for a list of %d", items)
		})
	}
}

// R5: whatever a store hands out is redacted, or is refused: nothing passes for
// not being known.
func TestR5RedactAny(t *testing.T) {
	status := &metav1.Status{Status: metav1.StatusSuccess, Details: &metav1.StatusDetails{Name: "a"}}
	for name, test := range map[string]struct {
		in, want runtime.Object
	}{
		"nothing":      {nil, nil},
		"an object":    {newVault("a"), redactedVault("a")},
		"a list":       {&VaultList{Items: []Vault{*newVault("a"), *newVault("b")}}, &VaultList{Items: []Vault{*redactedVault("a"), *redactedVault("b")}}},
		"no items":     {&VaultList{Items: []Vault{}}, &VaultList{Items: []Vault{}}},
		"nil items":    {&VaultList{}, &VaultList{}},
		"a Status":     {status.DeepCopy(), status},
		"a typed list": {&metav1.List{Items: nil}, &metav1.List{Items: nil}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := redactAny(test.in)
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
	for name, in := range map[string]runtime.Object{
		"an object that names no fields": &Plain{Value: keyCanary},
		"a list of such objects":         &PlainList{Items: []Plain{{Value: keyCanary}}},
		"an unstructured object":         &unstructured.Unstructured{Object: map[string]any{"spec": keyCanary}},
		"an unstructured list":           &unstructured.UnstructuredList{Items: []unstructured.Unstructured{{Object: map[string]any{"spec": keyCanary}}}},
		"a list of raw objects":          &metav1.List{Items: []runtime.RawExtension{{Object: &Plain{Value: keyCanary}}, {Raw: []byte(keyCanary)}}},
		"an encoded object":              &runtime.Unknown{Raw: []byte(keyCanary)},
		"a Table":                        &metav1.Table{Rows: []metav1.TableRow{{Cells: []any{keyCanary}}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := redactAny(in)
			require.Error(t, err)
			assert.Nil(t, got, "half a redacted list is not an answer")
			assertNoCanary(t, err.Error())
		})
	}
}

// R7: the items of a list may be pointers, which are then shared with the cache.
type pointerList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []*Vault
}

func (l *pointerList) DeepCopyObject() runtime.Object { panic("not called") }

func TestR7ListOfPointers(t *testing.T) {
	item := newVault("a")
	got, err := redactAny(&pointerList{Items: []*Vault{item}})
	if err == nil {
		assert.Equal(t, redactedVault("a"), got.(*pointerList).Items[0])
	}
	assert.Equal(t, newVault("a"), item, "R7: the object of the cache is as it was")
}

// R11: a placeholder that nothing stands behind is reported, by its path only.
func TestR11Validate(t *testing.T) {
	assert.Empty(t, Validate(&Vault{}))
	assert.Empty(t, Validate(newVault("a")))
	// The placeholder is one spelling, and data in any other field.
	assert.Empty(t, Validate(&Vault{
		ObjectMeta: metav1.ObjectMeta{Name: Placeholder, Annotations: map[string]string{"a": Placeholder}},
		Spec:       VaultSpec{Label: Placeholder, Key: &VaultKey{Secret: Placeholder + " ", Hint: Placeholder}},
	}))

	v := redactedVault("a")
	v.Spec.Door.Lock.Code = codeCanary
	errs := Validate(v)
	require.Len(t, errs, 2)
	assert.Equal(t, []string{keyPath, notePath}, []string{errs[0].Field, errs[1].Field})
	for _, err := range errs {
		assert.Equal(t, field.ErrorTypeInvalid, err.Type)
		assertNoCanary(t, err.Error())
		assert.NotContains(t, err.Error(), Placeholder, "it says what is wrong, not what was written")
	}
}

// R14, R15: what somebody wrote is looked for elsewhere; the placeholder is
// nothing that somebody wrote.
func TestSubmittedValues(t *testing.T) {
	assert.Empty(t, submittedValues(&Vault{}))
	assert.Empty(t, submittedValues(redactedVault("a")))
	values := submittedValues(newVault("a"))
	slices.Sort(values)
	assert.Equal(t, []string{codeCanary, keyCanary, noteCanary}, values)
}

// The type of these tests keeps the contract of SensitiveField: what it writes
// through is its own.
func TestSensitiveFieldWritesToCopies(t *testing.T) {
	for i, path := range Fields(&Vault{}) {
		shared := newVault("a")
		before := shared.DeepCopyObject()
		own := *shared
		set(&own, i, "new")
		assert.Equal(t, before, shared, path)
		assert.Equal(t, "new", get(&own, i), path)

		empty := &Vault{}
		assert.Empty(t, get(empty, i), path)
		set(empty, i, "new")
		assert.Equal(t, "new", get(empty, i), path)
	}
}
