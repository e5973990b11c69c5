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
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// computed is what computes a new object: a patch, a replacement, admission.
type computed struct {
	do            func(base *Vault) (runtime.Object, error)
	seen          []*Vault // copies of what it was given
	preconditions *metav1.Preconditions
}

func (c *computed) Preconditions() *metav1.Preconditions { return c.preconditions }

func (c *computed) UpdatedObject(_ context.Context, old runtime.Object) (runtime.Object, error) {
	c.seen = append(c.seen, old.DeepCopyObject().(*Vault))
	return c.do(old.(*Vault))
}

// edit is a computation on a copy.
func edit(change func(v *Vault)) *computed {
	return &computed{do: func(base *Vault) (runtime.Object, error) {
		v := base.DeepCopyObject().(*Vault)
		change(v)
		return v, nil
	}}
}

func storedVault(name string) *Vault {
	v := newVault(name)
	v.UID, v.ResourceVersion = "uid", "5"
	return v
}

func redactedStored(name string) *Vault {
	v := redactedVault(name)
	v.UID, v.ResourceVersion = "uid", "5"
	return v
}

// R10, R11, R12: what a write sees, and what it makes.
func TestR10WritesAreComputedOnThePlaceholder(t *testing.T) {
	type outcome struct{ key, code, note string }
	kept := outcome{keyCanary, codeCanary, noteCanary}
	for name, test := range map[string]struct {
		change func(v *Vault)
		want   outcome
	}{
		"nothing":                 {func(*Vault) {}, kept},
		"another field":           {func(v *Vault) { v.Spec.Label = "new" }, kept},
		"a neighbour":             {func(v *Vault) { v.Spec.Key.Hint, v.Spec.Door.Lock.Make = "new", "new" }, kept},
		"a new value":             {func(v *Vault) { v.Spec.Key.Secret = "brand new value" }, outcome{"brand new value", codeCanary, noteCanary}},
		"the value that is there": {func(v *Vault) { v.Spec.Key.Secret = keyCanary }, kept},
		"all three":               {func(v *Vault) { v.Spec.Key.Secret, v.Spec.Door.Lock.Code, v.Status.Note.Token = "a", "b", "c" }, outcome{"a", "b", "c"}},
		"an empty value":          {func(v *Vault) { v.Spec.Key.Secret = "" }, outcome{"", codeCanary, noteCanary}},
		"the struct is left out":  {func(v *Vault) { v.Spec.Door.Lock = nil }, outcome{keyCanary, "", noteCanary}},
		"the way is left out":     {func(v *Vault) { v.Spec.Door = nil }, outcome{keyCanary, "", noteCanary}},
		"all is left out":         {func(v *Vault) { v.Spec, v.Status = VaultSpec{}, VaultStatus{} }, outcome{}},
		// R11: the placeholder has one spelling.
		"nearly the placeholder": {func(v *Vault) { v.Spec.Key.Secret = Placeholder + "x" }, outcome{Placeholder + "x", codeCanary, noteCanary}},
		"two swapped values":     {func(v *Vault) { v.Spec.Key.Secret, v.Spec.Door.Lock.Code = v.Spec.Door.Lock.Code, v.Spec.Key.Secret }, kept},
	} {
		for _, allowed := range []bool{true, false} {
			for _, apply := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, allowed %v, apply %v", name, allowed, apply), func(t *testing.T) {
					existing := storedVault("one")
					inner := edit(test.change)
					w := &write{UpdatedObjectInfo: inner, kind: vaultKind, name: "one", allowed: allowed, apply: apply}
					out, err := w.UpdatedObject(t.Context(), existing)
					require.NoError(t, err)
					assert.Equal(t, []*Vault{redactedStored("one")}, inner.seen, "R10: also for the holder of the right")
					assert.Equal(t, storedVault("one"), existing, "R7: what is stored is never changed")
					got := out.(*Vault)
					assert.Equal(t, test.want, outcome{get(got, 0), get(got, 1), get(got, 2)})

					// The same fields but the sensitive ones are what was computed.
					want := redactedStored("one")
					test.change(want)
					assert.Equal(t, want.Spec.Label, got.Spec.Label)
					assert.Equal(t, want.Spec.Key == nil, got.Spec.Key == nil)

					// Called again, after another write came first, it does the same.
					again, err := w.UpdatedObject(t.Context(), storedVault("one"))
					require.NoError(t, err)
					assert.Equal(t, out, again)
				})
			}
		}
	}
}

