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
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"entente.dev/entente/test/process"
)

// Version is what a binary built by Binary calls itself.
const Version = process.EntenteVersion

// Binary is where the server's binary for tests is: the one that ENTENTE_APISERVER
// names, or else one that is built from the sources as they are.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := process.Entente()
	require.NoError(t, err)
	return path
}

// Process is a server in a process of its own. Kubeconfig, Client and the like
// work as for one in this process, once it has said where it listens.
type Process struct {
	*Server

	cmd    *exec.Cmd
	output *process.Output
	ended  chan struct{}
}

// RunBinary runs the binary to its end, which must come within the time a test
// waits for anything.
func RunBinary(t testing.TB, args ...string) Result {
	t.Helper()
	path := Binary(t)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	result := Run(t, exec.CommandContext(ctx, path, args...))
	require.NoErrorf(t, ctx.Err(), "the server did not end: %s", result.Output())
	return result
}

// StartProcess starts the binary as a standalone server on the folder dir and a
// port of its own, and kills it when the test ends.
func StartProcess(t testing.TB, dir string, args ...string) *Process {
	t.Helper()
	// Not the test's context, which ends before the cleanup that looks at the output.
	return StartCommand(t, dir, exec.CommandContext(context.Background(), Binary(t), append([]string{"--standalone", "--data-dir", dir, "--secure-port", "0"}, args...)...))
}

// StartCommand starts a command that is a standalone server on the folder dir, and kills
// it when the test ends.
func StartCommand(t testing.TB, dir string, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{Server: &Server{Dir: dir}, cmd: cmd, output: &process.Output{}, ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	require.NoError(t, p.cmd.Start())
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // How it ended is in ProcessState.
	}()
	t.Cleanup(func() {
		p.Signal(t, syscall.SIGKILL)
		p.WaitEnd(t)
		if t.Failed() {
			t.Logf("the server on %s printed:\n%s", dir, p.Output())
		}
	})
	return p
}

// StartReadyProcess is StartProcess, and waits until the server is ready.
func StartReadyProcess(t testing.TB, dir string, args ...string) *Process {
	t.Helper()
	p := StartProcess(t, dir, args...)
	p.WaitServing(t)
	p.WaitReady(t)
	return p
}

var serving = regexp.MustCompile(`"Serving" address="([^"]+)"`)

// WaitServing waits until the process has said where it listens.
func (p *Process) WaitServing(t testing.TB) {
	t.Helper()
	Eventually(t, "the process says where it listens", func(context.Context) bool {
		select {
		case <-p.ended:
			require.Failf(t, "the process has ended", "%s", p.Output())
		default:
		}
		match := serving.FindStringSubmatch(p.Output())
		if match == nil {
			return false
		}
		p.Base = "https://" + match[1]
		return true
	})
}

// Output is all that the process has printed so far.
func (p *Process) Output() string { return p.output.String() }

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal to the process; one that has ended ignores it.
func (p *Process) Signal(t testing.TB, signal os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		require.ErrorIs(t, err, os.ErrProcessDone)
	}
}

// WaitEnd waits until the process has ended, and returns its exit code, -1 if a
// signal ended it.
func (p *Process) WaitEnd(t testing.TB) int {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(deadline):
		require.Failf(t, "the process has not ended", "within %v: %s", deadline, p.Output())
	}
	return p.cmd.ProcessState.ExitCode()
}
