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

package grant

import (
	"testing"

	"github.com/stretchr/testify/assert"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/record"
)

func roleAt(uid, version string) *rbacv1.Role {
	return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{
		Namespace: "a", Name: "entente-1", UID: types.UID(uid), ResourceVersion: version, Labels: map[string]string{peeringv1alpha1.LabelPeer: "west"},
	}}
}

// What this process itself did counts before an informer shows it, and is no news when it
// does.
func TestViewBeforeItIsShown(t *testing.T) {
	f := newFixture(t)
	r := ref{record.KindRole, "a", "entente-1"}
	indexer := f.view.informers[record.KindRole].GetIndexer()
	uid := func() string {
		live := f.view.get(r)
		if live == nil {
			return ""
		}
		return string(live.GetUID())
	}
	labelled := func() (n int) {
		f.view.labelled("west", func(ref, object) { n++ })
		return n
	}
	assert.Empty(t, uid())
	f.view.makes(r, roleAt("u1", "10"))
	assert.Equal(t, "u1", uid())
	assert.NoError(t, indexer.Add(roleAt("u1", "10")))
	assert.False(t, f.view.shows(record.KindRole, roleAt("u1", "10")), "we made it")
	assert.Equal(t, "u1", uid())
	assert.True(t, f.view.shows(record.KindRole, roleAt("u1", "11")), "somebody changed it")
	assert.Equal(t, 1, labelled())

	f.view.removes(r, "u1")
	assert.Empty(t, uid(), "though it is shown")
	assert.Zero(t, labelled())
	f.view.makes(r, roleAt("u2", "20"))
	assert.Equal(t, "u2", uid())
	assert.True(t, f.view.shows(record.KindRole, roleAt("u1", "12")), "of before")
	assert.Equal(t, "u2", uid(), "what comes late is not taken for what is")
	assert.False(t, f.view.hides(record.KindRole, roleAt("u1", "12")), "we deleted it")
	assert.NoError(t, indexer.Update(roleAt("u2", "20")))
	assert.False(t, f.view.shows(record.KindRole, roleAt("u2", "20")))
	assert.True(t, f.view.hides(record.KindRole, roleAt("u2", "20")), "somebody deleted it")

	// Another one in its place, of which nothing was shown in between.
	f.view.makes(r, roleAt("u3", "30"))
	assert.NoError(t, indexer.Update(roleAt("u4", "40")))
	assert.True(t, f.view.shows(record.KindRole, roleAt("u4", "40")))
	assert.Equal(t, "u4", uid())

	// Made, and gone before it was shown.
	f.view.makes(r, roleAt("u5", "50"))
	assert.True(t, f.view.hides(record.KindRole, roleAt("u5", "51")))
	assert.Equal(t, "u4", uid())

	// A finalizer holds it: it is there.
	f.view.removes(r, "u4")
	assert.Empty(t, uid())
	held := roleAt("u4", "60")
	held.DeletionTimestamp = &metav1.Time{Time: noon}
	assert.True(t, f.view.shows(record.KindRole, held))
	assert.Equal(t, "u4", uid())

	// Nothing is waited for for ever.
	f.view.makes(r, roleAt("u6", "70"))
	f.view.removes(ref{record.KindRole, "b", "entente-1"}, "u7")
	f.clock.SetTime(noon.Add(arrival))
	assert.Equal(t, "u4", uid())
	f.view.removes(ref{record.KindRole, "b", "entente-1"}, "u8")
	assert.Empty(t, f.view.made)
	assert.Len(t, f.view.gone, 1)

	assert.Nil(t, f.view.get(ref{"Secret", "a", "entente-1"}), "a kind that is none of ours")
}

// Whoever an object names, or named, is told of.
func TestViewRings(t *testing.T) {
	f := newFixture(t)
	var rung []string
	handler := f.view.handler(t.Context(), record.KindRole, func(name string) { rung = append(rung, name) })
	check := func(want ...string) {
		t.Helper()
		assert.Equal(t, want, rung)
		rung = nil
	}
	east, nobody := roleAt("u1", "2"), roleAt("u1", "3")
	east.Labels, nobody.Labels = map[string]string{peeringv1alpha1.LabelPeer: "east"}, nil
	handler.OnAdd(roleAt("u1", "1"), false)
	check("west")
	handler.OnUpdate(roleAt("u1", "1"), east)
	check("west", "east")
	handler.OnUpdate(east, nobody)
	check("east", "")
	handler.OnDelete(cache.DeletedFinalStateUnknown{Key: "a/entente-1", Obj: east})
	check("east")
	handler.OnDelete("what is this")
	handler.OnAdd("what is this", false)
	handler.OnUpdate("what is this", "and this")
	check()
}

func TestBell(t *testing.T) {
	var b bell
	b.ring("nobody hears it")
	var heard []string
	silence := b.answer(func(name string) { heard = append(heard, name) })
	b.ring("west")
	silence()
	b.ring("east")
	assert.Equal(t, []string{"west"}, heard)
}

func TestStrays(t *testing.T) {
	var s strays
	s.suspect("west", "u")
	assert.True(t, s.has("west", "u"))
	s.settle("west", "u")
	assert.False(t, s.has("west", "u"))
	assert.True(t, s.has("west", "v"), "another one of that name")
	assert.True(t, s.has("west", ""), "none")
	s.suspect("west", "u")
	assert.False(t, s.has("west", "u"), "its own")
	s.suspect("west", "w")
	assert.True(t, s.has("west", "u"))
	s.settle("west", "u")
	s.settle("west", "")
	assert.True(t, s.has("west", "u"))
	assert.Empty(t, s.none)
}
