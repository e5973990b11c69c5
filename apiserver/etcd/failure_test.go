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
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"entente.dev/entente/apiserver/etcd/datadir"
)

// A store that dies is seen by health checks.
func TestDeath(t *testing.T) {
	server := startStore(t, Config{Dir: t.TempDir()})
	require.NoError(t, server.Err())
	server.etcd.Server.HardStop()
	select {
	case <-server.Done():
	case <-time.After(patience):
		t.Fatal("Done was not closed")
	}
	assert.ErrorContains(t, server.Err(), "etcd stopped")
	require.NoError(t, server.Close())
	assert.NotErrorIs(t, server.Err(), ErrClosed, "the reason stays")
}

// Where etcd would end the process, the store ends.
func TestFatalEntry(t *testing.T) {
	server := startStore(t, Config{Dir: t.TempDir()})
	logger := server.etcd.GetLogger()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		logger.Fatal("failed to save", zap.Error(os.ErrInvalid))
		t.Error("a fatal entry returned")
	}()
	<-ended
	select {
	case <-server.Done():
	case <-time.After(patience):
		t.Fatal("Done was not closed")
	}
	assert.ErrorIs(t, server.Err(), os.ErrInvalid)
	assert.ErrorContains(t, server.Err(), "failed to save")
}

// A damaged folder is an error, not the end of the process.
func TestDamagedData(t *testing.T) {
	for name, pattern := range map[string]string{
		"log":      "etcd/member/wal/*.wal",
		"database": "etcd/member/snap/db",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, startStore(t, Config{Dir: dir}).Close())
			paths, err := filepath.Glob(filepath.Join(dir, pattern))
			require.NoError(t, err)
			require.NotEmpty(t, paths)
			for _, path := range paths {
				info, err := os.Stat(path)
				require.NoError(t, err)
				damage := make([]byte, info.Size())
				for i := range damage {
					damage[i] = 0xee
				}
				require.NoError(t, os.WriteFile(path, damage, 0o600))
			}
			_, err = Start(testContext(t), Config{Dir: dir})
			require.Error(t, err)
			t.Log(err)
			claim, err := datadir.Acquire(dir)
			require.NoError(t, err, "the folder is free again")
			require.NoError(t, claim.Release())
		})
	}
}
