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
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// poll is the time between two looks at something awaited.
const poll = 50 * time.Millisecond

// up starts the cluster in the background and returns when it is of use. If it does
// not come up, or is interrupted, nothing keeps running.
func (c cluster) up(ctx context.Context) error {
	lock, err := c.lock()
	if errors.Is(err, fileutil.ErrLocked) {
		return c.alreadyUp()
	}
	if err != nil {
		return fmt.Errorf("could not start cluster %s: %w", c.name, err)
	}
	fmt.Printf("Starting cluster %s in %s (about 10 seconds)\n", c.name, c.folder())
	err = c.startSupervisor(ctx, lock)
	_ = lock.Close() // The supervisor has it, or nobody.
	if err != nil {
		return fmt.Errorf("could not start cluster %s: %w", c.name, err)
	}
	content, err := os.ReadFile(c.ready())
	if err != nil {
		return err
	}
	fmt.Print(string(content))
	return nil
}

func (c cluster) alreadyUp() error {
	content, err := os.ReadFile(c.ready())
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cluster %s is being started or stopped by somebody else", c.name)
	}
	if err != nil {
		return err
	}
	fmt.Printf("Cluster %s runs already.\n%s", c.name, content)
	return nil
}

// startSupervisor starts the supervisor and waits until the cluster is up.
func (c cluster) startSupervisor(ctx context.Context, lock *os.File) error {
	// What is there is left from one that was killed, or that did not come up.
	if err := c.remove(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.log()), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(c.marker(), nil, 0o600); err != nil {
		return err
	}
	log, err := os.OpenFile(c.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// Not bound to the context: it goes on when this process is done.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), self, serve,
		"--root", c.root, "--kube", c.kube, "--entente", c.entente, "--deploy", c.deploy, c.name)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{lock}
	// A session of its own: closing the terminal does not reach it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // It tells in the log.
	}()
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		select {
		case <-ended:
			return fmt.Errorf("the end of %s:\n%s\nMore is in %s", c.log(), tail(c.log()), filepath.Dir(c.log()))
		case <-ctx.Done():
			_ = cmd.Process.Signal(syscall.SIGTERM) // It stops what it has started.
			<-ended
			return context.Cause(ctx)
		case <-ticker.C:
			if _, err := os.Stat(c.ready()); err == nil {
				return nil
			}
		}
	}
}
