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

package process_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/wait"

	"entente.dev/entente/test/process"
)

const patience = 30 * time.Second

func start(t *testing.T, script string) *process.Process {
	t.Helper()
	p, err := process.Start(process.Command{Name: "script", Path: "/bin/sh", Args: []string{"-c", script}, Log: filepath.Join(t.TempDir(), "log")})
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Stop(0) })
	return p
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	require.NoError(t, err, what)
}

// A process that ends when asked to is no error, one that is paused is asked too,
// and one that does not end is killed with what it has started.
func TestStop(t *testing.T) {
	t.Run("asked", func(t *testing.T) {
		p := start(t, `trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done`)
		eventually(t, "it prints", func() bool { return p.Tail() == "ready" })
		require.NoError(t, p.Err())
		require.NoError(t, p.Stop(patience))
		assert.Zero(t, p.ExitCode())
		assert.True(t, p.Awaited())
		require.NoError(t, p.Stop(patience), "stopping again does nothing")
	})
	t.Run("paused", func(t *testing.T) {
		p := start(t, `trap 'exit 3' TERM; echo ready; while :; do sleep 0.01; done`)
		eventually(t, "it prints", func() bool { return p.Tail() == "ready" })
		require.NoError(t, p.Signal(syscall.SIGSTOP))
		require.NoError(t, p.Stop(patience))
		assert.Equal(t, 3, p.ExitCode())
	})
	t.Run("killed", func(t *testing.T) {
		marker := filepath.Join(t.TempDir(), "fifo")
		require.NoError(t, syscall.Mkfifo(marker, 0o600))
		// The child holds the pipe open for as long as it lives.
		p := start(t, `trap '' TERM; sh -c 'exec 3>"$0"; echo ready; while :; do sleep 0.01; done' `+marker+` & wait`)
		pipe, err := os.Open(marker)
		require.NoError(t, err)
		defer pipe.Close()
		eventually(t, "it prints", func() bool { return p.Tail() == "ready" })
		err = p.Stop(10 * time.Millisecond)
		require.ErrorIs(t, err, process.ErrKilled)
		require.ErrorContains(t, err, "ready", "the error has the end of the log")
		assert.Equal(t, -1, p.ExitCode())
		_, err = pipe.Read(make([]byte, 1))
		require.ErrorContains(t, err, "EOF", "the child has outlived it")
	})
}

// One that ends by itself says how.
func TestErr(t *testing.T) {
	p := start(t, "echo what a pity >&2; exit 4")
	<-p.Ended()
	require.ErrorContains(t, p.Err(), "script has ended (exit status 4)")
	require.ErrorContains(t, p.Err(), "what a pity")
	assert.False(t, p.Awaited())
	require.NoError(t, p.Signal(syscall.SIGTERM))
}

// Results are of every exit code; what cannot be run is an error.
func TestRun(t *testing.T) {
	result, err := process.Run(exec.CommandContext(t.Context(), "/bin/sh", "-c", "echo out; echo err >&2; exit 5"))
	require.NoError(t, err)
	assert.Equal(t, process.Result{Stdout: "out\n", Stderr: "err\n", Code: 5}, result)
	_, err = process.Run(exec.CommandContext(t.Context(), "/nowhere/at/all"))
	require.Error(t, err)
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "bin"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "a", "b"), 0o700))
	program := filepath.Join(root, "bin", "program")
	require.NoError(t, os.WriteFile(program, nil, 0o700))
	t.Chdir(filepath.Join(root, "a", "b"))
	found, err := process.Find("ENTENTE_TEST_PROGRAM", "program", "programs")
	require.NoError(t, err)
	assert.Equal(t, program, found)
	t.Setenv("ENTENTE_TEST_PROGRAM", "/elsewhere")
	found, err = process.Find("ENTENTE_TEST_PROGRAM", "program", "programs")
	require.NoError(t, err)
	assert.Equal(t, "/elsewhere", found)
	_, err = process.Find("ENTENTE_TEST_OTHER", "other", "programs")
	require.EqualError(t, err, "bin/other is missing: run `make programs` first")
}
