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

// Package datadir guards the folder that --data-dir names: one process at a
// time, one format, and no hands on it but its owner's. Everything else that
// lives in the folder (the embedded store, the standalone mode's keys) assumes
// that this package has been asked first.
package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// FormatVersion is the layout of the data folder that this program writes. A
// folder with a higher number was last used by a newer program.
const FormatVersion = 1

const (
	lockFile    = "lock"
	versionFile = "version"
)

var (
	// ErrInUse says that another process (or another server in this one) holds
	// the data folder.
	ErrInUse = errors.New("the data folder is in use")
	// ErrNewerFormat says that the data folder was written by a newer program.
	ErrNewerFormat = errors.New("the data folder was written by a newer version of Entente")
	// ErrInsecure says that others than the owner may write a file or a folder
	// that has to be trusted.
	ErrInsecure = errors.New("it must not be writable by its group or by others")
)

// Claim is the exclusive use of one data folder, from Acquire to Release. It
// may be shared by everything within one server.
type Claim struct {
	path    string
	release func() error
}

// Acquire makes the folder at path if need be (mode 0700), locks it against
// every other process and checks its format; an empty folder gets the current
// format. The lock goes with the process, so a crash never leaves one behind.
//
// Errors wrap ErrInUse, ErrNewerFormat or ErrInsecure where one of them is the
// cause; all others are those of the file system. Nothing stays locked then.
func Acquire(path string) (*Claim, error) {
	if path == "" {
		return nil, errors.New("could not use the data folder: no path given")
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("could not use the data folder %s: %w", path, err)
	}
	if err := EnsureFolder(absolute); err != nil {
		return nil, fmt.Errorf("could not use the data folder: %w", err)
	}
	lock, err := acquireLock(filepath.Join(absolute, lockFile))
	if err != nil {
		return nil, fmt.Errorf("could not use the data folder %s: %w", absolute, err)
	}
	if err := checkVersion(filepath.Join(absolute, versionFile)); err != nil {
		return nil, errors.Join(fmt.Errorf("could not use the data folder %s: %w", absolute, err), lock.Close())
	}
	return &Claim{path: absolute, release: sync.OnceValue(lock.Close)}, nil
}

// Path is the absolute path of the folder.
func (c *Claim) Path() string {
	return c.path
}

// Release gives the folder up. Calling it again does nothing and answers the
// same.
func (c *Claim) Release() error {
	return c.release()
}

// acquireLock takes the lock and leaves the process id in the file, for the
// message that a second process prints. The id is a hint only: what counts is
// the lock.
func acquireLock(path string) (*fileutil.LockedFile, error) {
	lock, err := fileutil.TryLockFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fileutil.ErrLocked) {
		if holder, readErr := os.ReadFile(path); readErr == nil {
			if pid, convErr := strconv.Atoi(strings.TrimSpace(string(holder))); convErr == nil {
				return nil, fmt.Errorf("%w by process %d", ErrInUse, pid)
			}
		}
		return nil, fmt.Errorf("%w by another process", ErrInUse)
	}
	if err != nil {
		return nil, fmt.Errorf("could not lock it: %w", err)
	}
	if err := lock.Truncate(0); err != nil {
		return nil, errors.Join(fmt.Errorf("could not lock it: %w", err), lock.Close())
	}
	if _, err := lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return nil, errors.Join(fmt.Errorf("could not lock it: %w", err), lock.Close())
	}
	return lock, nil
}

// checkVersion compares the folder's format with ours. A folder without the
// file counts as format 1: the first format is the only one that can have been
// restored from an etcd snapshot alone.
func checkVersion(path string) error {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return WriteFile(path, []byte(strconv.Itoa(FormatVersion)+"\n"))
	}
	if err != nil {
		return fmt.Errorf("could not read its format: %w", err)
	}
	version, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil || version < 1 {
		return fmt.Errorf("could not read its format: %s does not hold a format number", path)
	}
	if version > FormatVersion {
		return fmt.Errorf("%w: it has format %d, this one knows up to format %d", ErrNewerFormat, version, FormatVersion)
	}
	return nil
}
