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

package credentials

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"entente.dev/entente/controllers/targets"
)

// maxSize bounds what is read of a file, in bytes: what a Secret of a cluster can hold.
const maxSize = 1 << 20

// Files reads from a folder: NAMESPACE/NAME/KEY. Nothing outside of the folder is read,
// whatever the names are and wherever links in it lead.
type Files struct {
	folder string
}

var _ targets.Credentials = &Files{}

// NewFiles returns what reads from a folder, which need not be there.
func NewFiles(folder string) *Files { return &Files{folder} }

// Secret implements targets.Credentials.
func (f *Files) Secret(_ context.Context, namespace, name, key string) ([]byte, error) {
	return f.read(namespace, name, key)
}

// ConfigMap implements targets.Credentials. Its files are beside those of Secrets.
func (f *Files) ConfigMap(_ context.Context, namespace, name, key string) ([]byte, error) {
	return f.read(namespace, name, key)
}

func (f *Files) read(namespace, name, key string) ([]byte, error) {
	for _, part := range []string{namespace, name, key} {
		if part == "" || part == "." || part != filepath.Base(part) || !filepath.IsLocal(part) {
			return nil, targets.ErrAbsent
		}
	}
	root, err := os.OpenRoot(f.folder)
	if err != nil {
		return nil, problem(err, targets.ErrAbsent)
	}
	defer root.Close()
	path := filepath.Join(namespace, name)
	// To open a pipe would never end, for a folder or for a file.
	if info, err := root.Stat(path); err != nil || !info.IsDir() {
		return nil, problem(err, targets.ErrAbsent)
	}
	folder, err := root.OpenRoot(path)
	if err != nil {
		return nil, problem(err, targets.ErrAbsent)
	}
	defer folder.Close()
	if info, err := folder.Stat(key); err != nil || !info.Mode().IsRegular() {
		return nil, problem(err, targets.ErrNoKey)
	}
	file, err := folder.Open(key)
	if err != nil {
		return nil, problem(err, targets.ErrNoKey)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	if err != nil {
		return nil, problem(err, targets.ErrNoKey)
	}
	if len(content) > maxSize {
		return nil, fmt.Errorf("it has more than %d bytes", maxSize)
	}
	return content, nil
}

// problem says why a file cannot be read, without its path.
func problem(err, absent error) error {
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
		return absent
	case errors.Is(err, fs.ErrPermission):
		return targets.ErrForbidden
	}
	return errors.New("its file cannot be read")
}
