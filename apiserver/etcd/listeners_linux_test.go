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

package etcd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Design section 3: the store is reached through one unix socket; no TCP
// listener, no abstract socket (which would have no permissions).
func TestNoOtherListener(t *testing.T) {
	before := listeners(t)
	server := startStore(t, Config{Dir: t.TempDir()})
	var opened []string
	for inode, address := range listeners(t) {
		if _, ok := before[inode]; !ok {
			opened = append(opened, address)
		}
	}
	assert.Equal(t, []string{strings.TrimPrefix(server.Endpoint(), "unix://")}, opened)
}

// listeners are the addresses that this process listens on, by inode.
func listeners(t *testing.T) map[string]string {
	t.Helper()
	const (
		tcpStateListen  = "0A"
		unixFlagsAccept = "00010000"
	)
	own := map[string]bool{}
	descriptors, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	for _, descriptor := range descriptors {
		if target, err := os.Readlink(descriptor); err == nil && strings.HasPrefix(target, "socket:[") {
			own[strings.TrimSuffix(strings.TrimPrefix(target, "socket:["), "]")] = true
		}
	}
	found := map[string]string{}
	rows := func(path string, each func(fields []string)) {
		content, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			return
		}
		require.NoError(t, err)
		for line := range strings.Lines(string(content)) {
			each(strings.Fields(line))
		}
	}
	for _, path := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		rows(path, func(f []string) {
			if len(f) > 9 && f[3] == tcpStateListen && own[f[9]] {
				found[f[9]] = "tcp " + f[1]
			}
		})
	}
	rows("/proc/self/net/unix", func(f []string) {
		if len(f) > 7 && f[3] == unixFlagsAccept && own[f[6]] {
			found[f[6]] = f[7]
		}
	})
	return found
}
