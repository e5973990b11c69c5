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

package encryption

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"entente.dev/entente/apiserver/etcd/datadir"
)

// keyFile is the file of the generated keys below the data folder.
const keyFile = "keys/encryption.json"

type fileStore struct{ path string }

// NewFileStore keeps the keys in a file of mode 0600, DIR/keys/encryption.json. Who
// uses it holds the claim of the data folder DIR.
func NewFileStore(dataDir string) KeyStore {
	return &fileStore{path: filepath.Join(dataDir, filepath.FromSlash(keyFile))}
}

func (s *fileStore) Location() string { return "the file " + s.path }

func (s *fileStore) Load(context.Context) (Stored, error) {
	file, err := os.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return Stored{}, nil
	}
	if err != nil {
		return Stored{}, fmt.Errorf("could not read the encryption keys: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return Stored{}, fmt.Errorf("could not read the encryption keys: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return Stored{}, fmt.Errorf("could not use the encryption keys: %s has mode %04o, but only its owner may read and write it (chmod 600)", s.path, mode)
	}
	data, err := io.ReadAll(io.LimitReader(file, maxRingBytes+1))
	if err != nil {
		return Stored{}, fmt.Errorf("could not read the encryption keys: %w", err)
	}
	ring, err := DecodeRing(data)
	if err != nil {
		return Stored{}, fmt.Errorf("could not read the encryption keys in %s: %w", s.path, err)
	}
	return Stored{Ring: ring, version: versionOf(data)}, nil
}

// Create writes a file of another name and links it, which fails if there is one.
func (s *fileStore) Create(ctx context.Context, ring Ring) (Stored, error) {
	data, err := ring.Encode()
	if err != nil {
		return Stored{}, err
	}
	folder := filepath.Dir(s.path)
	if err := datadir.EnsureFolder(folder); err != nil {
		return Stored{}, err
	}
	temporary := s.path + ".new"
	if err := datadir.WriteFile(temporary, data); err != nil {
		return Stored{}, err
	}
	err = os.Link(temporary, s.path)
	if removeErr := os.Remove(temporary); err == nil {
		err = removeErr
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return Stored{}, fmt.Errorf("could not keep the encryption keys: %w", err)
	}
	if err := keep(folder); err != nil {
		return Stored{}, err
	}
	return s.Load(ctx)
}

func (s *fileStore) Update(ctx context.Context, loaded Stored, ring Ring) (Stored, error) {
	data, err := ring.Encode()
	if err != nil {
		return Stored{}, err
	}
	now, err := s.Load(ctx)
	if err != nil {
		return Stored{}, err
	}
	if now.version != loaded.version {
		return Stored{}, ErrConflict
	}
	if err := datadir.WriteFile(s.path, data); err != nil {
		return Stored{}, err
	}
	if err := keep(filepath.Dir(s.path)); err != nil {
		return Stored{}, err
	}
	return Stored{Ring: ring, version: versionOf(data)}, nil
}

// keep has a folder survive a loss of power: nothing may be encrypted with a key that
// can still vanish.
func keep(folder string) error {
	if err := datadir.SyncFolder(folder); err != nil {
		return fmt.Errorf("could not keep the encryption keys: %w", err)
	}
	return nil
}

func versionOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
