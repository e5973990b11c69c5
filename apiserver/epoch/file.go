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

package epoch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"entente.dev/entente/apiserver/etcd/datadir"
	"entente.dev/entente/registry/ledger"
)

// fileName is the file below the data folder, beside the encryption keys and apart from
// the store.
const fileName = "keys/epoch"

type file struct {
	path string
	// raising is held between reading and writing. No other process has the folder.
	raising sync.Mutex
}

// NewFile keeps the epoch in a file of mode 0600, DIR/keys/epoch. Who uses it holds the
// claim of the data folder DIR.
func NewFile(dataDir string) ledger.EpochStore {
	return &file{path: filepath.Join(dataDir, filepath.FromSlash(fileName))}
}

func (f *file) Location() string { return "the file " + f.path }

func (f *file) Load(context.Context) (uint64, error) {
	number, err := f.read()
	if err != nil {
		return 0, fmt.Errorf("could not read %s: %w", f.path, err)
	}
	return number, nil
}

func (f *file) read() (uint64, error) {
	opened, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer opened.Close()
	info, err := opened.Stat()
	if err != nil {
		return 0, err
	}
	if err := datadir.CheckMode(f.path, info); err != nil {
		return 0, err
	}
	data, err := io.ReadAll(io.LimitReader(opened, longest+1))
	if err != nil {
		return 0, err
	}
	if len(data) == 0 {
		// It is never written so.
		return 0, errNumber
	}
	return decode(data)
}

func (f *file) Raise(_ context.Context, to uint64) error {
	f.raising.Lock()
	defer f.raising.Unlock()
	if err := f.raise(to); err != nil {
		return fmt.Errorf("could not write %s: %w", f.path, err)
	}
	return nil
}

func (f *file) raise(to uint64) error {
	number, err := f.read()
	if err != nil || number >= to {
		return err
	}
	folder := filepath.Dir(f.path)
	if err := datadir.EnsureFolder(folder); err != nil {
		return err
	}
	if err := datadir.WriteFile(f.path, append(encode(to), '\n')); err != nil {
		return err
	}
	return datadir.SyncFolder(folder)
}
