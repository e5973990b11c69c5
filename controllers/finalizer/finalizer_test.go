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

package finalizer

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/apis/generated/clientset/versioned/fake"
)

const ours = "x.io/ours"

func object(uid types.UID, finalizers ...string) *corev1alpha1.Release {
	return &corev1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b", UID: uid, Finalizers: finalizers}}
}

// S1: a finalizer comes off the object that was looked at, and nothing else does, nor off
// another object.
func TestS1Removal(t *testing.T) {
	const theirs, last = "x.io/theirs", "x.io/last"
	for name, test := range map[string]struct {
		seen, there *corev1alpha1.Release
		want        []string // after it; nil: the patch fails
	}{
		"alone":                     {object("u", ours), object("u", ours), []string{}},
		"first":                     {object("u", ours, theirs), object("u", ours, theirs), []string{theirs}},
		"in the middle":             {object("u", theirs, ours, last), object("u", theirs, ours, last), []string{theirs, last}},
		"one was added after it":    {object("u", ours), object("u", ours, last), []string{last}},
		"another object":            {object("u", ours), object("anew", ours), nil},
		"one before it came off":    {object("u", theirs, ours), object("u", ours), nil},
		"one came before it":        {object("u", ours), object("u", theirs, ours), nil},
		"it came off":               {object("u", ours, theirs), object("u", theirs), nil},
		"it came off, and all else": {object("u", ours), object("u"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			patch, err := Removal(test.seen, ours)
			require.NoError(t, err)
			releases := fake.NewSimpleClientset(test.there).CoreV1alpha1().Releases("a")
			left, err := releases.Patch(t.Context(), "b", types.JSONPatchType, patch, metav1.PatchOptions{})
			if test.want == nil {
				assert.Error(t, err)
				return
			}
			require.NoError(t, err)
			assert.ElementsMatch(t, test.want, left.Finalizers)
		})
	}
}

func TestRemovalOfWhatIsNotThere(t *testing.T) {
	for _, object := range []*corev1alpha1.Release{object("u"), object("u", "x.io/ours2", "ours")} {
		patch, err := Removal(object, ours)
		require.NoError(t, err)
		assert.Nil(t, patch)
	}
}