// R10: another attempt works with what is stored by then.
func TestR10NothingIsKeptBetweenAttempts(t *testing.T) {
	w := &write{UpdatedObjectInfo: edit(func(v *Vault) { v.Spec.Label = "new" }), kind: vaultKind}
	_, err := w.UpdatedObject(t.Context(), storedVault("one"))
	require.NoError(t, err)
	later := storedVault("one")
	later.Spec.Key.Secret, later.Spec.Door.Lock = "a later value", nil
	out, err := w.UpdatedObject(t.Context(), later)
	require.NoError(t, err)
	assert.Equal(t, "a later value", out.(*Vault).Spec.Key.Secret)
	assert.Nil(t, out.(*Vault).Spec.Door.Lock)
}

// R11: a placeholder stays where nothing is stored, for validation to refuse. R6:
// a place without a value is not shown as one with a value.
func TestR11NothingStored(t *testing.T) {
	existing := storedVault("one")
	existing.Spec.Key, existing.Spec.Door.Lock.Code = nil, ""
	inner := edit(func(v *Vault) {
		v.Spec.Key = &VaultKey{Secret: Placeholder}
		v.Spec.Door.Lock.Code = Placeholder
	})
	out, err := (&write{UpdatedObjectInfo: inner, kind: vaultKind}).UpdatedObject(t.Context(), existing)
	require.NoError(t, err)
	assert.Nil(t, inner.seen[0].Spec.Key)
	assert.Empty(t, inner.seen[0].Spec.Door.Lock.Code)
	errs := Validate(out.(*Vault))
	require.Len(t, errs, 2)
	assert.Equal(t, []string{keyPath, codePath}, []string{errs[0].Field, errs[1].Field})
}

// R11: on create by apply there is nothing that a placeholder could stand for.
func TestR11CreateByApply(t *testing.T) {
	inner := edit(func(v *Vault) { *v = *redactedVault("one") })
	out, err := (&write{UpdatedObjectInfo: inner, kind: vaultKind, apply: true}).UpdatedObject(t.Context(), &Vault{})
	require.NoError(t, err)
	assert.Len(t, Validate(out.(*Vault)), 3)
}

// R10: who may see the value through /sensitive also computes with it there.
func TestR10OnReal(t *testing.T) {
	existing := storedVault("one")
	inner := edit(func(v *Vault) { v.Spec.Key.Secret += "!" })
	out, err := (&write{UpdatedObjectInfo: inner, kind: vaultKind, allowed: true, onReal: true}).UpdatedObject(t.Context(), existing)
	require.NoError(t, err)
	assert.Equal(t, []*Vault{storedVault("one")}, inner.seen)
	assert.Equal(t, keyCanary+"!", out.(*Vault).Spec.Key.Secret)
	assert.Equal(t, storedVault("one"), existing)
}

// R7: an inner computation that changes nothing may answer with what it was
// given; and one may share parts of it. What is stored stays as it is.
func TestR7ComputationsThatShareTheirBase(t *testing.T) {
	annotations := map[string]string{"tool": "copy of " + keyCanary, corev1.LastAppliedConfigAnnotation: `{"spec":{"key":{"secret":"old"}}}`}
	// The library leaves no entry without fields; one that is there is no reason to
	// change what is stored.
	managers := []metav1.ManagedFieldsEntry{entry("none", "Update", `{}`), entry("ann", "Update", `{"f:spec":{"f:key":{"f:secret":{}}}}`)}
	for name, do := range map[string]func(base *Vault) (runtime.Object, error){
		"the base":       func(base *Vault) (runtime.Object, error) { return base, nil },
		"a shallow copy": func(base *Vault) (runtime.Object, error) { v := *base; return &v, nil },
		"with a new value": func(base *Vault) (runtime.Object, error) {
			v := *base
			v.Spec.Key = &VaultKey{Secret: keyCanary}
			return &v, nil
		},
		"with the managers in another order": func(base *Vault) (runtime.Object, error) {
			v := *base
			v.ManagedFields = append([]metav1.ManagedFieldsEntry{entry("bob", "Update", `{"f:spec":{"f:key":{"f:secret":{}}}}`)}, base.ManagedFields...)
			return &v, nil
		},
	} {
		for _, onReal := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, on the values %v", name, onReal), func(t *testing.T) {
				build := func() *Vault {
					v := storedVault("one")
					v.Annotations = map[string]string{}
					for key, value := range annotations {
						v.Annotations[key] = value
					}
					v.ManagedFields = append([]metav1.ManagedFieldsEntry(nil), managers...)
					return v
				}
				existing := build()
				out, err := (&write{UpdatedObjectInfo: &computed{do: do}, kind: vaultKind, allowed: true, onReal: onReal}).UpdatedObject(t.Context(), existing)
				require.NoError(t, err)
				assert.Equal(t, build(), existing)
				assert.NotSame(t, existing, out)
				assert.Equal(t, keyCanary, out.(*Vault).Spec.Key.Secret)
				assert.Equal(t, `{"spec":{"key":{"secret":"<omitted>"}}}`, unescaped(out.(*Vault).Annotations[corev1.LastAppliedConfigAnnotation]), "R14")
			})
		}
	}
}

