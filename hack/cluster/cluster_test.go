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

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"k8s.io/apimachinery/pkg/util/wait"

	"entente.dev/entente/test/kube"
	"entente.dev/entente/test/process"
)

// asCommand makes this binary be the command instead of running tests. The
// supervisor inherits it.
const asCommand = "ENTENTE_TEST_CLUSTER_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// site is a folder for clusters of a test.
type site struct {
	root, kube, entente, deploy string
}

func newSite(t *testing.T) site {
	t.Helper()
	bin, err := kube.FindBin()
	require.NoError(t, err)
	entente, err := process.Entente()
	require.NoError(t, err)
	module, err := process.ModuleRoot()
	require.NoError(t, err)
	s := site{root: t.TempDir(), kube: bin, entente: entente, deploy: filepath.Join(module, "artifacts", "overlays", "clusters")}
	t.Cleanup(func() {
		result, err := process.Run(s.commandContext(context.Background(), "down", "--all"))
		require.NoError(t, err)
		assert.Zero(t, result.Code, result.Output())
	})
	return s
}

func (s site) commandContext(ctx context.Context, verb string, args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	cmd := exec.CommandContext(ctx, self, append([]string{verb, "--root", s.root, "--kube", s.kube, "--entente", s.entente, "--deploy", s.deploy}, args...)...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	return cmd
}

func (s site) command(t *testing.T, verb string, args ...string) process.Result {
	t.Helper()
	result, err := process.Run(s.commandContext(t.Context(), verb, args...))
	require.NoError(t, err)
	return result
}

// says runs a command line that the cluster printed.
func (s site) says(t *testing.T, line string) process.Result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	cmd.Env = append(os.Environ(), "KUBERC=off", "KUBECACHEDIR="+t.TempDir())
	result, err := process.Run(cmd)
	require.NoError(t, err)
	return result
}

// pids are the supervisor's, the first, and those of what it has started.
func pids(t *testing.T, s site, name string) []int {
	t.Helper()
	supervisor, err := cluster{settings: settings{root: s.root}, name: name}.supervisor()
	require.NoError(t, err)
	require.NotZero(t, supervisor)
	processes, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	found := []int{supervisor}
	for _, path := range processes {
		content, err := os.ReadFile(path)
		if err != nil {
			continue // It has ended.
		}
		// State and parent follow the name, which is in brackets.
		_, rest, _ := strings.Cut(string(content), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(supervisor) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			require.NoError(t, err)
			found = append(found, pid)
		}
	}
	return found
}

// whole is the number of processes of a cluster that is up: a supervisor, three of
// Kubernetes, and Entente.
const whole = 5

func runs(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	require.NoError(t, err, "did not happen in a minute: %s", what)
}

// A cluster comes up in the background, is what its text says, comes up once, peers
// with another one beside it, and goes without a trace; the other one does notice, and
// runs on.
func TestUpDown(t *testing.T) {
	s := newSite(t)
	up := s.command(t, "up", "east")
	require.Zero(t, up.Code, up.Output())
	started := pids(t, s, "east")
	require.Len(t, started, whole)

	var lines []string
	for line := range strings.Lines(up.Stdout) {
		if strings.Contains(line, "kubectl") {
			lines = append(lines, line)
		}
	}
	require.Len(t, lines, 5, up.Stdout)
	apply := s.says(t, lines[0])
	require.Zero(t, apply.Code, apply.Output())
	eventually(t, "the viewer sees that a connection string is issued", func() bool {
		viewer := s.says(t, lines[1])
		require.Zero(t, viewer.Code, viewer.Output())
		assert.NotContains(t, viewer.Stdout, "entente1.")
		return strings.Contains(viewer.Stdout, "connectionString: <omitted>")
	})
	admin := s.says(t, lines[2])
	assert.Contains(t, admin.Stdout, "connectionString: entente1.", admin.Stderr)
	refused := s.says(t, strings.Replace(lines[2], "admin.kubeconfig", "operator.kubeconfig", 1))
	assert.Contains(t, refused.Stderr, "Forbidden")

	again := s.command(t, "up", "east")
	require.Zero(t, again.Code, again.Output())
	assert.Contains(t, again.Stdout, "Cluster east runs already.")
	assert.Contains(t, again.Stdout, "east/viewer.kubeconfig")
	assert.Equal(t, started, pids(t, s, "east"))

	west := s.command(t, "up", "west")
	require.Zero(t, west.Code, west.Output())
	join := s.says(t, lines[3])
	require.Zero(t, join.Code, join.Output())
	eventually(t, "west is a peer of east", func() bool {
		return regexp.MustCompile(`(?m)^east +Join +Active +True +Active +east `).MatchString(s.says(t, lines[4]).Stdout)
	})
	down := s.command(t, "down", "east")
	require.Zero(t, down.Code, down.Output())
	for _, pid := range started {
		assert.False(t, runs(pid))
	}
	assert.NoDirExists(t, filepath.Join(s.root, "east"))
	assert.NoFileExists(t, filepath.Join(s.root, "east"+lockSuffix))
	for _, pid := range pids(t, s, "west") {
		assert.True(t, runs(pid))
	}

	again = s.command(t, "down", "east")
	require.Zero(t, again.Code, again.Output())
	assert.Contains(t, again.Stdout, "does not run")
}

