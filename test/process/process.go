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

// Package process runs programs for tests and for the commands in hack/: short
// ones to their end, and servers that never outlive the process that started them.
package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Command says what to start.
type Command struct {
	// Name is what errors call it.
	Name string
	// Path is where the program is; PATH is not searched.
	Path string
	Args []string
	// Env is added to the environment of this process.
	Env []string
	// Log is the file that gets all it prints; it is appended to.
	Log string
}

// Process is a program that Start started. It is in a process group of its own,
// so that ctrl-c in a terminal reaches only who started it, and on Linux the
// kernel kills it when this process ends, however that ends.
type Process struct {
	name  string
	log   string
	cmd   *exec.Cmd
	ended chan struct{}
	// awaited says that its end is no surprise.
	awaited atomic.Bool
}

// Start starts a program. It runs until Stop, or until this process ends.
func Start(c Command) (*Process, error) {
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("could not start %s: %w", c.Name, err)
	}
	// Not bound to a context: it outlives the call that starts it.
	cmd := &exec.Cmd{
		Path: c.Path, Args: append([]string{c.Path}, c.Args...),
		Env:    append(os.Environ(), c.Env...),
		Stdout: log, Stderr: log,
		SysProcAttr: attributes(),
	}
	p := &Process{name: c.Name, log: c.Log, cmd: cmd, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel kills the child when the thread that started it ends, not the
		// process: this one lives as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		_ = log.Close() // The child has its own.
		started <- err
		if err == nil {
			_ = cmd.Wait() // How it ended is in ProcessState.
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("could not start %s: %w", c.Name, err)
	}
	return p, nil
}

// Name is what errors call it.
func (p *Process) Name() string { return p.name }

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Awaited tells whether Stop was called: the end of the process is no surprise.
func (p *Process) Awaited() bool { return p.awaited.Load() }

// Err says how a process ended that should not have, with the end of its log. It
// is nil while the process runs.
func (p *Process) Err() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s has ended (%s); the end of %s:\n%s", p.name, p.cmd.ProcessState, p.log, p.Tail())
	default:
		return nil
	}
}

// ExitCode is what the process ended with, -1 if a signal ended it or it runs.
func (p *Process) ExitCode() int {
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	default:
		return -1
	}
}

// Signal sends a signal to the process; one that has ended ignores it.
func (p *Process) Signal(signal os.Signal) error {
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("could not send %v to %s: %w", signal, p.name, err)
	}
	return nil
}

// ErrKilled says that a process did not end when asked to.
var ErrKilled = errors.New("it was killed")

// Stop asks the process to end, and kills it, and what it has started, if it has
// not done so after grace; that is an error that wraps ErrKilled. When Stop
// returns the process has ended.
func (p *Process) Stop(grace time.Duration) error {
	p.awaited.Store(true)
	// One that was paused takes no other signal until it goes on.
	err := errors.Join(p.Signal(syscall.SIGTERM), p.Signal(syscall.SIGCONT))
	select {
	case <-p.ended:
		return err
	case <-time.After(grace):
	}
	// Not Process.Kill: the group may hold more than the process.
	if killErr := syscall.Kill(-p.PID(), syscall.SIGKILL); killErr != nil && !errors.Is(killErr, syscall.ESRCH) {
		return errors.Join(err, fmt.Errorf("could not kill %s: %w", p.name, killErr))
	}
	<-p.ended
	return errors.Join(err, fmt.Errorf("%s did not end within %v: %w; the end of %s:\n%s", p.name, grace, ErrKilled, p.log, p.Tail()))
}

// tailBytes is how much of a log a message shows.
const tailBytes = 4 << 10

// Tail is the end of what the process has printed.
func (p *Process) Tail() string {
	content, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	if len(content) > tailBytes {
		content = content[len(content)-tailBytes:]
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(content), ""))
}