func unescaped(text string) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(text)
}

// R10: a computation that copies a sensitive field to another place carries the
// placeholder away.
func TestR10CopiedFieldIsThePlaceholder(t *testing.T) {
	inner := edit(func(v *Vault) { v.Annotations = map[string]string{"copy": v.Spec.Key.Secret} })
	out, err := (&write{UpdatedObjectInfo: inner, kind: vaultKind, allowed: true}).UpdatedObject(t.Context(), storedVault("one"))
	require.NoError(t, err)
	assert.Equal(t, Placeholder, out.(*Vault).Annotations["copy"])
}

// R14: annotations of what is to be stored are scrubbed of submitted values, and
// are not compared with the stored ones.
func TestR14OnUpdate(t *testing.T) {
	inner := edit(func(v *Vault) {
		v.Spec.Key.Secret = "brand new value"
		v.Annotations = map[string]string{"new": "is brand new value.", "guess": keyCanary}
	})
	out, err := (&write{UpdatedObjectInfo: inner, kind: vaultKind}).UpdatedObject(t.Context(), storedVault("one"))
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"new": "is <omitted>.", "guess": keyCanary}, out.(*Vault).Annotations, "a right guess is no more replaced than a wrong one")
}

// G2, R10: which values were written by somebody who cannot see the stored ones; a right one
// is one as much as a wrong one.
func TestR10WrittenUnseen(t *testing.T) {
	for name, test := range map[string]struct {
		change func(v *Vault)
		want   []string
	}{
		"nothing":                 {func(*Vault) {}, nil},
		"the placeholder":         {func(v *Vault) { v.Spec.Key.Secret = Placeholder }, nil},
		"an empty value":          {func(v *Vault) { v.Spec.Key.Secret = "" }, nil},
		"no place for a value":    {func(v *Vault) { v.Spec.Door = nil }, nil},
		"a new value":             {func(v *Vault) { v.Spec.Key.Secret = "new" }, []string{keyPath}},
		"the value that is there": {func(v *Vault) { v.Spec.Key.Secret = keyCanary }, []string{keyPath}},
		"all three":               {func(v *Vault) { v.Spec.Key.Secret, v.Spec.Door.Lock.Code, v.Status.Note.Token = "a", "b", "c" }, []string{keyPath, codePath, notePath}},
	} {
		for _, allowed := range []bool{false, true} {
			w := &write{UpdatedObjectInfo: edit(test.change), kind: vaultKind, allowed: allowed, onReal: allowed}
			_, err := w.UpdatedObject(t.Context(), storedVault("one"))
			require.NoError(t, err)
			if allowed {
				assert.Empty(t, WrittenUnseen(w), name)
				continue
			}
			assert.Equal(t, test.want, WrittenUnseen(w), name)
		}
	}
	// Only the last attempt counts.
	value := "new"
	w := &write{UpdatedObjectInfo: edit(func(v *Vault) { v.Spec.Key.Secret = value }), kind: vaultKind}
	for _, next := range []string{Placeholder, "other"} {
		_, err := w.UpdatedObject(t.Context(), storedVault("one"))
		require.NoError(t, err)
		assert.Equal(t, value != Placeholder, len(WrittenUnseen(w)) > 0)
		value = next
	}
	assert.Empty(t, WrittenUnseen(edit(func(*Vault) {})), "what does not come from here has written nothing unseen")
}

