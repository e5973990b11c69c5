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

package servingcert

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// coarse is a policy under which years take few looks.
func coarse() Policy {
	return Policy{Interval: 12 * time.Hour, Settle: 12 * time.Hour}
}

// Over years, with a replica that looks seldom and one that stops for days in the
// middle of whatever it does, with requests that fail and replicas that start anew,
// kube-aggregator trusts whatever any replica serves at any moment, everybody stays
// ready, and authorities come and go.
func TestRotation(t *testing.T) {
	const years = 3
	for seed := range uint64(2) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			h := newHost()
			options := h.options()
			options.Policy = coarse()
			unsteady := func(string, string) error {
				if random.IntN(10) == 0 {
					return errors.New("the API is away")
				}
				return nil
			}
			first := h.replica(t, options, nil)
			second := h.replica(t, options, unsteady)
			pausing := false
			look := func(m *Manager) {
				err := m.RunOnce(quiet(t))
				if m == first && !pausing {
					require.NoError(t, ignoreUnready(m, err))
				}
				h.always(t)
			}
			// The third one is overtaken before a request of its, for up to two days.
			third := h.replica(t, options, func(string, string) error {
				if pausing || random.IntN(8) > 0 {
					return nil
				}
				pausing = true
				for range 1 + random.IntN(4) {
					h.clock.Step(12 * time.Hour)
					look(first)
					look(second)
				}
				pausing = false
				return nil
			})
			h.steps(t, first)

			authorities, leaves := map[string]bool{}, map[string]bool{}
			var lastLook time.Time
			for h.clock.Now().Before(start().Add(years * 365 * 24 * time.Hour)) {
				h.clock.Step(time.Duration(4+random.IntN(16)) * time.Hour)
				look(first)
				look(second)
				if h.clock.Since(lastLook) > time.Duration(random.IntN(6*24))*time.Hour {
					look(third)
					lastLook = h.clock.Now()
				}
				if random.IntN(200) == 0 {
					second = h.replica(t, options, unsteady) // the other one goes on serving for a while
					look(second)
					h.replicas = append(h.replicas[:1:1], h.replicas[2:]...)
				}
				require.NoError(t, first.Check(nil), h.clock.Now())
				require.LessOrEqual(t, len(h.bundle(t, peeringAPI)), 3)
				for _, authority := range h.bundle(t, peeringAPI) {
					authorities[string(authority.Raw)] = true
				}
				leaves[string(first.inUse.Load().leaf.Raw)] = true
			}
			// One authority for each 0.6 years, one leaf for each 20 days.
			assert.InDelta(t, years/0.6+1, len(authorities), 1.5)
			assert.InDelta(t, years*365/20, len(leaves), 12)
			require.NoError(t, third.Check(nil))
		})
	}
}

// One step after the other, as the package comment tells them.
func TestOrderOfRotation(t *testing.T) {
	h, m := started(t)
	look := func() {
		t.Helper()
		require.NoError(t, m.RunOnce(quiet(t)))
		h.always(t)
	}
	first := h.bundle(t, peeringAPI)
	require.Len(t, first, 1)
	served := func() *x509.Certificate { return m.inUse.Load().authority }

	// Nothing is due: leaves come and go under one authority, nothing else is written.
	for h.clock.Now().Before(first[0].NotBefore.Add(218 * 24 * time.Hour)) {
		before := h.written()
		leaf := m.inUse.Load().leaf
		look()
		if m.inUse.Load().leaf.Equal(leaf) {
			require.Equal(t, before, h.written())
		} else {
			require.Equal(t, before+1, h.written())
		}
		h.clock.Step(24 * time.Hour)
	}
	h.clock.SetTime(first[0].NotBefore.Add(219 * 24 * time.Hour).Add(time.Hour))

	// 1, 2: the next authority is in the Secret and published, and signs nothing.
	look()
	look()
	assert.Contains(t, h.data(), nextCACert)
	both := h.bundle(t, peeringAPI)
	require.Len(t, both, 2)
	assert.Equal(t, both, h.bundle(t, coreAPI))
	assert.True(t, both[1].Equal(first[0]), "the newest comes first")
	assert.True(t, served().Equal(first[0]))

	// 3: it signs after it has been seen there for a while.
	h.clock.Step(30 * time.Second)
	look()
	assert.True(t, served().Equal(first[0]))
	h.clock.Step(30 * time.Second)
	version := h.apiService(peeringAPI).ResourceVersion
	look()
	assert.True(t, served().Equal(both[0]))
	assert.NotContains(t, h.data(), nextCACert)
	assert.NotContains(t, h.data(), nextCAKey)
	assert.Contains(t, h.data(), oldCACert)
	assert.Equal(t, both, h.bundle(t, peeringAPI))
	assert.Equal(t, version, h.apiService(peeringAPI).ResourceVersion, "the bundle was right already")
	last := parse(t, h.data()[oldLeaf])

	// 4: the former one stays until the last leaf of its has expired.
	h.clock.SetTime(last.NotAfter.Add(-time.Second))
	look()
	assert.Len(t, h.bundle(t, peeringAPI), 2)
	h.clock.SetTime(last.NotAfter)
	h.steps(t, m)
	assert.Equal(t, both[:1], h.bundle(t, peeringAPI))
	assert.Equal(t, both[:1], h.bundle(t, coreAPI))
	assert.NotContains(t, h.data(), oldCACert)
	assert.NotContains(t, h.data(), oldLeaf)
	require.NoError(t, m.Check(nil))
}

