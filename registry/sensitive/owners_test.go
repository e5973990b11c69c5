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
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

func entry(manager string, operation metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: operation, APIVersion: "vault.test/v1", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(fields),
	}
}

func at(e metav1.ManagedFieldsEntry, minute int) metav1.ManagedFieldsEntry {
	e.Time = ptrTo(metav1.NewTime(time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)))
	return e
}

func on(subresource string, e metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
	e.Subresource = subresource
	return e
}

func managed(entries ...metav1.ManagedFieldsEntry) *Vault {
	return &Vault{ObjectMeta: metav1.ObjectMeta{ManagedFields: entries}}
}

const (
	secretField  = `{"f:spec":{"f:key":{"f:secret":{}}}}`
	labelField   = `{"f:spec":{"f:label":{}}}`
	secretLabel  = `{"f:spec":{"f:key":{"f:secret":{}},"f:label":{}}}`
	codeField    = `{"f:spec":{"f:door":{"f:lock":{"f:code":{}}}}}`
	secretCode   = `{"f:spec":{"f:door":{"f:lock":{"f:code":{}}},"f:key":{"f:secret":{}}}}`
	keyAndSecret = `{"f:spec":{"f:key":{".":{},"f:secret":{}}}}`
	keyAlone     = `{"f:spec":{"f:key":{}}}`
)

// R11: the owners of a field whose value was put back are those that it had.
func TestR11RestoreOwners(t *testing.T) {
	const update, apply = metav1.ManagedFieldsOperationUpdate, metav1.ManagedFieldsOperationApply
	for name, test := range map[string]struct {
		before, after, want []metav1.ManagedFieldsEntry
		paths               []string
	}{
		"nothing was put back": {
			[]metav1.ManagedFieldsEntry{entry("a", update, secretField)},
			[]metav1.ManagedFieldsEntry{entry("b", update, secretField)},
			[]metav1.ManagedFieldsEntry{entry("b", update, secretField)},
			nil,
		},
		"nothing changed": {
			[]metav1.ManagedFieldsEntry{entry("a", update, secretField)},
			[]metav1.ManagedFieldsEntry{entry("a", update, secretField)},
			[]metav1.ManagedFieldsEntry{entry("a", update, secretField)},
			[]string{keyPath},
		},
		"an echo makes no owner": {
			[]metav1.ManagedFieldsEntry{entry("a", update, secretLabel)},
			[]metav1.ManagedFieldsEntry{entry("a", update, secretLabel), entry("b", apply, secretField)},
			[]metav1.ManagedFieldsEntry{entry("a", update, secretLabel)},
			[]string{keyPath},
		},
		"an echo beside a change makes an owner of the change": {
			[]metav1.ManagedFieldsEntry{entry("a", update, secretField)},
			[]metav1.ManagedFieldsEntry{entry("a", update, secretField), entry("b", apply, secretLabel)},
			[]metav1.ManagedFieldsEntry{entry("a", update, secretField), entry("b", apply, labelField)},
			[]string{keyPath},
		},
		"the struct around the value is owned as any field": {
			[]metav1.ManagedFieldsEntry{entry("a", update, secretField)},
			[]metav1.ManagedFieldsEntry{entry("a", update, secretField), entry("b", apply, keyAndSecret)},
			[]metav1.ManagedFieldsEntry{entry("a", update, secretField), entry("b", apply, keyAlone)},
			[]string{keyPath},
		},
		"an owner that was ousted comes back": {
			[]metav1.ManagedFieldsEntry{entry("a", update, secretField), entry("b", update, labelField)},
			[]metav1.ManagedFieldsEntry{entry("b", update, secretLabel)},
			[]metav1.ManagedFieldsEntry{entry("a", update, secretField), entry("b", update, labelField)},
			[]string{keyPath},
		},
		"two owners stay two": {
			[]metav1.ManagedFieldsEntry{entry("a", apply, secretField), entry("b", apply, secretLabel)},
			[]metav1.ManagedFieldsEntry{entry("b", apply, labelField), entry("c", update, secretField)},
			[]metav1.ManagedFieldsEntry{entry("a", apply, secretField), entry("b", apply, secretLabel)},
			[]string{keyPath},
		},
		"the same name is another manager by operation and by subresource": {
			[]metav1.ManagedFieldsEntry{entry("a", apply, secretField)},
			[]metav1.ManagedFieldsEntry{entry("a", apply, secretField), entry("a", update, secretLabel), on("sensitive", entry("a", update, secretField))},
			[]metav1.ManagedFieldsEntry{entry("a", apply, secretField), entry("a", update, labelField)},
			[]string{keyPath},
		},
		"nobody owned it, nobody does": {
			nil,
			[]metav1.ManagedFieldsEntry{entry("b", update, secretLabel)},
			[]metav1.ManagedFieldsEntry{entry("b", update, labelField)},
			[]string{keyPath},
		},
		"one field of two": {
			[]metav1.ManagedFieldsEntry{entry("a", update, secretCode)},
			[]metav1.ManagedFieldsEntry{entry("b", update, secretCode)},
			[]metav1.ManagedFieldsEntry{entry("b", update, codeField), entry("a", update, secretField)},
			[]string{keyPath},
		},
		"two fields": {
			[]metav1.ManagedFieldsEntry{entry("a", update, secretCode)},
			[]metav1.ManagedFieldsEntry{entry("b", update, secretCode)},
			[]metav1.ManagedFieldsEntry{entry("a", update, secretCode)},
			[]string{keyPath, codePath},
		},
		"what was ousted of another field stays so": {
			[]metav1.ManagedFieldsEntry{entry("a", update, secretLabel)},
			[]metav1.ManagedFieldsEntry{entry("b", update, secretLabel)},
			[]metav1.ManagedFieldsEntry{entry("b", update, labelField), entry("a", update, secretField)},
			[]string{keyPath},
		},
		"managers were reset": {
			[]metav1.ManagedFieldsEntry{entry("a", update, secretLabel)},
			nil,
			[]metav1.ManagedFieldsEntry{entry("a", update, secretField)},
			[]string{keyPath},
		},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := managed(test.before...), managed(test.after...)
			unchanged := managed(test.before...).DeepCopyObject()
			restoreOwners(after, before, test.paths)
			assert.Equal(t, test.want, after.ManagedFields)
			assert.Equal(t, unchanged, before)

			// Again with what came out: there is nothing left to do.
			again := after.DeepCopyObject().(*Vault)
			restoreOwners(again, before, test.paths)
			assert.Equal(t, after.ManagedFields, again.ManagedFields)
		})
	}
}

