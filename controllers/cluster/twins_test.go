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

package cluster

import (
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/controllers/targets/targetstest"
)

const (
	alone = "The cluster was connected to, and its version read."
	twin  = alone + " The same cluster is the target of: "
)

// settle looks at all Clusters that somebody asked to be looked at, until nobody does.
func (f *fixture) settle() {
	for {
		f.lock.Lock()
		woken := f.woken
		f.woken = map[string]int{}
		f.lock.Unlock()
		if len(woken) == 0 {
			return
		}
		for name := range woken {
			f.once(name)
		}
	}
}

// C3: the same target twice is said, within a namespace only, and withdrawn when one goes.
func TestC3Twins(t *testing.T) {
	f, server := newFixture(t), targetstest.Serve(t, "1")
	for _, name := range []string{"a", "b", "c"} {
		f.joins(name, server)
	}
	f.joins("d", targetstest.Serve(t, "2"))
	f.joins("a", server, inNamespace("other"))
	for _, name := range []string{"a", "b", "c", "d"} {
		f.once(name)
	}
	_, err := f.sync(f.context(), objectIn("other", "a"))
	assert.NoError(t, err)
	f.probes()
	_, err = f.sync(f.context(), objectIn("other", "a"))
	assert.NoError(t, err)
	f.settle()
	assert.Equal(t, twin+"b, c.", f.message("a"))
	assert.Equal(t, twin+"a, c.", f.message("b"))
	assert.Equal(t, twin+"a, b.", f.message("c"))
	assert.Equal(t, alone, f.message("d"))
	assert.Equal(t, alone, f.storedIn("other", "a").Status.Conditions[0].Message, "of another namespace nothing is told")
	assert.Len(t, f.events(), 5, "it is no transition")
	f.settle()
	f.writes()
	for _, name := range []string{"a", "b", "c", "d"} {
		f.next(name)
	}
	f.settle()
	assert.Zero(t, f.attempts())

	// One is not reachable any more: it still is that one.
	f.credentials.Put(team, "c", "kubeconfig", []byte("{}"))
	for range patience {
		f.next("c")
	}
	f.settle()
	assert.Equal(t, "False ProbeFailed", f.says("c"))
	assert.NotContains(t, f.message("c"), "same cluster")
	assert.Equal(t, twin+"b, c.", f.message("a"))

	// One is of another kind.
	f.changes("c", func(c *corev1alpha1.Cluster) { unsupportedSpecs()["agent"](c) })
	f.once("c")
	f.settle()
	assert.Equal(t, twin+"b.", f.message("a"))
	assert.Equal(t, twin+"a.", f.message("b"))

	// One is gone.
	assert.NoError(t, f.client.Tracker().Delete(clusters, team, "b"))
	f.once("b")
	f.settle()
	assert.Equal(t, alone, f.message("a"))
	assert.Empty(t, f.memory.same(f.object("a")))
}

// C3: a Cluster that leads elsewhere now is withdrawn there, and said here.
func TestC3TwinsMove(t *testing.T) {
	f, server, other := newFixture(t), targetstest.Serve(t, "1"), targetstest.Serve(t, "2")
	f.joins("a", server)
	f.joins("b", server)
	f.joins("c", other)
	for _, name := range []string{"a", "b", "c"} {
		f.once(name)
	}
	f.settle()
	assert.Equal(t, twin+"b.", f.message("a"))
	f.credentials.Put(team, "b", "kubeconfig", other.Kubeconfig(targetstest.Token))
	f.next("b")
	f.settle()
	assert.Equal(t, alone, f.message("a"))
	assert.Equal(t, twin+"c.", f.message("b"))
	assert.Equal(t, twin+"b.", f.message("c"))
}

// C3: which cluster it is cannot always be read; that is no reason to say, and to take back.
func TestC3TwinsWithoutUID(t *testing.T) {
	f, server := newFixture(t), targetstest.Serve(t, "1")
	f.joins("a", server)
	f.joins("b", server)
	f.once("a")
	f.once("b")
	f.settle()
	f.writes()
	server.Is("")
	for range 3 {
		f.next("a")
		f.next("b")
	}
	f.settle()
	assert.Equal(t, twin+"b.", f.message("a"))
	assert.Zero(t, f.attempts())
	server.Is("3")
	f.next("a")
	assert.Equal(t, alone, f.message("a"), "now it is known to be another one")

	// Those that may never be read are not the same.
	f = newFixture(t)
	f.joins("a", server)
	f.joins("b", server)
	server.Is("")
	f.once("a")
	f.once("b")
	f.settle()
	assert.Equal(t, alone, f.message("a"))
}

// C3: however many there are, a message stays short, and one that comes or goes has few
// others written.
func TestC3TwinsMany(t *testing.T) {
	f, server := newFixture(t), targetstest.Serve(t, "1")
	comes := func(name string) {
		f.joins(name, server)
		f.once(name)
		f.settle()
	}
	goes := func(name string) {
		assert.NoError(t, f.client.Tracker().Delete(clusters, team, name))
		f.once(name)
		f.settle()
	}
	for i := range maxNamed + 1 {
		comes("c" + strconv.Itoa(10+i))
	}
	assert.Equal(t, twin+"c11, c12, c13, c14.", f.message("c10"))
	comes("c15")
	assert.Equal(t, twin+"c11 and others.", f.message("c10"))
	assert.Equal(t, twin+"c15 and others.", f.message("c14"))
	assert.Equal(t, twin+"c10 and others.", f.message("c15"))
	for i := range 20 {
		comes("c" + strconv.Itoa(20+i))
	}
	f.writes()
	comes("c16")
	assert.Equal(t, 2, f.attempts(), "itself, and the one before it")
	assert.Equal(t, twin+"c16 and others.", f.message("c15"))
	assert.Equal(t, twin+"c20 and others.", f.message("c16"))
	f.writes()
	goes("c16")
	goes("c10")
	assert.Equal(t, 2, f.attempts(), "those before them")
	assert.Equal(t, twin+"c20 and others.", f.message("c15"))
	assert.Equal(t, twin+"c11 and others.", f.message("c39"))
	server.Fails(http.StatusServiceUnavailable)
	f.next("c11")
	assert.Contains(t, f.message("c11"), "same cluster", "patience")
}

// Of a group each change tells exactly those whose message it changes.
func TestTwins(t *testing.T) {
	all, where := twins{}, place{"team", "1"}
	said := map[string]string{}
	look := func(told []string, but string) {
		for name := range said {
			now := all.of(where, name)
			if name != but {
				assert.Equal(t, now != said[name], slices.Contains(told, name), "%s is told of %s", name, but)
			}
			said[name] = now
		}
	}
	var names []string
	for i := range 12 {
		names = append(names, string(rune('a'+(i*5)%12)))
	}
	for _, name := range names {
		said[name] = ""
		look(all.join(where, name), name)
		assert.Empty(t, all.join(where, name), "twice is once")
	}
	for _, name := range names {
		told := all.leave(where, name)
		delete(said, name)
		look(told, name)
		assert.Empty(t, all.leave(where, name))
	}
	assert.Empty(t, all)
}
