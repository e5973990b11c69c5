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

package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// othersMayWrite are the permission bits that nothing trusted may have.
const othersMayWrite fs.FileMode = 0o022

// CheckMode refuses what its group or others may write; the error wraps
// ErrInsecure and says how to mend it. What path names is only quoted: the
// caller got info from the open file or from the path, as it needs.
func CheckMode(path string, info fs.FileInfo) error {
	if info.Mode().Perm()&othersMayWrite != 0 {
		return fmt.Errorf("%s has mode %04o: %w (chmod go-w)", path, info.Mode().Perm(), ErrInsecure)
	}
	return nil
}

// EnsureFolder makes the folder at path with mode 0700 if there is none, and
// refuses what is no folder or what others may write. The mode of a folder that
// exists is left as it is.
func EnsureFolder(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return fmt.Errorf("could not make the folder %s: %w", path, err)
		}
		info, err = os.Stat(path)
	}
	if err != nil {
		return fmt.Errorf("could not open the folder %s: %w", path, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("could not open the folder %s: it is a file", path)
	}
	return CheckMode(path, info)
}

// WriteFile writes data to path with mode 0600, whole or not at all: readers
// and a crash see the old content or the new one. Which of the two a loss of
// power leaves is certain only after SyncFolder. The folder must exist.
func WriteFile(path string, data []byte) (err error) {
	// CreateTemp gives mode 0600 whatever the umask is.
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("could not write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("could not write %s: %w", path, err), os.Remove(file.Name()))
		}
	}()
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	return err
}

// SyncFolder makes the names in the folder at path, and what each of them leads
// to, survive a loss of power.
func SyncFolder(path string) error {
	folder, err := os.Open(path)
	if err == nil {
		err = errors.Join(folder.Sync(), folder.Close())
	}
	if err != nil {
		return fmt.Errorf("could not write the folder %s: %w", path, err)
	}
	return nil
}