// R11: a write that changed nothing but who wrote last, is seen as none by the
// store, which compares the entries one by one and leaves their times as they
// were. So their order is kept, and the encoding of what they own.
func TestR11RestoredOwnersAreNoChange(t *testing.T) {
	const update = metav1.ManagedFieldsOperationUpdate
	before := managed(at(entry("a", update, secretField), 1), at(entry("b", update, labelField), 2), at(entry("c", update, codeField), 3))
	for name, entries := range map[string][]metav1.ManagedFieldsEntry{
		"b wrote the value":    {at(entry("c", update, codeField), 3), at(entry("b", update, secretLabel), 9)},
		"a wrote it":           {at(entry("b", update, labelField), 2), at(entry("c", update, codeField), 3), at(entry("a", update, secretField), 9)},
		"a new one wrote it":   {at(entry("b", update, labelField), 2), at(entry("c", update, codeField), 3), at(entry("d", update, secretField), 9)},
		"another order of all": {at(entry("d", update, secretField), 9), at(entry("c", update, codeField), 3), at(entry("b", update, labelField), 2)},
	} {
		t.Run(name, func(t *testing.T) {
			after := managed(entries...)
			restoreOwners(after, before, []string{keyPath})
			out, err := fieldmanager.IgnoreManagedFieldsTimestampsTransformer(t.Context(), after, before)
			require.NoError(t, err)
			assert.Equal(t, before.ManagedFields, out.(*Vault).ManagedFields)
		})
	}
}

// Entries that hold no fields, or something that is no field set, break nothing.
func TestRestoreOwnersOfOddEntries(t *testing.T) {
	const update = metav1.ManagedFieldsOperationUpdate
	none := entry("none", update, "")
	none.FieldsV1 = nil
	for name, odd := range map[string]metav1.ManagedFieldsEntry{
		"no fields": none, "nothing": entry("x", update, ``), "not JSON": entry("x", update, `{{`), "not a field set": entry("x", update, `{"spec":1}`), "null": entry("x", update, `null`),
	} {
		t.Run(name, func(t *testing.T) {
			before := managed(odd, entry("a", update, secretField))
			after := managed(odd, entry("b", update, secretField))
			restoreOwners(after, before, []string{keyPath})
			assert.Contains(t, after.ManagedFields, entry("a", update, secretField))
			assert.NotContains(t, after.ManagedFields, entry("b", update, secretField))
		})
	}
}

