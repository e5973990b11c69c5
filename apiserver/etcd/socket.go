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

package etcd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	socketName = "etcd.sock"
	// maxSocketPath is what fits into the address of a unix socket on Linux.
	maxSocketPath = 107
)

// makeSocketFolder makes a folder that only the owner may open, for the socket.
// It is DIR/run; if that is too long for a socket, or has characters that a URL
// would change, it is a new folder of a random name among the temporary files.
// It returns the path that the socket shall have, and what removes the folder.
func makeSocketFolder(dir string) (socket string, remove func() error, err error) {
	folder := filepath.Join(dir, "run")
	if fitsSocket(folder) {
		if err := ensurePrivateFolder(folder); err != nil {
			return "", nil, err
		}
	} else {
		folder, err = os.MkdirTemp("", "entente-")
		if err != nil {
			return "", nil, fmt.Errorf("could not make a folder for the socket: %w", err)
		}
		if !fitsSocket(folder) {
			err := fmt.Errorf("could not make a folder for the socket: the path %s is too long for one, or has unusual characters (set TMPDIR)", folder)
			return "", nil, errors.Join(err, os.Remove(folder))
		}
	}
	socket = filepath.Join(folder, socketName)
	return socket, func() error {
		if err := errors.Join(removeIfThere(socket), removeIfThere(folder)); err != nil {
			return fmt.Errorf("could not remove the socket: %w", err)
		}
		return nil
	}, nil
}

// RunningEndpoint is the URL of the store of a server that runs on the data folder,
// for its owner. It fails if the store's socket is not in the folder: there is none,
// or it had to be elsewhere because the folder's path is long.
func RunningEndpoint(dir string) (string, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("could not find the running store: %w", err)
	}
	socket := filepath.Join(absolute, "run", socketName)
	if _, err := os.Stat(socket); err != nil {
		return "", fmt.Errorf("could not find the running store, stop the server: %w", err)
	}
	return "unix://" + socket, nil
}

// Exists says whether the data folder has an embedded store.
func Exists(dir string) (bool, error) {
	entries, err := os.ReadDir(filepath.Join(dir, storeFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return len(entries) > 0, err
}

// fitsSocket tells whether the socket in folder has a path that is short enough
// and the same in a URL.
func fitsSocket(folder string) bool {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-", r)
	}
	return len(filepath.Join(folder, socketName)) <= maxSocketPath &&
		strings.IndexFunc(folder, func(r rune) bool { return !plain(r) }) < 0
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
