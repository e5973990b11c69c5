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
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// cluster is a control plane of a name, running or not.
type cluster struct {
	settings

	name string
}

// folder holds all that is the cluster's; a new cluster starts with a new folder.
func (c cluster) folder() string { return filepath.Join(c.root, c.name) }

// log is what the supervisor prints.
func (c cluster) log() string { return filepath.Join(c.folder(), "logs", "cluster.log") }

// ready is written when the cluster is up; it is what there is to tell people.
func (c cluster) ready() string { return filepath.Join(c.folder(), "ready") }

// remove removes the folder, if it is a cluster's: others may have theirs beside it.
func (c cluster) remove() error {
	if _, err := os.Stat(c.folder()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Stat(c.marker()); err != nil {
		return fmt.Errorf("%s is not the folder of a cluster; choose another name", c.folder())
	}
	return os.RemoveAll(c.folder())
}

// marker is a file that only the folder of a cluster has.
func (c cluster) marker() string { return filepath.Join(c.folder(), ".cluster") }

// lockSuffix marks the files that say whether a cluster runs: it does while the
// file is locked. It is beside the folder, which comes and goes.
const lockSuffix = ".lock"

func (c cluster) lockFile() string { return c.folder() + lockSuffix }

// lock claims the name. It is given to the supervisor, and is free again when
// nobody has it open any more, however that came about.
func (c cluster) lock() (*os.File, error) {
	if err := os.MkdirAll(c.root, 0o700); err != nil {
		return nil, err
	}
	for {
		lock, err := fileutil.TryLockFile(c.lockFile(), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		// Somebody may have removed the file after it was opened here: then it is
		// another one that counts.
		if !current(lock.File, c.lockFile()) {
			_ = lock.Close()
			continue
		}
		// The number of whoever had it before is not to be sent signals.
		if err := lock.Truncate(0); err != nil {
			return nil, errors.Join(err, lock.Close())
		}
		return lock.File, nil
	}
}

// current tells whether a file that is open is the one that the path leads to.
func current(file *os.File, path string) bool {
	opened, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(opened, there)
}

// supervisor is the number of the process that holds the lock, 0 if it has not
// said so yet.
func (c cluster) supervisor() (int, error) {
	content, err := os.ReadFile(c.lockFile())
	if err != nil {
		return 0, err
	}
	text := strings.TrimSpace(string(content))
	if text == "" {
		return 0, nil
	}
	pid, err := strconv.Atoi(text)
	if err != nil || pid <= 1 {
		return 0, fmt.Errorf("%s does not hold the number of a process", c.lockFile())
	}
	return pid, nil
}

// tail returns the end of a file.
func tail(path string) string {
	const length = 8 << 10
	file, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > length {
		_, _ = file.Seek(-length, io.SeekEnd)
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(content), ""))
}
