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

package standalone

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"entente.dev/entente/apiserver/etcd/datadir"
)

// defaultManifests is what a first start puts into the folder of manifests.
//
//go:embed rbac/*.yaml
var defaultManifests embed.FS

// ensurePrivateFolder makes a folder that only its owner may open, or makes an
// existing one so.
func ensurePrivateFolder(path string) error {
	if err := datadir.EnsureFolder(path); err != nil {
		return err
	}
	if err := os.Chmod(path, 0o700); err != nil {
		return fmt.Errorf("could not protect the folder %s: %w", path, err)
	}
	return nil
}

// ensureManifests makes the folder with the default manifests if there is no
// such folder. It appears at once and whole, since its being there is what says
// that the first start is over.
func ensureManifests(path string) (err error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// MkdirTemp gives mode 0700 whatever the umask is.
	temporary, err := os.MkdirTemp(filepath.Dir(path), ".rbac.")
	if err != nil {
		return fmt.Errorf("could not make the folder of RBAC manifests: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("could not make the folder of RBAC manifests: %w", err), os.RemoveAll(temporary))
		}
	}()
	manifests, err := fs.Sub(defaultManifests, "rbac")
	if err != nil {
		return err
	}
	entries, err := fs.ReadDir(manifests, ".")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		content, err := fs.ReadFile(manifests, entry.Name())
		if err != nil {
			return err
		}
		if err := datadir.WriteFile(filepath.Join(temporary, entry.Name()), content); err != nil {
			return err
		}
	}
	return os.Rename(temporary, path)
}

// ensureClusterUUID reads the identity of this cluster, or makes one.
func ensureClusterUUID(path string) (string, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		id, err := uuid.NewRandom()
		if err != nil {
			return "", fmt.Errorf("could not make a cluster UUID: %w", err)
		}
		return id.String(), datadir.WriteFile(path, []byte(id.String()+"\n"))
	}
	if err != nil {
		return "", fmt.Errorf("could not read the cluster UUID: %w", err)
	}
	id, err := uuid.Parse(strings.TrimSpace(string(content)))
	if err != nil {
		return "", fmt.Errorf("could not read the cluster UUID: %s does not hold a UUID", path)
	}
	return id.String(), nil
}
