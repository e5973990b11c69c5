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
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"entente.dev/entente/controllers/target"
	"entente.dev/entente/controllers/targets/targetstest"
)

const (
	wells = 5
	deads = 100
)

// joinsWells has Clusters that are well, and waits until they are known to be.
func (f *fixture) joinsWells() []*targetstest.Server {
	f.t.Helper()
	servers := make([]*targetstest.Server, wells)
	for i := range servers {
		servers[i] = targetstest.Serve(f.t, "well-"+strconv.Itoa(i))
		f.joins("well-"+strconv.Itoa(i), servers[i])
	}
	f.until("the wells are reachable", func() bool {
		for i := range servers {
			if f.says("well-"+strconv.Itoa(i)) != "True Reachable" {
				return false
			}
		}
		return true
	})
	return servers
}

// requireProbed lets time pass until each of these was probed that often from now on.
func (f *fixture) requireProbed(servers []*targetstest.Server, count int) {
	f.t.Helper()
	before := make([]int, len(servers))
	for i, server := range servers {
		before[i] = server.Probes("")
	}
	f.until("each is probed", func() bool {
		for i, server := range servers {
			if server.Probes("") < before[i]+count {
				return false
			}
		}
		return true
	})
}

// C3: Clusters that hang delay no other one, and if they hang for ever: here it is the reading
// of their Secrets that does, which not even a time-out ends.
func TestC3HangingDelaysNobody(t *testing.T) {
	f := newFixture(t)
	f.runs()
	servers := f.joinsWells()
	release := make(chan struct{})
	t.Cleanup(sync.OnceFunc(func() { close(release) })) // before the controller is waited for
	var lock sync.Mutex
	hanging := 0
	f.credentials.Before(func(_ context.Context, _, name string) {
		if !strings.HasPrefix(name, "dead-") {
			return
		}
		lock.Lock()
		hanging++
		lock.Unlock()
		<-release
	})
	for i := range deads {
		f.has(newCluster("dead-" + strconv.Itoa(i)))
	}
	f.until("as many hang as may", func() bool {
		lock.Lock()
		defer lock.Unlock()
		return hanging == otherWorkers
	})
	f.requireProbed(servers, 20)
	lock.Lock()
	assert.Equal(t, otherWorkers, hanging, "not one of them has ended")
	lock.Unlock()
	for i := range wells {
		assert.Equal(t, "True Reachable", f.says("well-"+strconv.Itoa(i)))
	}
}

// C3: a cluster that takes its time waits with those that hang, and not before those that do not.
func TestC3SlowIsNotWell(t *testing.T) {
	f := newFixture(t)
	f.slowAfter = slowAfter
	found := &target.Found{}
	assert.Same(t, f.well, f.laneFor(state{outcome: &outcome{found: found, took: slowAfter - 1}}))
	for name, s := range map[string]state{
		"slow":      {outcome: &outcome{found: found, took: slowAfter}},
		"failed":    {outcome: &outcome{}},
		"not asked": {},
	} {
		assert.Same(t, f.other, f.laneFor(s), name)
	}
}

// C3: the same with a real cluster that takes connections and says nothing: it is given up
// after a while, the others behind it get their turn, and each is told why.
func TestC3FrozenDelaysNobody(t *testing.T) {
	f := newFixture(t)
	f.runs()
	servers := f.joinsWells()
	frozen := targetstest.Serve(t, "frozen")
	frozen.Freezes(true)
	for i := range deads {
		f.joins("dead-"+strconv.Itoa(i), frozen)
	}
	f.until("as many are asked as may be", func() bool { return frozen.Most() == otherWorkers })
	f.requireProbed(servers, 5)
	f.until("all are given up", func() bool {
		for i := range deads {
			if f.says("dead-"+strconv.Itoa(i)) != "False ProbeFailed" {
				return false
			}
		}
		return true
	})
	for i := range deads {
		assert.Equal(t, "the cluster: "+string(target.ReasonTimeout), f.message("dead-"+strconv.Itoa(i)))
	}
	assert.Equal(t, otherWorkers, frozen.Most())
	f.requireProbed(servers, 5)
	for i := range wells {
		assert.Equal(t, "True Reachable", f.says("well-"+strconv.Itoa(i)))
	}
}

// C3: which lane a Cluster is probed in is a matter of its last probe.
func TestC3Lanes(t *testing.T) {
	for name, test := range map[string]struct {
		outcome *outcome
		well    bool
	}{
		"never probed": {nil, false},
		"failed":       {&outcome{}, false},
		"well":         {&outcome{found: &target.Found{}}, true},
	} {
		f := newFixture(t)
		assert.Equal(t, test.well, f.laneFor(state{outcome: test.outcome}) == f.well, name)
		assert.Equal(t, !test.well, f.laneFor(state{outcome: test.outcome}) == f.other, name)
	}
}
