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
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"entente.dev/entente/test/process"
)

// Kubectl is where the kubectl for tests is, from the environment that `make
// test-integration` sets up, or else from bin/ above the test's folder.
func Kubectl(t testing.TB) string {
	t.Helper()
	path, err := process.Find("ENTENTE_KUBECTL", "kubectl", "kubectl")
	require.NoError(t, err)
	return path
}

// Result is what a command printed and how it ended.
type Result = process.Result

// Kubectl runs kubectl as a user, with stdin, and returns whatever came of it.
func (s *Server) Kubectl(t testing.TB, user, stdin string, args ...string) Result {
	t.Helper()
	cmd := s.KubectlCommand(t.Context(), t, user, args...)
	cmd.Stdin = strings.NewReader(stdin)
	return Run(t, cmd)
}

// KubectlCommand is kubectl as a user, not started yet, for tests that add to its
// environment or read what it prints while it runs.
func (s *Server) KubectlCommand(ctx context.Context, t testing.TB, user string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(ctx, Kubectl(t), append([]string{"--kubeconfig", s.Kubeconfig(user), "--cache-dir", filepath.Join(s.Dir, "kubectl-cache")}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG=", "KUBERC=off")
	return cmd
}

// Run runs a command to its end and returns whatever came of it.
func Run(t testing.TB, cmd *exec.Cmd) Result {
	t.Helper()
	result, err := process.Run(cmd)
	require.NoError(t, err)
	return result
}

// MustKubectl runs kubectl as a user and requires that it succeeds.
func (s *Server) MustKubectl(t testing.TB, user, stdin string, args ...string) string {
	t.Helper()
	result := s.Kubectl(t, user, stdin, args...)
	require.Zerof(t, result.Code, "kubectl %s as %s: %s", strings.Join(args, " "), user, result.Output())
	return result.Stdout
}

// Stream is a kubectl that runs until it is stopped.
type Stream = process.Stream

// StartKubectl runs kubectl as a user until Stop, or until the test ends.
func (s *Server) StartKubectl(t testing.TB, user string, args ...string) *Stream {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	stream, err := process.StartStream(s.KubectlCommand(ctx, t, user, args...), cancel)
	require.NoError(t, err)
	t.Cleanup(stream.Stop)
	return stream
}
