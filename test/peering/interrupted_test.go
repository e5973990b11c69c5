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

package peering

import (
	"fmt"
	"regexp"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/test/harness"
)

// P6: the inviter's answer to a join is lost on the wire. The joiner asks again and gets
// the same answer, and the connection string was used once.
func TestP6AnswerLost(t *testing.T) {
	t.Parallel()
	w := newWire(t)
	east, west := startBehind(t, w), start(t)
	text := east.invite("west", nil)
	lost := w.hold(moment{call: 1, answer: true})
	west.join("east", text)
	lost.await(t)
	used := east.until("west", "used", func(p *peeringv1alpha1.ClusterPeer) bool { return p.Status.Invite.Used })
	lost.release()
	west.says("east", "Active")
	active := east.says("west", "Active")
	assert.Equal(t, used.Status.Invite, active.Status.Invite)
	assert.Equal(t, uuid(used), uuid(active))
	assert.NotContains(t, describe(active), "presented again")
}

// killable is a cluster in a process of its own that is killed and started again.
type killable struct {
	*cluster
	process *harness.Process
	flags   []string
	started func(*harness.Process)
}

func startKillable(t *testing.T, started func(*harness.Process), flags ...string) *killable {
	t.Helper()
	k := &killable{cluster: &cluster{t: t}, flags: flags, started: started}
	k.startOn(t.TempDir())
	return k
}

func (k *killable) startOn(dir string) {
	k.t.Helper()
	k.process = harness.StartReadyProcess(k.t, dir, k.flags...)
	k.Server = k.process.Server
	if k.started != nil {
		k.started(k.process)
	}
}

// kill is no farewell: what is not on the disk is lost.
func (k *killable) kill() {
	k.t.Helper()
	k.process.Signal(k.t, syscall.SIGKILL)
	k.process.WaitEnd(k.t)
}

var servingOthers = regexp.MustCompile(`"Serving other clusters" address="([^"]+)"`)

// leads leads a wire to the gateway of a process.
func (w *wire) leads(p *harness.Process) {
	w.t.Helper()
	var match []string
	require.Eventually(w.t, func() bool {
		match = servingOthers.FindStringSubmatch(p.Output())
		return match != nil
	}, deadline, pollInterval)
	w.to(match[1])
}

// P6, P7: whoever of the two is killed, at whatever step of the handshake, both become
// peers without help, and the connection string was used once.
func TestP7KilledAtEveryStep(t *testing.T) {
	t.Parallel()
	steps := []struct {
		name string
		moment
	}{
		{"before the request to join", moment{call: 1}},
		{"after the request to join", moment{call: 1, passed: true}},
		{"before the answer to it", moment{call: 1, answer: true}},
		{"after the answer to it", moment{call: 1, answer: true, passed: true}},
		{"before the first beat", moment{call: 2}},
		{"before the answer to the first beat", moment{call: 2, answer: true}},
		{"after the answer to the first beat", moment{call: 2, answer: true, passed: true}},
	}
	for _, victim := range []string{"inviter", "joiner"} {
		t.Run(victim, func(t *testing.T) {
			t.Parallel()
			w := newWire(t)
			east := startKillable(t, w.leads, "--gateway-port", "0", "--gateway-endpoint", w.endpoint())
			west := startKillable(t, nil)
			killed := map[string]*killable{"inviter": east, "joiner": west}[victim]
			for i, step := range steps {
				name := fmt.Sprintf("step-%d", i)
				text := east.invite(name, nil)
				held := w.hold(step.moment)
				west.join(name, text)
				held.await(t)
				killed.kill()
				held.release()
				killed.startOn(killed.Dir)

				west.says(name, "Active")
				peer := east.says(name, "Active")
				assert.True(t, peer.Status.Invite.Used, step.name)
				assert.NotContains(t, describe(peer), "presented again", step.name)
				// One at a time may hold the other cluster.
				for _, c := range []*killable{west, east} {
					c.delete(name)
					c.gone(name)
				}
			}
		})
	}
}
