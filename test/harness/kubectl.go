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
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Kubectl is where the kubectl for tests is, from the environment that `make
// test-integration` sets up, or else from bin/ above the test's folder.
func Kubectl(t testing.TB) string {
	t.Helper()
	return binary(t, "ENTENTE_KUBECTL", "kubectl")
}

func binary(t testing.TB, variable, name string) string {
	t.Helper()
	if path := os.Getenv(variable); path != "" {
		return path
	}
	dir, err := os.Getwd()
	require.NoError(t, err)
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		path := filepath.Join(dir, "bin", name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	require.Failf(t, "no binary", "bin/%s is missing: run `make %s` first", name, name)
	return ""
}

// Result is what a command printed and how it ended.
type Result struct {
	Stdout, Stderr string
	Code           int
}

// Output is all that the command printed.
func (r Result) Output() string { return r.Stdout + r.Stderr }

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
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	result := Result{Stdout: stdout.String(), Stderr: stderr.String()}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		result.Code = exit.ExitCode()
	} else {
		require.NoError(t, err)
	}
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
type Stream struct {
	output output
	cancel context.CancelFunc
	ended  chan struct{}
}

// StartKubectl runs kubectl as a user until Stop, or until the test ends.
func (s *Server) StartKubectl(t testing.TB, user string, args ...string) *Stream {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	stream := &Stream{cancel: cancel, ended: make(chan struct{})}
	cmd := s.KubectlCommand(ctx, t, user, args...)
	cmd.Stdout, cmd.Stderr = &stream.output, &stream.output
	require.NoError(t, cmd.Start())
	go func() {
		defer close(stream.ended)
		_ = cmd.Wait() // It is killed, as a rule.
	}()
	t.Cleanup(stream.Stop)
	return stream
}

// Output is all that it has printed so far.
func (s *Stream) Output() string { return s.output.String() }

// Ended is closed when it has ended.
func (s *Stream) Ended() <-chan struct{} { return s.ended }

// Stop ends it.
func (s *Stream) Stop() {
	s.cancel()
	<-s.ended
}
