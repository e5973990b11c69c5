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
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// secondProcess holds the folder that TestSecondProcess claims from a process
// of its own.
const secondProcess = "ENTENTE_TEST_CLAIM"

// Design section 3: a file lock of our own, the format in the folder.
func TestAcquire(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	claim, err := Acquire(dir)
	require.NoError(t, err)
	assert.Equal(t, dir, claim.Path())

	info, err := os.Stat(dir)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm(), "a new folder is private")
	for _, name := range []string{lockFile, versionFile} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), name)
	}
	version, err := os.ReadFile(filepath.Join(dir, versionFile))
	require.NoError(t, err)
	assert.Equal(t, strconv.Itoa(FormatVersion)+"\n", string(version))

	_, err = Acquire(dir)
	require.ErrorIs(t, err, ErrInUse)
	assert.ErrorContains(t, err, dir)
	assert.ErrorContains(t, err, strconv.Itoa(os.Getpid()), "the message names the holder")

	require.NoError(t, claim.Release())
	require.NoError(t, claim.Release(), "releasing twice is harmless")
	again, err := Acquire(dir)
	require.NoError(t, err)
	require.NoError(t, again.Release())
}

// Issue 2, bad input: a second process on the same folder.
func TestSecondProcess(t *testing.T) {
	if dir := os.Getenv(secondProcess); dir != "" {
		_, err := Acquire(dir)
		require.ErrorIs(t, err, ErrInUse)
		return
	}
	claim, err := Acquire(t.TempDir())
	require.NoError(t, err)
	defer func() { require.NoError(t, claim.Release()) }()

	command := exec.Command(os.Args[0], "-test.run=^TestSecondProcess$")
	command.Env = append(os.Environ(), secondProcess+"="+claim.Path())
	output, err := command.CombinedOutput()
	assert.NoError(t, err, string(output))
}

// Issue 2, bad input: a wrong data folder, one from a newer version.
func TestAcquireRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		prepare func(t *testing.T, dir string) string
		is      error
		says    string
	}{
		"no path": {
			prepare: func(*testing.T, string) string { return "" },
			says:    "no path given",
		},
		"a file": {
			prepare: func(t *testing.T, dir string) string {
				path := filepath.Join(dir, "file")
				require.NoError(t, os.WriteFile(path, nil, 0o600))
				return path
			},
			says: "it is a file",
		},
		"below a file": {
			prepare: func(t *testing.T, dir string) string {
				path := filepath.Join(dir, "file")
				require.NoError(t, os.WriteFile(path, nil, 0o600))
				return filepath.Join(path, "data")
			},
			says: "not a directory",
		},
		"group-writable": {
			prepare: func(t *testing.T, dir string) string {
				require.NoError(t, os.Chmod(dir, 0o770))
				return dir
			},
			is:   ErrInsecure,
			says: "has mode 0770",
		},
		"world-writable, sticky": {
			prepare: func(t *testing.T, dir string) string {
				require.NoError(t, os.Chmod(dir, 0o777|os.ModeSticky))
				return dir
			},
			is:   ErrInsecure,
			says: "chmod go-w",
		},
		"read-only": {
			prepare: func(t *testing.T, dir string) string {
				if os.Geteuid() == 0 {
					t.Skip("permissions do not bind root")
				}
				require.NoError(t, os.Chmod(dir, 0o500))
				return dir
			},
			is:   os.ErrPermission,
			says: "could not lock it",
		},
		"cannot be made": {
			prepare: func(*testing.T, string) string { return "/proc/entente" },
			says:    "could not make the folder",
		},
		"newer format": {
			prepare: func(t *testing.T, dir string) string {
				require.NoError(t, os.WriteFile(filepath.Join(dir, versionFile), []byte("2\n"), 0o600))
				return dir
			},
			is:   ErrNewerFormat,
			says: "it has format 2, this one knows up to format 1",
		},
		"format that is no number": {
			prepare: func(t *testing.T, dir string) string {
				require.NoError(t, os.WriteFile(filepath.Join(dir, versionFile), []byte("one"), 0o600))
				return dir
			},
			says: "does not hold a format number",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tc.prepare(t, t.TempDir())
			_, err := Acquire(dir)
			require.ErrorContains(t, err, tc.says)
			if tc.is != nil {
				require.ErrorIs(t, err, tc.is)
				_, err = Acquire(dir)
				require.NotErrorIs(t, err, ErrInUse, "a refusal leaves no lock")
			}
		})
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o644))
	require.NoError(t, WriteFile(path, []byte("new")))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "new", string(content))
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	require.Error(t, WriteFile(filepath.Join(dir, "absent", "file"), nil))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	require.Error(t, WriteFile(filepath.Join(dir, "folder"), nil))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 2, "a failed write leaves nothing behind")
}

func TestSyncFolder(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, SyncFolder(dir))
	absent := filepath.Join(dir, "absent")
	err := SyncFolder(absent)
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.ErrorContains(t, err, absent)
}