// A supervisor that is killed takes everything with it, and its name is free.
func TestKilledSupervisor(t *testing.T) {
	s := newSite(t)
	require.Zero(t, s.command(t, "up", "east").Code)
	started := pids(t, s, "east")
	require.Len(t, started, whole)
	require.NoError(t, syscall.Kill(started[0], syscall.SIGKILL))
	for _, pid := range started {
		eventually(t, "it ends", func() bool { return !runs(pid) })
	}
	again := s.command(t, "up", "east")
	require.Zero(t, again.Code, again.Output())
	assert.NotContains(t, again.Stdout, "runs already")
}

// When a process dies the rest is stopped: a half cluster helps nobody.
func TestDeadProcess(t *testing.T) {
	s := newSite(t)
	require.Zero(t, s.command(t, "up", "east").Code)
	started := pids(t, s, "east")
	require.Len(t, started, whole)
	require.NoError(t, syscall.Kill(started[len(started)-1], syscall.SIGKILL))
	for _, pid := range started {
		eventually(t, "it ends", func() bool { return !runs(pid) })
	}
	log, err := os.ReadFile(filepath.Join(s.root, "east", "logs", "cluster.log"))
	require.NoError(t, err)
	assert.Contains(t, string(log), "has ended (signal: killed)")
}

// What does not come up says why, with another code than 0, and leaves nothing
// running.
func TestUpFails(t *testing.T) {
	s := newSite(t)
	t.Run("a program that ends", func(t *testing.T) {
		s := s
		s.entente = filepath.Join(t.TempDir(), "entente-apiserver")
		require.NoError(t, os.WriteFile(s.entente, []byte("#!/bin/sh\necho what a pity >&2\nexit 1\n"), 0o700))
		up := s.command(t, "up", "east")
		assert.Equal(t, 1, up.Code)
		assert.Contains(t, up.Stderr, "what a pity")
		lock, err := fileutil.TryLockFile(filepath.Join(s.root, "east"+lockSuffix), os.O_RDWR, 0o600)
		require.NoError(t, err, "something still runs")
		require.NoError(t, lock.Close())
	})
	t.Run("an interruption", func(t *testing.T) {
		cmd := s.commandContext(t.Context(), "up", "west")
		require.NoError(t, cmd.Start())
		eventually(t, "kube-apiserver starts", func() bool {
			_, err := os.Stat(filepath.Join(s.root, "west", "logs", "kube-apiserver.log"))
			return err == nil
		})
		started := pids(t, s, "west")
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		require.Error(t, cmd.Wait())
		for _, pid := range started {
			assert.False(t, runs(pid))
		}
	})
	t.Run("usage", func(t *testing.T) {
		for _, args := range [][]string{{}, {"A"}, {"../x"}, {"a", "b"}, {"--all"}, {"--nonsense", "a"}} {
			assert.Equal(t, 2, s.command(t, "up", args...).Code, args)
		}
	})
}

// What is not the folder of a cluster, as the data of `make run` beside it, is not
// removed in its name.
func TestOtherFoldersAreLeftAlone(t *testing.T) {
	c := cluster{settings: settings{root: t.TempDir()}, name: "entente"}
	require.NoError(t, c.remove(), "nothing is there")
	require.NoError(t, os.MkdirAll(c.folder(), 0o700))
	require.ErrorContains(t, c.remove(), "is not the folder of a cluster")
	require.DirExists(t, c.folder())
	require.NoError(t, os.WriteFile(c.marker(), nil, 0o600))
	require.NoError(t, c.remove())
	require.NoDirExists(t, c.folder())
}