// Preconditions are those of the inner computation.
func TestWritePreconditions(t *testing.T) {
	uid := types.UID("uid")
	inner := &computed{preconditions: &metav1.Preconditions{UID: &uid}}
	assert.Same(t, inner.preconditions, (&write{UpdatedObjectInfo: inner}).Preconditions())
}

// R5: objects that name no sensitive fields are refused on the way in as well.
func TestWriteOfOtherTypes(t *testing.T) {
	_, err := (&write{UpdatedObjectInfo: edit(func(*Vault) {})}).UpdatedObject(t.Context(), &Plain{Value: keyCanary})
	assert.True(t, apierrors.IsInternalError(err))
	assertNoCanary(t, err.Error())
	_, err = (&write{UpdatedObjectInfo: &computed{do: func(*Vault) (runtime.Object, error) { return &Plain{Value: keyCanary}, nil }}}).UpdatedObject(t.Context(), storedVault("one"))
	assert.True(t, apierrors.IsInternalError(err))
	assertNoCanary(t, err.Error())
}

// R10: errors of the computation are rewritten.
func TestR10ErrorsOfTheComputation(t *testing.T) {
	inner := &computed{do: func(*Vault) (runtime.Object, error) {
		return nil, fmt.Errorf("could not understand %q", keyCanary)
	}}
	out, err := (&write{UpdatedObjectInfo: inner, kind: vaultKind, name: "one"}).UpdatedObject(t.Context(), storedVault("one"))
	assert.Nil(t, out)
	assert.True(t, apierrors.IsInvalid(err), "%v", err)
	assertNoCanary(t, err.Error())
}

// R15: a panic of the computation, over a patch that makes no sense, says nothing of
// the values: not in the answer and not in the logs.
func TestR15PanicOfTheComputation(t *testing.T) {
	log := captureLogs(t)
	panics := func(with any) *write {
		return &write{UpdatedObjectInfo: &computed{do: func(*Vault) (runtime.Object, error) { panic(with) }}, kind: vaultKind, name: "one"}
	}
	for _, with := range []any{"could not take " + keyCanary, errors.New(keyCanary), newVault("one"), 42} {
		out, err := panics(with).UpdatedObject(t.Context(), storedVault("one"))
		assert.Nil(t, out)
		assert.True(t, apierrors.IsBadRequest(err), "%v", err)
		assertNoCanary(t, fmt.Sprintf("%v %+v", err, err))
		text := log.take()
		assert.Contains(t, text, "write_test.go", "where it happened is logged")
		assertNoCanary(t, text)
	}
	assert.PanicsWithValue(t, http.ErrAbortHandler, func() {
		_, _ = panics(http.ErrAbortHandler).UpdatedObject(t.Context(), storedVault("one"))
	})
}

// The rest goes through the library's handlers and a real store.

// same compares what a write left behind.
func (a *api) unchanged(t *testing.T, before *Vault) {
	t.Helper()
	after := a.stored(t, before.Name)
	assert.Equal(t, before.ResourceVersion, after.ResourceVersion, "R11: no write")
	assert.Equal(t, before, after)
}

// create makes a Vault through the handlers, by a caller who may see it.
func (a *api) create(t *testing.T, manager string, v *Vault) *Vault {
	t.Helper()
	body, err := runtime.Encode(vaultCodecs.LegacyCodec(vaultGV), v)
	require.NoError(t, err)
	got := a.do(t, call{user: reader, method: http.MethodPost, path: "?fieldManager=" + manager, contentType: "application/json", body: string(body)})
	require.Equal(t, http.StatusCreated, got.code, got.body)
	a.calls()
	return a.stored(t, v.Name)
}

var patchBodies = map[string]string{
	jsonPatch:      `[{"op":"add","path":"/spec/key/secret","value":"VALUE"}]`,
	mergePatch:     `{"spec":{"key":{"secret":"VALUE"}}}`,
	strategicPatch: `{"spec":{"key":{"secret":"VALUE"}}}`,
	applyPatch:     `{"apiVersion":"vault.test/v1","kind":"Vault","spec":{"key":{"secret":"VALUE"}}}`,
}

