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

package localrbac

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	testingclock "k8s.io/utils/clock/testing"
)

const (
	patience = 20 * time.Second
	tick     = 5 * time.Millisecond

	getRule  = `- {apiGroups: [peering.entente.dev], resources: [clusterpeers], verbs: [get]}`
	listRule = `- {apiGroups: [peering.entente.dev], resources: [clusterpeers], verbs: [list]}`
)

func mayGet(t testing.TB, a *Authorizer) bool {
	return allowed(t, a, request(person("somebody"), "get", "clusterpeers", "", "a"))
}

func mayList(t testing.TB, a *Authorizer) bool {
	return allowed(t, a, request(person("somebody"), "list", "clusterpeers", "", ""))
}

// run runs the authorizer for the length of the test, and checks that it leaves
// nothing behind.
func run(t *testing.T, a *Authorizer) {
	t.Helper()
	current := goleak.IgnoreCurrent()
	ctx, cancel := context.WithCancel(testContext(t))
	var background sync.WaitGroup
	background.Go(func() { a.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		background.Wait()
		goleak.VerifyNone(t, current)
	})
}

// Design section 3: manifests are read again when they change; with the
// system's notifications, on the real clock.
func TestReloadByNotification(t *testing.T) {
	dir := folderOf(t, map[string]string{"role.yaml": roleYAML(getRule)})
	// Polling is too slow to be what makes the test pass.
	a, err := New(testContext(t), Options{Dir: dir, PollInterval: time.Hour, SettleTime: 10 * time.Millisecond})
	require.NoError(t, err)
	run(t, a)
	require.True(t, mayGet(t, a))

	write(t, dir, map[string]string{"role.yaml": roleYAML(listRule)})
	require.Eventually(t, func() bool { return mayList(t, a) && !mayGet(t, a) }, patience, tick, "an edit counts")

	require.NoError(t, os.Rename(filepath.Join(dir, "role.yaml"), filepath.Join(dir, "role.off")))
	require.Eventually(t, func() bool { return !mayList(t, a) }, patience, tick, "a file that is gone grants nothing")
	require.NoError(t, os.Rename(filepath.Join(dir, "role.off"), filepath.Join(dir, "role.yaml")))
	require.Eventually(t, func() bool { return mayList(t, a) }, patience, tick)

	require.NoError(t, os.Chmod(filepath.Join(dir, "role.yaml"), 0o666))
	require.Eventually(t, func() bool { return !mayList(t, a) }, patience, tick, "a world-writable file grants nothing")
	require.NoError(t, os.Chmod(filepath.Join(dir, "role.yaml"), 0o644))
	require.Eventually(t, func() bool { return mayList(t, a) }, patience, tick)

	require.NoError(t, os.Chmod(dir, 0o777))
	require.Eventually(t, func() bool { return !mayList(t, a) }, patience, tick, "a world-writable folder grants nothing")
	require.Len(t, a.Problems(), 1)
	assert.Contains(t, a.Problems()[0].Message, "nobody is granted anything")
	require.NoError(t, os.Chmod(dir, 0o700))
	require.Eventually(t, func() bool { return mayList(t, a) }, patience, tick)
	assert.Empty(t, a.Problems())
}

// Design section 3: the same where the system does not tell of changes.
func TestReloadByPolling(t *testing.T) {
	dir := folderOf(t, map[string]string{"role.yaml": roleYAML(getRule)})
	clock := testingclock.NewFakeClock(time.Now())
	a, err := New(testContext(t), Options{Dir: dir, Clock: clock, pollOnly: true})
	require.NoError(t, err)
	run(t, a)
	waiters := func(n int) {
		require.Eventually(t, func() bool { return clock.Waiters() == n }, patience, tick)
	}
	waiters(1)
	write(t, dir, map[string]string{"role.yaml": roleYAML(listRule)})
	clock.Step(5 * time.Second)
	waiters(2)
	assert.True(t, mayGet(t, a), "a change counts once it has settled")
	clock.Step(200 * time.Millisecond)
	require.Eventually(t, func() bool { return mayList(t, a) && !mayGet(t, a) }, patience, tick)
}

// stepped is an authorizer whose looks at the folder are made one by one.
type stepped struct {
	*Authorizer
	clock  *testingclock.FakeClock
	change *pendingChange
	logger klog.Logger
}

func newStepped(t *testing.T, dir string) stepped {
	t.Helper()
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	clock := testingclock.NewFakeClock(time.Now())
	a, err := New(klog.NewContext(t.Context(), logger), Options{Dir: dir, Clock: clock})
	require.NoError(t, err)
	return stepped{a, clock, &pendingChange{clock: clock, after: a.options.SettleTime}, logger}
}

