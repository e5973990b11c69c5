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

package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// Result is what a command printed and how it ended.
type Result struct {
	Stdout, Stderr string
	Code           int
}

// Output is all that the command printed.
func (r Result) Output() string { return r.Stdout + r.Stderr }

// Run runs a command to its end and returns whatever came of it. That it ended
// with another code than 0 is no error.
func Run(cmd *exec.Cmd) (Result, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	result := Result{Stdout: stdout.String(), Stderr: stderr.String()}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		result.Code = exit.ExitCode()
		err = nil
	}
	return result, err
}

// Stream is a command that runs until it is stopped.
type Stream struct {
	output Output
	cancel context.CancelFunc
	ended  chan struct{}
}

// StartStream starts a command that was made with a context that cancel ends.
func StartStream(cmd *exec.Cmd, cancel context.CancelFunc) (*Stream, error) {
	s := &Stream{cancel: cancel, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &s.output, &s.output
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	go func() {
		defer close(s.ended)
		_ = cmd.Wait() // It is killed, as a rule.
	}()
	return s, nil
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

// Output is what a command prints, which is read while it prints.
type Output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write adds to it.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

// String is all that was written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// Find returns the path that an environment variable names, or else that of
// bin/NAME in the working folder or one above it. The error says which target of
// make makes it.
func Find(variable, name, target string) (string, error) {
	if path := os.Getenv(variable); path != "" {
		return path, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		path := filepath.Join(dir, "bin", name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("bin/%s is missing: run `make %s` first", name, target)
}
