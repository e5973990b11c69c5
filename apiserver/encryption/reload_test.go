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

package encryption

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"
	testingclock "k8s.io/utils/clock/testing"
)

// R17: a changed file is taken while the server runs, unless it would leave
// something in the clear or cannot be used: then what was in use stays in use.
func TestR17Reload(t *testing.T) {
	client := startStore(t)
	clock := testingclock.NewFakeClock(time.Now())
	config := testConfig(client, nil)
	config.ProviderConfigFile = writeFile(t, "", file(rule(both, gcm("a"))))
	config.AutomaticReload, config.Clock = true, clock
	e := open(t, config)
	put(t, client, e, peers, "old", "hello")

	var mu sync.Mutex
	var logged strings.Builder
	logger := funcr.New(func(prefix, args string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(&logged, prefix, args)
	}, funcr.Options{})
	log := func() string {
		mu.Lock()
		defer mu.Unlock()
		return logged.String()
	}
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), logger))
	var running sync.WaitGroup
	running.Go(func() { e.Run(ctx) })
	t.Cleanup(running.Wait)
	t.Cleanup(cancel)
	// look makes Run look at the file twice, so that it has looked once, wholly.
	look := func() {
		for range 2 {
			require.Eventually(t, clock.HasWaiters, 30*time.Second, time.Millisecond)
			clock.Step(defaultPollInterval)
		}
	}
	writes := func(prefix string) {
		t.Helper()
		put(t, client, e, peers, "new", "hello")
		assert.Truef(t, strings.HasPrefix(getRaw(t, client, keyOf(peers, "new")), prefix), "it does not write with %s", prefix)
		for _, name := range []string{"old", "new"} {
			plain, _ := get(t, client, e, peers, name)
			assert.Equal(t, "hello", plain)
		}
	}
	writes("k8s:enc:aesgcm:v1:a:")

	for i, bad := range []string{
		file(rule("peers.peering.test", box("b"), gcm("a"))),
		file(rule(both, identity, gcm("a"))),
		file(rule("'*.*'", identity)),
		"",
		"kind: " + secretOf("b"),
		"resources: " + secretOf("b"),
	} {
		writeFile(t, config.ProviderConfigFile, bad)
		require.Eventually(t, func() bool { look(); return strings.Count(log(), "was not taken") == i+1 }, 30*time.Second, time.Millisecond, "file %d", i)
		writes("k8s:enc:aesgcm:v1:a:")
	}
	look()
	assert.Equal(t, 6, strings.Count(log(), "was not taken"), "one fault is said more than once")
	require.NoError(t, os.Remove(config.ProviderConfigFile))
	require.Eventually(t, func() bool { look(); return strings.Contains(log(), "no such file") }, 30*time.Second, time.Millisecond)
	writes("k8s:enc:aesgcm:v1:a:")

	writeFile(t, config.ProviderConfigFile, file(rule(both, box("b"), gcm("a"))))
	require.Eventually(t, func() bool { look(); return strings.Contains(log(), "Took a changed") }, 30*time.Second, time.Millisecond)
	writes("k8s:enc:secretbox:v1:b:")
	look()
	look()
	assert.Equal(t, 1, strings.Count(log(), "Took a changed"), "a file that did not change is taken again")
	_, stale := get(t, client, e, peers, "old")
	assert.True(t, stale, "what the key before encrypted is to be encrypted anew")
	assert.NotContains(t, log(), secretOf("b")[:12], "R15")
}

// Without the flag the file is read once.
func TestReloadIsAskedFor(t *testing.T) {
	config := testConfig(startStore(t), nil)
	config.ProviderConfigFile = writeFile(t, "", file(rule(both, gcm("a"))))
	open(t, config).Run(t.Context()) // returns
}