// notice looks at a folder that has changed.
func (s stepped) notice() {
	s.look(s.logger, s.change, false)
}

// settle lets the time pass after which a change may count.
func (s stepped) settle(t *testing.T) {
	t.Helper()
	s.clock.Step(s.options.SettleTime)
	select {
	case <-s.change.settled():
	default:
		t.Fatal("nothing is pending")
	}
	s.look(s.logger, s.change, true)
}

func (s stepped) errorsLogged(t *testing.T) int {
	t.Helper()
	underlier, ok := s.logger.GetSink().(ktesting.Underlier)
	require.True(t, ok)
	count := 0
	for _, entry := range underlier.GetBuffer().Data() {
		if entry.Type == ktesting.LogError {
			count++
		}
	}
	return count
}

// Half a file may grant more than the whole, when the resourceNames are missing
// yet: a change counts when it has stayed for a while.
func TestReloadSettles(t *testing.T) {
	dir := folderOf(t, map[string]string{"role.yaml": roleYAML(getRule)})
	a := newStepped(t, dir)

	write(t, dir, map[string]string{"role.yaml": roleYAML(listRule)})
	a.notice()
	write(t, dir, map[string]string{"role.yaml": roleYAML(getRule + "\n" + listRule)})
	a.settle(t)
	assert.False(t, mayList(t, a.Authorizer), "the folder has just changed again")
	a.settle(t)
	assert.True(t, mayList(t, a.Authorizer))
	assert.True(t, mayGet(t, a.Authorizer))

	write(t, dir, map[string]string{"role.yaml": roleYAML(listRule)})
	a.notice()
	write(t, dir, map[string]string{"role.yaml": roleYAML(getRule + "\n" + listRule)})
	a.settle(t)
	assert.True(t, mayGet(t, a.Authorizer), "a change that was taken back never counts")
	assert.Nil(t, a.change.settled())
}

// The folder may be gone for a while, or be another one of the same name.
func TestReloadOfReplacedFolder(t *testing.T) {
	dir := folderOf(t, map[string]string{"role.yaml": roleYAML(getRule)})
	a := newStepped(t, dir)
	require.NoError(t, os.Rename(dir, dir+".old"))
	a.notice()
	a.settle(t)
	assert.False(t, mayGet(t, a.Authorizer), "without the folder nobody may do anything")
	require.Len(t, a.Problems(), 1)
	require.NoError(t, os.Rename(dir+".old", dir))
	a.notice()
	a.settle(t)
	assert.True(t, mayGet(t, a.Authorizer))
	assert.Empty(t, a.Problems())
}

// A folder that never settles must not keep a revoked right alive.
func TestReloadOfRestlessFolder(t *testing.T) {
	change := &pendingChange{clock: testingclock.NewFakeClock(time.Now()), after: time.Second}
	fake, ok := change.clock.(*testingclock.FakeClock)
	require.True(t, ok)
	for i := range maxUnsettled {
		require.False(t, change.ripe(digest{byte(i)}, false), i)
		change.await(digest{byte(i)}, false)
		fake.Step(time.Second)
	}
	assert.True(t, change.ripe(digest{255}, false))
	change.forget()
	assert.False(t, change.ripe(digest{255}, false), "the next change begins anew")
}

// Design section 3: a broken file grants nothing, and is logged once a change.
func TestReloadOfBrokenFile(t *testing.T) {
	dir := folderOf(t, map[string]string{"role.yaml": roleYAML(getRule)})
	a := newStepped(t, dir)
	require.Zero(t, a.errorsLogged(t))

	write(t, dir, map[string]string{"role.yaml": roleYAML(getRule) + "\nrulez: []"})
	a.notice()
	a.settle(t)
	assert.False(t, mayGet(t, a.Authorizer), "what it granted before is gone")
	require.Len(t, a.Problems(), 1)
	assert.Equal(t, 1, a.errorsLogged(t))

	write(t, dir, map[string]string{"other.yaml": "# nothing to do with it"})
	a.notice()
	a.settle(t)
	assert.Equal(t, 1, a.errorsLogged(t), "the same problem is not logged again")

	write(t, dir, map[string]string{"role.yaml": roleYAML(getRule)})
	a.notice()
	a.settle(t)
	assert.True(t, mayGet(t, a.Authorizer))
	assert.Empty(t, a.Problems())
}
