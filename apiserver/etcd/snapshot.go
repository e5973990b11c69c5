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
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// SaveSnapshot writes a snapshot of the store to path, with mode 0600, whole or not
// at all. It replaces nothing: a file that is there is an error, fs.ErrExist. The
// data in it is as encrypted as it is in the store; keys are not in it.
//
// The snapshot ends with a hash of what is before, which is verified here and again
// when it is restored.
func SaveSnapshot(ctx context.Context, client clientv3.Maintenance, path string) (err error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = fs.ErrExist
		}
		return fmt.Errorf("could not write the snapshot %s: %w", path, err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("could not write the snapshot: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("could not write the snapshot %s: %w", path, err), removeIfThere(file.Name()))
		}
	}()
	err = WriteSnapshot(ctx, client, file)
	if err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	// Unlike renaming, linking replaces nothing.
	if err := os.Link(file.Name(), path); err != nil {
		return err
	}
	return os.Remove(file.Name())
}

// WriteSnapshot writes a snapshot of the store to w, and fails after having written
// it if its hash is wrong.
func WriteSnapshot(ctx context.Context, client clientv3.Maintenance, w io.Writer) error {
	response, err := client.SnapshotWithVersion(ctx)
	if err != nil {
		return fmt.Errorf("could not get the snapshot: %w", err)
	}
	defer response.Snapshot.Close()
	check := &tailHash{hash: sha256.New()}
	if _, err := io.Copy(io.MultiWriter(w, check), response.Snapshot); err != nil {
		return fmt.Errorf("could not get the snapshot: %w", err)
	}
	return check.verify()
}

// tailHash is a hash of all that is written to it but the last bytes, as many as
// the hash has itself.
type tailHash struct {
	hash interface {
		io.Writer
		Sum(b []byte) []byte
	}
	tail []byte
}

func (h *tailHash) Write(p []byte) (int, error) {
	h.tail = append(h.tail, p...)
	if more := len(h.tail) - sha256.Size; more > 0 {
		if _, err := h.hash.Write(h.tail[:more]); err != nil {
			return 0, err
		}
		h.tail = append(h.tail[:0], h.tail[more:]...)
	}
	return len(p), nil
}

func (h *tailHash) verify() error {
	if !bytes.Equal(h.hash.Sum(nil), h.tail) {
		return errors.New("the snapshot is damaged: its hash is wrong")
	}
	return nil
}