// R11: the placeholder written back by any verb, on any endpoint, by anybody, is
// no change: no new resourceVersion, no new owner.
func TestR11EchoIsNoChange(t *testing.T) {
	a := newAPI(t)
	for _, caller := range []string{reader, writer} {
		for _, endpoint := range []string{"", "/status", "/sensitive"} {
			t.Run("PUT "+endpoint+" by "+caller, func(t *testing.T) {
				before := a.create(t, "creator", newVault("one"))
				t.Cleanup(func() { a.clear(t) })
				read := a.do(t, call{user: writer, path: "/one"})
				got := a.do(t, call{user: caller, method: http.MethodPut, path: "/one" + endpoint, contentType: "application/json", body: read.body})
				require.Equal(t, http.StatusOK, got.code, got.body)
				a.unchanged(t, before)
			})
			for patch, body := range patchBodies {
				t.Run(patch+" "+endpoint+" by "+caller, func(t *testing.T) {
					before := a.create(t, "creator", newVault("one"))
					t.Cleanup(func() { a.clear(t) })
					got := a.do(t, call{user: caller, method: http.MethodPatch, path: "/one" + endpoint + "?fieldManager=echo", contentType: patch, body: strings.ReplaceAll(body, "VALUE", Placeholder)})
					require.Equal(t, http.StatusOK, got.code, got.body)
					after := a.stored(t, "one")
					assert.Equal(t, before.Spec, after.Spec)
					assert.Equal(t, before.Status, after.Status)
					for _, e := range after.ManagedFields {
						if e.Manager == "echo" {
							assert.NotContains(t, e.FieldsV1.GetRawString(), "f:secret", "an echo owns nothing")
						}
					}
					if patch != applyPatch { // an apply leaves an entry of what else it holds
						a.unchanged(t, before)
					}
				})
			}
		}
	}
}

// R11: an apply on /sensitive by who may see the values may hold the placeholder in
// one field and a value in another: each means what it means alone.
func TestR11AppliedEchoBesideAValue(t *testing.T) {
	a := newAPI(t)
	for name, test := range map[string]struct{ body, key, code string }{
		"a new value beside an echo": {`"key":{"secret":"<omitted>"},"door":{"lock":{"code":"brand new code"}}`, keyCanary, "brand new code"},
		"the value beside an echo":   {`"key":{"secret":"<omitted>"},"door":{"lock":{"code":"` + codeCanary + `"}}`, keyCanary, codeCanary},
		"two echoes":                 {`"key":{"secret":"<omitted>"},"door":{"lock":{"code":"<omitted>"}}`, keyCanary, codeCanary},
		"the values":                 {`"key":{"secret":"` + keyCanary + `"},"door":{"lock":{"code":"` + codeCanary + `"}}`, keyCanary, codeCanary},
	} {
		t.Run(name, func(t *testing.T) {
			one := newVault("one")
			one.ManagedFields = []metav1.ManagedFieldsEntry{entry("creator", "Update", secretLabel), on("sensitive", entry("applier", "Apply", codeField))}
			before := a.add(t, one)
			t.Cleanup(func() { a.clear(t) })
			got := a.do(t, call{
				user: reader, method: http.MethodPatch, path: "/one/sensitive?fieldManager=applier", contentType: applyPatch,
				body: `{"apiVersion":"vault.test/v1","kind":"Vault","spec":{` + test.body + `}}`,
			})
			require.Equal(t, http.StatusOK, got.code, got.body)
			after := a.stored(t, "one")
			assert.Equal(t, test.key, after.Spec.Key.Secret)
			assert.Equal(t, test.code, after.Spec.Door.Lock.Code)
			assert.Equal(t, before.Spec.Key.Hint, after.Spec.Key.Hint)
		})
	}
}

// R11: whoever may read the value and writes it as it is, changes nothing either.
func TestR11ValueAsItIs(t *testing.T) {
	a := newAPI(t)
	for _, endpoint := range []string{"", "/sensitive"} {
		for patch, body := range patchBodies {
			if patch == applyPatch {
				continue
			}
			t.Run(patch+" "+endpoint, func(t *testing.T) {
				before := a.create(t, "creator", newVault("one"))
				t.Cleanup(func() { a.clear(t) })
				got := a.do(t, call{user: reader, method: http.MethodPatch, path: "/one" + endpoint + "?fieldManager=other", contentType: patch, body: strings.ReplaceAll(body, "VALUE", keyCanary)})
				require.Equal(t, http.StatusOK, got.code, got.body)
				a.unchanged(t, before)
			})
		}
		t.Run("PUT "+endpoint, func(t *testing.T) {
			before := a.create(t, "creator", newVault("one"))
			t.Cleanup(func() { a.clear(t) })
			read := a.do(t, call{user: reader, path: "/one"})
			require.Contains(t, read.body, keyCanary)
			got := a.do(t, call{user: reader, method: http.MethodPut, path: "/one" + endpoint + "?fieldManager=other", contentType: "application/json", body: read.body})
			require.Equal(t, http.StatusOK, got.code, got.body)
			a.unchanged(t, before)
		})
	}
}

