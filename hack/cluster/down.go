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
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"

	"entente.dev/entente/test/install"
)

// stopTimeout is how long the supervisor may take to stop everything: Entente gets
// the most of it.
const stopTimeout = install.StopGrace + 15*time.Second

// down stops the cluster and removes its folder.
func (c cluster) down(ctx context.Context) error {
	lock, err := c.lock()
	switch {
	case errors.Is(err, fileutil.ErrLocked):
		if lock, err = c.stopSupervisor(ctx); err != nil {
			return fmt.Errorf("could not stop cluster %s: %w", c.name, err)
		}
		fmt.Printf("Cluster %s is stopped; %s is removed.\n", c.name, c.folder())
	case err != nil:
		return fmt.Errorf("could not stop cluster %s: %w", c.name, err)
	default:
		fmt.Printf("Cluster %s does not run; what may be left in %s is removed.\n", c.name, c.folder())
	}
	defer lock.Close()
	if err := c.remove(); err != nil {
		err = fmt.Errorf("could not remove what is left of cluster %s: %w", c.name, err)
		return errors.Join(err, os.Remove(c.lockFile()))
	}
	return os.Remove(c.lockFile())
}

// downAll stops every cluster there is a lock of.
func downAll(ctx context.Context, s settings) error {
	locks, err := filepath.Glob(filepath.Join(s.root, "*"+lockSuffix))
	if err != nil {
		return err
	}
	var errs []error
	for _, path := range locks {
		errs = append(errs, cluster{settings: s, name: strings.TrimSuffix(filepath.Base(path), lockSuffix)}.down(ctx))
	}
	return errors.Join(errs...)
}

// stopSupervisor asks the supervisor to stop everything and kills it, and with it
// all that it has started, if that takes too long. It returns the lock.
func (c cluster) stopSupervisor(ctx context.Context) (*os.File, error) {
	deadline := time.Now().Add(stopTimeout)
	signal := syscall.SIGTERM
	sent := false
	for {
		lock, err := c.lock()
		if !errors.Is(err, fileutil.ErrLocked) {
			return lock, err
		}
		if time.Now().After(deadline) {
			if signal == syscall.SIGKILL {
				return nil, fmt.Errorf("process of %s does not end", c.lockFile())
			}
			fmt.Printf("Cluster %s does not stop within %v and is killed.\n", c.name, stopTimeout)
			signal, sent, deadline = syscall.SIGKILL, false, time.Now().Add(stopTimeout)
		}
		if !sent {
			pid, err := c.supervisor()
			if err != nil {
				return nil, err
			}
			// It holds the lock, so the number is still its.
			if pid != 0 {
				if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
					return nil, err
				}
				sent = true
			}
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(poll):
		}
	}
}
