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

package harness

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"entente.dev/entente/test/process"
)

// KMSPlugin is a KMS v2 plugin in a process of its own. It can be stopped and
// started again, and its keys can change while it runs.
type KMSPlugin struct {
	socket, keys string
	cmd          *exec.Cmd
	output       process.Output
}

// NewKMSPlugin starts a plugin that knows the key "one", and stops it when the test
// ends.
func NewKMSPlugin(t testing.TB) *KMSPlugin {
	t.Helper()
	dir := t.TempDir()
	p := &KMSPlugin{socket: filepath.Join(dir, "socket"), keys: filepath.Join(dir, "keys")}
	p.SetKeys(t, "one")
	p.Start(t)
	t.Cleanup(func() {
		p.Stop(t)
		if t.Failed() {
			t.Logf("the KMS plugin printed:\n%s", p.output.String())
		}
	})
	return p
}

// Provider is the entry for the plugin among the providers of an
// EncryptionConfiguration.
func (p *KMSPlugin) Provider() string {
	return fmt.Sprintf("kms: {apiVersion: v2, name: test, endpoint: 'unix://%s', timeout: 2s}", p.socket)
}

// SetKeys makes the plugin encrypt with the key current, and decrypt with it and
// others. A key is made from its name.
func (p *KMSPlugin) SetKeys(t testing.TB, current string, others ...string) {
	t.Helper()
	keys := map[string][]byte{}
	for _, id := range append(others, current) {
		seed := sha256.Sum256([]byte(id))
		keys[id] = seed[:]
	}
	data, err := json.Marshal(map[string]any{"current": current, "keys": keys})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(p.keys+".new", data, 0o600))
	require.NoError(t, os.Rename(p.keys+".new", p.keys))
}

// Start starts the plugin and waits until it serves.
func (p *KMSPlugin) Start(t testing.TB) {
	t.Helper()
	path, err := buildKMSPlugin()
	require.NoError(t, err)
	p.cmd = exec.CommandContext(context.Background(), path, "--socket", p.socket, "--keys", p.keys)
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	require.NoError(t, p.cmd.Start())
	Eventually(t, "the KMS plugin serves", func(ctx context.Context) bool {
		connection, err := (&net.Dialer{}).DialContext(ctx, "unix", p.socket)
		if err != nil {
			return false
		}
		return connection.Close() == nil
	})
}

// Stop kills the plugin, if it runs.
func (p *KMSPlugin) Stop(t testing.TB) {
	t.Helper()
	if p.cmd == nil {
		return
	}
	require.NoError(t, p.cmd.Process.Kill())
	_ = p.cmd.Wait() // It was killed.
	p.cmd = nil
}

var buildKMSPlugin = sync.OnceValues(func() (string, error) {
	return process.Build("kmsplugin", "./test/kmsplugin")
})