// R11: through the handlers. An owner keeps what it owns when others write, with
// or without the right, and an apply of the value by who may see it makes an owner.
func TestR11Owners(t *testing.T) {
	a := newAPI(t)
	owners := func(v *Vault) (out []string) {
		for _, e := range v.ManagedFields {
			if owns(e, fieldPathOf(keyPath)) {
				out = append(out, e.Manager+" "+string(e.Operation))
			}
		}
		return out
	}
	steps := func(t *testing.T, calls ...call) *Vault {
		t.Helper()
		t.Cleanup(func() { a.clear(t) })
		for _, c := range calls {
			got := a.do(t, c)
			require.Less(t, got.code, 300, got.body)
		}
		return a.stored(t, "one")
	}
	creation := call{user: writer, method: http.MethodPatch, path: "/one?fieldManager=owner", contentType: applyPatch, body: manifest("one", keyCanary)}
	apply := func(user, manager, secret string) call {
		return call{user: user, method: http.MethodPatch, path: "/one?force=true&fieldManager=" + manager, contentType: applyPatch, body: `{"apiVersion":"vault.test/v1","kind":"Vault","spec":{"key":{"secret":"` + secret + `"}}}`}
	}
	merge := func(user, manager, secret string) call {
		return call{user: user, method: http.MethodPatch, path: "/one?fieldManager=" + manager, contentType: mergePatch, body: `{"spec":{"label":"new","key":{"secret":"` + secret + `"}}}`}
	}
	t.Run("an echo beside a change", func(t *testing.T) {
		assert.Equal(t, []string{"owner Apply"}, owners(steps(t, creation, merge(writer, "other", Placeholder), merge(reader, "third", Placeholder), merge(reader, "fourth", keyCanary))))
	})
	t.Run("an applied echo", func(t *testing.T) {
		assert.Equal(t, []string{"owner Apply"}, owners(steps(t, creation, apply(writer, "other", Placeholder), apply(reader, "third", Placeholder))))
	})
	t.Run("an apply of the value by who may see it", func(t *testing.T) {
		assert.ElementsMatch(t, []string{"other Apply"}, owners(steps(t, creation, apply(reader, "other", keyCanary))))
	})
	t.Run("a new value", func(t *testing.T) {
		assert.Equal(t, []string{"other Update"}, owners(steps(t, creation, merge(writer, "other", "brand new value"))))
	})
	t.Run("an owner that echoes stays one, and may give up", func(t *testing.T) {
		echo := apply(writer, "owner", Placeholder)
		v := steps(t, creation, echo, echo)
		assert.Equal(t, []string{"owner Apply"}, owners(v))
		assert.Equal(t, keyCanary, v.Spec.Key.Secret)
		echo.body = `{"apiVersion":"vault.test/v1","kind":"Vault","spec":{"label":"mine"}}`
		require.Equal(t, http.StatusOK, a.do(t, echo).code)
		assert.Nil(t, a.stored(t, "one").Spec.Key, "R12")
	})
}

func fieldPathOf(path string) fieldpath.Path {
	return fieldpath.MakePathOrDie(toAny(strings.Split(path, "."))...)
}

// R11: through the handlers, with entries of different times: whoever may see the
// value and writes it as it is makes no new version, be he its owner or not.
func TestR11ValueAsItIsByAnyManager(t *testing.T) {
	const update = metav1.ManagedFieldsOperationUpdate
	a := newAPI(t)
	for _, manager := range []string{"a", "b", "c", "d"} {
		for _, endpoint := range []string{"", "/sensitive"} {
			t.Run(manager+" on "+endpoint, func(t *testing.T) {
				v := newVault("one")
				v.ManagedFields = []metav1.ManagedFieldsEntry{at(entry("a", update, secretField), 1), at(entry("b", update, labelField), 2), at(entry("c", update, codeField), 3)}
				before := a.add(t, v)
				t.Cleanup(func() { a.clear(t) })
				got := a.do(t, call{user: reader, method: http.MethodPatch, path: "/one" + endpoint + "?fieldManager=" + manager, contentType: mergePatch, body: `{"spec":{"key":{"secret":"` + keyCanary + `"}}}`})
				require.Equal(t, http.StatusOK, got.code, got.body)
				after := a.stored(t, "one")
				assert.Equal(t, before.ResourceVersion, after.ResourceVersion)
				assert.Equal(t, before.ManagedFields, after.ManagedFields)
			})
		}
	}
}