// R11: a client that applied what it wants and is applied again and again, as
// GitOps tools do, writes nothing.
func TestR11ResyncsWriteNothing(t *testing.T) {
	a := newAPI(t)
	for _, secret := range []string{keyCanary, Placeholder} {
		t.Run("of "+secret, func(t *testing.T) {
			apply := call{user: writer, method: http.MethodPatch, path: "/one?fieldManager=gitops", contentType: applyPatch, body: manifest("one", keyCanary)}
			require.Equal(t, http.StatusCreated, a.do(t, apply).code)
			t.Cleanup(func() { a.clear(t) })
			first := a.stored(t, "one")
			apply.body = manifest("one", secret)
			var second *Vault
			for i := range 5 {
				got := a.do(t, apply)
				require.Equal(t, http.StatusOK, got.code, got.body)
				assertNoCanary(t, got.text(t))
				after := a.stored(t, "one")
				assert.Equal(t, first.Spec, after.Spec)
				assert.Equal(t, first.ManagedFields[0].FieldsV1, after.ManagedFields[0].FieldsV1, "an owner stays one")
				if second = after; i > 0 {
					assert.Equal(t, second.ResourceVersion, after.ResourceVersion)
				}
			}
			if secret == Placeholder {
				assert.Equal(t, first, second, "R11: not even the first time")
			}
		})
	}
}

// R12: who lacks the right may set a new value, by every kind of write.
func TestR12WriteOnly(t *testing.T) {
	const secret = "zW4-a-wholly-new-VALUE-7391"
	a := newAPI(t)
	writes := map[string]call{"PUT": {method: http.MethodPut, contentType: "application/json", body: manifest("one", "VALUE")}}
	for patch, body := range patchBodies {
		writes[patch] = call{method: http.MethodPatch, path: "?fieldManager=new&force=true", contentType: patch, body: body}
	}
	for name, c := range writes {
		if c.contentType != applyPatch {
			c.path = strings.TrimSuffix(c.path, "&force=true")
		}
		for _, endpoint := range []string{"", "/sensitive"} {
			t.Run(name+" "+endpoint, func(t *testing.T) {
				a.create(t, "creator", newVault("one"))
				t.Cleanup(func() { a.clear(t) })
				c := c
				c.user, c.path, c.body = writer, "/one"+endpoint+c.path, strings.ReplaceAll(c.body, "VALUE", secret)
				got := a.do(t, c)
				require.Equal(t, http.StatusOK, got.code, got.body)
				assertNoCanary(t, got.text(t), secret)
				assert.Equal(t, Placeholder, got.vault(t).Spec.Key.Secret)
				assert.Equal(t, secret, a.stored(t, "one").Spec.Key.Secret)
			})
		}
	}
	t.Run("create", func(t *testing.T) {
		t.Cleanup(func() { a.clear(t) })
		got := a.do(t, call{user: writer, method: http.MethodPost, contentType: "application/json", body: manifest("one", secret)})
		require.Equal(t, http.StatusCreated, got.code, got.body)
		assertNoCanary(t, got.text(t), secret)
		assert.Equal(t, secret, a.stored(t, "one").Spec.Key.Secret)
	})
}