// A next authority signs nothing as long as one APIService lacks it, or cannot be
// read, even though the present one nears its end.
func TestNoLeafBeforeItIsTrustedEverywhere(t *testing.T) {
	for name, refused := range map[string]string{"it cannot be written": "patch", "it cannot be read": "get"} {
		t.Run(name, func(t *testing.T) {
			h := newHost()
			obstructed := false
			m := h.replica(t, h.options(), func(verb, name string) error {
				if obstructed && name == coreAPI && verb == refused {
					return errors.New("not now")
				}
				return nil
			})
			h.steps(t, m)
			authority := m.inUse.Load().authority
			obstructed = true
			for h.clock.Now().Before(authority.NotAfter.Add(-24 * time.Hour)) {
				_ = m.RunOnce(quiet(t))
				h.always(t)
				require.True(t, m.inUse.Load().authority.Equal(authority))
				h.clock.Step(24 * time.Hour)
			}
			assert.Len(t, h.bundle(t, peeringAPI), 2)
			require.NoError(t, m.Check(nil), "what is served is trusted")
			// Its leaf ends with it: what ends with the authority is not made again and again.
			written := h.written()
			require.ErrorContains(t, m.RunOnce(quiet(t)), coreAPI+": not now")
			assert.Equal(t, written, h.written())

			obstructed = false
			h.steps(t, m)
			h.clock.Step(time.Minute)
			h.steps(t, m)
			assert.False(t, m.inUse.Load().authority.Equal(authority))
		})
	}
}

// Replicas that start together on an empty Secret, and run side by side with a
// slow API, come to serve one certificate, once.
func TestReplicasRace(t *testing.T) {
	h := newHost()
	options := h.options()
	options.Policy = coarse()
	ctx, cancel := context.WithCancel(quiet(t))
	defer cancel()
	const replicas = 3
	ended := make(chan struct{}, replicas)
	for range replicas {
		m := h.replica(t, options, nil)
		go func() {
			m.Run(ctx, 1)
			ended <- struct{}{}
		}()
	}
	for h.clock.Now().Before(start().Add(2 * 365 * 24 * time.Hour)) {
		require.Eventually(t, func() bool { return h.clock.Waiters() == replicas }, time.Minute, 100*time.Microsecond)
		h.always(t)
		h.clock.Step(15 * time.Hour)
	}
	require.Eventually(t, func() bool { return h.clock.Waiters() == replicas }, time.Minute, time.Millisecond)
	h.clock.Step(15 * time.Hour)
	require.Eventually(t, func() bool { return h.clock.Waiters() == replicas }, time.Minute, time.Millisecond)
	h.always(t)
	leaf := parse(t, h.data()[leafCert])
	for _, m := range h.replicas {
		assert.True(t, leaf.Equal(m.inUse.Load().leaf))
		require.NoError(t, m.Check(nil))
	}
	cancel()
	for range replicas {
		<-ended
	}
}
