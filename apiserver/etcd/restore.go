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

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"entente.dev/entente/apiserver/etcd/datadir"
)

// revisionBump is added to the revision of a restored store, which is then higher
// than any that was handed out after the snapshot: about 30 years of a write a
// second.
const revisionBump = 1_000_000_000

// Restore makes the store of a claimed data folder from a snapshot. The folder must
// have none: it replaces nothing.
//
// Revisions go on far above all that were ever handed out, and all before are marked
// compacted, so that a client that watches from what it knew is told to read anew,
// and a resourceVersion never means two things.
func Restore(claim *datadir.Claim, path string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("could not restore the snapshot %s: %w", path, err)
		}
	}()
	data := filepath.Join(claim.Path(), storeFolder)
	entries, err := os.ReadDir(data)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("the folder %s is not empty; it is never replaced", data)
	}
	temporary, err := os.MkdirTemp(claim.Path(), "."+storeFolder+".*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	restored := filepath.Join(temporary, storeFolder)
	member := embedConfig(restored, "", 0, zap.NewNop())
	if err := restore(snapshot.RestoreConfig{
		SnapshotPath:        path,
		Name:                member.Name,
		OutputDataDir:       restored,
		PeerURLs:            []string{member.AdvertisePeerUrls[0].String()},
		InitialCluster:      member.InitialCluster,
		InitialClusterToken: member.InitialClusterToken,
		RevisionBump:        revisionBump,
		MarkCompacted:       true,
	}); err != nil {
		return err
	}
	if err := os.Chmod(restored, 0o700); err != nil {
		return err
	}
	if err := removeIfThere(data); err != nil {
		return err
	}
	return os.Rename(restored, data)
}

// restore turns the library's panics at a file that is no database into errors. It
// would also end the process by what it logs.
func restore(config snapshot.RestoreConfig) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("it is damaged, or no snapshot: %v", reason)
		}
	}()
	logger := zap.NewNop().WithOptions(zap.WithFatalHook(zapcore.WriteThenPanic))
	return snapshot.NewV3(logger).Restore(config)
}