// R12: a field that is left out is removed, as any field.
func TestR12Removed(t *testing.T) {
	a := newAPI(t)
	for name, c := range map[string]call{
		"PUT":                       {method: http.MethodPut, contentType: "application/json", body: `{"apiVersion":"vault.test/v1","kind":"Vault","metadata":{"name":"one"},"spec":{"key":{"hint":"hint"}}}`},
		"JSON patch":                {method: http.MethodPatch, contentType: jsonPatch, body: `[{"op":"remove","path":"/spec/key/secret"}]`},
		"merge patch":               {method: http.MethodPatch, contentType: mergePatch, body: `{"spec":{"key":{"secret":null}}}`},
		"strategic patch":           {method: http.MethodPatch, contentType: strategicPatch, body: `{"spec":{"key":{"secret":null}}}`},
		"merge patch of the parent": {method: http.MethodPatch, contentType: mergePatch, body: `{"spec":{"key":null}}`},
	} {
		t.Run(name, func(t *testing.T) {
			a.create(t, "creator", newVault("one"))
			t.Cleanup(func() { a.clear(t) })
			c.user, c.path = writer, "/one"
			got := a.do(t, c)
			require.Equal(t, http.StatusOK, got.code, got.body)
			if key := a.stored(t, "one").Spec.Key; key != nil {
				assert.Empty(t, key.Secret)
			}
			assertNoCanary(t, got.text(t))
		})
	}
	t.Run("apply by its owner", func(t *testing.T) {
		apply := call{user: writer, method: http.MethodPatch, path: "/one?fieldManager=gitops", contentType: applyPatch, body: manifest("one", keyCanary)}
		require.Equal(t, http.StatusCreated, a.do(t, apply).code)
		t.Cleanup(func() { a.clear(t) })
		apply.body = `{"apiVersion":"vault.test/v1","kind":"Vault","spec":{"label":"mine"}}`
		require.Equal(t, http.StatusOK, a.do(t, apply).code)
		assert.Nil(t, a.stored(t, "one").Spec.Key)
	})
}

// R10: no operation of a patch finds anything out or carries anything away.
func TestR10PatchesAreNoOracle(t *testing.T) {
	a := newAPI(t)
	for _, endpoint := range []string{"", "/status", "/sensitive"} {
		for name, body := range map[string]string{
			"copy to an annotation": `[{"op":"add","path":"/metadata/annotations","value":{}},{"op":"copy","from":"/spec/key/secret","path":"/metadata/annotations/copy"}]`,
			"copy of a parent":      `[{"op":"copy","from":"/spec/door/lock/code","path":"/spec/label"}]`,
			"move":                  `[{"op":"move","from":"/spec/key/secret","path":"/spec/label"}]`,
			"move within":           `[{"op":"move","from":"/spec/key/secret","path":"/spec/key/hint"}]`,
			"copy to a list":        `[{"op":"copy","from":"/status/note/token","path":"/spec/owners/-"}]`,
			"copy to the phase":     `[{"op":"copy","from":"/status/note/token","path":"/status/phase"}]`,
		} {
			for _, caller := range []string{writer, reader} {
				if caller == reader && endpoint == "/sensitive" {
					continue // may compute with it
				}
				t.Run(name+" on "+endpoint+" by "+caller, func(t *testing.T) {
					a.create(t, "creator", newVault("one"))
					t.Cleanup(func() { a.clear(t) })
					got := a.do(t, call{user: caller, method: http.MethodPatch, path: "/one" + endpoint, contentType: jsonPatch, body: body})
					require.Equal(t, http.StatusOK, got.code, got.body)
					after := a.stored(t, "one")
					set(after, 0, "")
					set(after, 1, "")
					set(after, 2, "")
					text, err := runtime.Encode(vaultCodecs.LegacyCodec(vaultGV), after)
					require.NoError(t, err)
					assertNoCanary(t, string(text))
				})
			}
		}
		t.Run("test on "+endpoint, func(t *testing.T) {
			a.create(t, "creator", newVault("one"))
			t.Cleanup(func() { a.clear(t) })
			ask := func(value string) (int, string) {
				got := a.do(t, call{user: writer, method: http.MethodPatch, path: "/one" + endpoint, contentType: jsonPatch, body: fmt.Sprintf(`[{"op":"test","path":"/spec/key/secret","value":%q}]`, value)})
				return got.code, got.body
			}
			rightCode, right := ask(keyCanary)
			wrongCode, wrong := ask("a wrong guess")
			assert.Equal(t, http.StatusUnprocessableEntity, rightCode)
			assert.Equal(t, wrongCode, rightCode)
			assert.Equal(t, wrong, right)
			// What the placeholder is compared with is the placeholder. (The library
			// compares JSON text, in which a client must spell it as the server does.)
			got := a.do(t, call{user: writer, method: http.MethodPatch, path: "/one" + endpoint, contentType: jsonPatch, body: `[{"op":"test","path":"/spec/key/secret","value":"\u003comitted\u003e"}]`})
			assert.Equal(t, http.StatusOK, got.code, got.body)
		})
	}
}

