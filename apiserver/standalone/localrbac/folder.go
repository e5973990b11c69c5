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

package localrbac

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"entente.dev/entente/apiserver/etcd/datadir"
)

// maxFileSize limits a manifest, in bytes.
const maxFileSize = 1 << 20

// digest tells two states of a folder apart.
type digest [sha256.Size]byte

// folder is the manifests as they were found, undecoded.
type folder struct {
	// err says why there are none: the folder cannot be read or trusted.
	err    error
	files  []file
	digest digest
}

// file is one manifest, or why it could not be read.
type file struct {
	name    string
	content []byte
	err     error
}

// readFolder reads the manifests in dir, ordered by name.
func readFolder(dir string) folder {
	found := folder{err: checkFolder(dir)}
	var entries []fs.DirEntry
	if found.err == nil {
		entries, found.err = os.ReadDir(dir)
	}
	hash := sha256.New()
	if found.err != nil {
		_, _ = fmt.Fprintf(hash, "%q\n", found.err)
	}
	for _, entry := range entries {
		if !isManifest(entry.Name()) {
			continue
		}
		f := file{name: entry.Name()}
		f.content, f.err = readFile(filepath.Join(dir, f.name))
		found.files = append(found.files, f)
		_, _ = fmt.Fprintf(hash, "%q %q %q\n", f.name, f.content, fmt.Sprint(f.err))
	}
	found.digest = digest(hash.Sum(nil))
	return found
}

func checkFolder(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder", dir)
	}
	return datadir.CheckMode(dir, info)
}

// isManifest leaves out what editors keep beside a file.
func isManifest(name string) bool {
	return !strings.HasPrefix(name, ".") && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
}

func readFile(path string) (content []byte, err error) {
	// Opening a pipe would wait for a writer.
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	// The file that was opened counts, not what has its name by now.
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	if err := datadir.CheckMode(path, info); err != nil {
		return nil, err
	}
	content, err = io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxFileSize {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFileSize)
	}
	return content, nil
}