// R10: an apply of the truth by who may not see it gets what an apply of a guess
// gets: code, text and owners.
func TestR10ApplyIsNoOracle(t *testing.T) {
	a := newAPI(t)
	for _, force := range []string{"", "&force=true"} {
		var codes []int
		var answers []string
		for _, value := range []string{keyCanary, "a wrong guess"} {
			a.create(t, "creator", newVault("one"))
			got := a.do(t, call{user: writer, method: http.MethodPatch, path: "/one?fieldManager=spy" + force, contentType: applyPatch, body: manifest("one", value)})
			codes = append(codes, got.code)
			text := got.body
			if got.code == http.StatusOK {
				v := got.vault(t)
				v.UID, v.ResourceVersion, v.CreationTimestamp = "", "", metav1.Time{}
				for i := range v.ManagedFields {
					v.ManagedFields[i].Time = nil
				}
				encoded, err := runtime.Encode(vaultCodecs.LegacyCodec(vaultGV), v)
				require.NoError(t, err)
				text = string(encoded)
			}
			answers = append(answers, text)
			a.clear(t)
		}
		assert.Equal(t, codes[1], codes[0])
		assert.Equal(t, answers[1], answers[0])
	}
}

// R11: on create a placeholder in the spec is refused for everyone, by its path.
func TestR11PlaceholderOnCreate(t *testing.T) {
	a := newAPI(t)
	for _, caller := range []string{reader, writer} {
		for name, c := range map[string]call{
			"create":             {method: http.MethodPost, contentType: "application/json"},
			"create by an apply": {method: http.MethodPatch, path: "/one?fieldManager=me", contentType: applyPatch},
		} {
			c.user, c.body = caller, manifest("one", Placeholder)
			got := a.do(t, c)
			assert.Equal(t, http.StatusUnprocessableEntity, got.code, "%s by %s: %s", name, caller, got.body)
			assert.Contains(t, got.body, keyPath)
			_, err := a.store.Get(requestContext(reader, ""), "one", getOptions())
			assert.True(t, apierrors.IsNotFound(err), "nothing is stored")
		}
	}
}

// R13: what validates gets the objects; it is handed on to the store as it is.
func TestValidationIsHandedOn(t *testing.T) {
	r := newRegistry(t)
	r.add(t, newVault("one"))
	refusal := apierrors.NewForbidden(vaultResource.GroupResource(), "one", errors.New("by policy"))
	validated := 0
	refuse := func(context.Context, runtime.Object, runtime.Object) error { validated++; return refusal }
	_, _, err := r.main.Update(requestContext(writer, ""), "one", changing(func(v *Vault) { v.Spec.Label = "new" }), nil, refuse, false, &metav1.UpdateOptions{})
	assert.True(t, apierrors.IsForbidden(err))
	assert.Equal(t, 1, validated)
	_, err = r.main.Create(requestContext(writer, ""), newVault("two"), func(context.Context, runtime.Object) error { validated++; return refusal }, createOptions())
	assert.True(t, apierrors.IsForbidden(err))
	_, _, err = r.main.Delete(requestContext(writer, ""), "one", func(context.Context, runtime.Object) error { validated++; return refusal }, &metav1.DeleteOptions{})
	assert.True(t, apierrors.IsForbidden(err))
	assert.Equal(t, 3, validated)
}

// R15: an error of validation that quotes what was submitted comes without it.
func TestR15ValidationErrors(t *testing.T) {
	a := newAPI(t)
	a.create(t, "creator", newVault("one"))
	const secret = "refuse me: 8dJ3kq0zLw5Xv1"
	for name, c := range map[string]call{
		"create": {method: http.MethodPost, contentType: "application/json", body: manifest("two", secret)},
		"PUT":    {method: http.MethodPut, path: "/one", contentType: "application/json", body: manifest("one", secret)},
		"patch":  {method: http.MethodPatch, path: "/one", contentType: mergePatch, body: fmt.Sprintf(`{"spec":{"key":{"secret":%q}}}`, secret)},
		"apply":  {method: http.MethodPatch, path: "/two?fieldManager=me", contentType: applyPatch, body: manifest("two", secret)},
	} {
		for _, caller := range []string{reader, writer} {
			c.user = caller
			got := a.do(t, c)
			assert.Equal(t, http.StatusUnprocessableEntity, got.code, name)
			assert.Contains(t, got.body, keyPath, name)
			assertNoCanary(t, got.text(t), secret)
		}
	}
}
