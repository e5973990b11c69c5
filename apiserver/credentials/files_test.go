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
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/controllers/targets"
)

// canary stands in everything that no error may tell.
const canary = "canary"

// folder makes a data folder with a Secret team/east that has the key kubeconfig, and what is
// beside it.
func folder(t *testing.T) string {
	t.Helper()
	outside := filepath.Join(t.TempDir(), canary)
	folder := filepath.Join(outside, "secrets")
	write(t, filepath.Join(folder, "team", "east", "kubeconfig"), "the kubeconfig")
	write(t, filepath.Join(folder, "team", "loose"), canary)
	write(t, filepath.Join(folder, "loose"), canary)
	write(t, filepath.Join(outside, "loose"), canary)
	write(t, filepath.Join(outside, "east", "kubeconfig"), canary)
	return folder
}

func write(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

// requireSilent requires that an error tells nothing of what is in files, nor where they are.
func requireSilent(t *testing.T, folder string, err error) {
	t.Helper()
	require.Error(t, err)
	assert.NotContains(t, err.Error(), canary)
	assert.NotContains(t, err.Error(), folder)
	assert.NotContains(t, err.Error(), "/")
}

func TestC2FilesRead(t *testing.T) {
	folder := folder(t)
	files := NewFiles(folder)
	for name, read := range map[string]func() ([]byte, error){
		"Secret":    func() ([]byte, error) { return files.Secret(t.Context(), "team", "east", "kubeconfig") },
		"ConfigMap": func() ([]byte, error) { return files.ConfigMap(t.Context(), "team", "east", "kubeconfig") },
	} {
		content, err := read()
		require.NoError(t, err, name)
		assert.Equal(t, "the kubeconfig", string(content), name)
	}
	write(t, filepath.Join(folder, "team", "east", "kubeconfig"), "another")
	content, err := files.Secret(t.Context(), "team", "east", "kubeconfig")
	require.NoError(t, err)
	assert.Equal(t, "another", string(content), "nothing is kept")
}

// C2: no name leads anywhere else.
func TestC2FilesStayInside(t *testing.T) {
	folder := folder(t)
	files := NewFiles(folder)
	for _, names := range [][3]string{
		{"..", "east", "kubeconfig"},
		{"team", "..", "loose"},
		{"team", "../..", "loose"},
		{"team", "../../east", "kubeconfig"},
		{"team", "east", ".."},
		{"team", "east", "../loose"},
		{"team", "east", "../../../loose"},
		{"team/east", ".", "kubeconfig"},
		{"team", ".", "loose"},
		{".", "team", "loose"},
		{".", "team/east", "kubeconfig"},
		{"", "east", "kubeconfig"},
		{"team", "", "loose"},
		{"team", "east", ""},
		{"team", "east", "."},
		{filepath.Join(folder, "team"), "east", "kubeconfig"},
		{"team", filepath.Join(folder, "team", "east"), "kubeconfig"},
		{"team", "east", filepath.Join(folder, "loose")},
		{"team", "east", "kubeconfig/"},
		{"team/", "east", "kubeconfig"},
		{"team", "east", "/"},
		{"team", "east", "kubeconfig\x00"},
		{"team\x00", "east", "kubeconfig"},
	} {
		content, err := files.Secret(t.Context(), names[0], names[1], names[2])
		assert.Empty(t, content, "%q", names)
		requireSilent(t, folder, err)
	}
}

// C2: a link may lead to what is beside it, as those of a mounted Secret do, and nowhere else.
func TestC2FilesLinks(t *testing.T) {
	folder := folder(t)
	files := NewFiles(folder)
	team := filepath.Join(folder, "team")
	require.NoError(t, os.MkdirAll(filepath.Join(team, "east", "..data"), 0o700))
	write(t, filepath.Join(team, "east", "..data", "mounted"), "mounted")
	for link, to := range map[string]string{
		filepath.Join(team, "east", "mounted"):  "..data/mounted",
		filepath.Join(team, "east", "absolute"): filepath.Join(folder, "loose"),
		filepath.Join(team, "east", "up"):       "../loose",
		filepath.Join(team, "east", "outside"):  "../../../loose",
		filepath.Join(team, "east", "dangling"): "nothing",
		filepath.Join(team, "east", "round"):    "round",
		filepath.Join(team, "linked"):           "../../east",
		filepath.Join(team, "rooted"):           filepath.Join(filepath.Dir(folder), "east"),
		filepath.Join(folder, "elsewhere"):      "..",
	} {
		require.NoError(t, os.Symlink(to, link))
	}
	content, err := files.Secret(t.Context(), "team", "east", "mounted")
	require.NoError(t, err)
	assert.Equal(t, "mounted", string(content))
	for _, names := range [][3]string{
		{"team", "east", "absolute"},
		{"team", "east", "up"},
		{"team", "east", "outside"},
		{"team", "east", "dangling"},
		{"team", "east", "round"},
		{"team", "linked", "kubeconfig"},
		{"team", "rooted", "kubeconfig"},
		{"elsewhere", "east", "kubeconfig"},
	} {
		content, err := files.Secret(t.Context(), names[0], names[1], names[2])
		assert.Empty(t, content, "%q", names)
		requireSilent(t, folder, err)
	}
}

// C1: it is said what is missing.
func TestC1FilesAbsent(t *testing.T) {
	there := folder(t)
	require.NoError(t, os.Mkdir(filepath.Join(there, "team", "east", "folder"), 0o700))
	for name, test := range map[string]struct {
		folder string
		names  [3]string
		want   error
	}{
		"the folder":      {filepath.Join(there, "nothing"), [3]string{"team", "east", "kubeconfig"}, targets.ErrAbsent},
		"the namespace":   {there, [3]string{"other", "east", "kubeconfig"}, targets.ErrAbsent},
		"the Secret":      {there, [3]string{"team", "west", "kubeconfig"}, targets.ErrAbsent},
		"it is a file":    {there, [3]string{"team", "loose", "kubeconfig"}, targets.ErrAbsent},
		"the key":         {there, [3]string{"team", "east", "token"}, targets.ErrNoKey},
		"it is a folder":  {there, [3]string{"team", "east", "folder"}, targets.ErrNoKey},
		"an odd key":      {there, [3]string{"team", "east", "a/b"}, targets.ErrAbsent},
		"an odd name":     {there, [3]string{"team", "..", "loose"}, targets.ErrAbsent},
		"a very long key": {there, [3]string{"team", "east", strings.Repeat("k", 300)}, nil},
	} {
		_, err := NewFiles(test.folder).Secret(t.Context(), test.names[0], test.names[1], test.names[2])
		requireSilent(t, there, err)
		if test.want != nil {
			assert.ErrorIs(t, err, test.want, name)
		}
	}
}

// C3: what never ends does not hold up a probe, nor does what never begins.
func TestC3FilesPipes(t *testing.T) {
	folder := folder(t)
	require.NoError(t, syscall.Mkfifo(filepath.Join(folder, "team", "east", "pipe"), 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(folder, "team", "pipe"), 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o600))
	require.NoError(t, os.Symlink("pipe", filepath.Join(folder, "team", "east", "link")))
	files := NewFiles(folder)
	for _, names := range [][3]string{
		{"team", "east", "pipe"}, {"team", "east", "link"}, {"team", "pipe", "kubeconfig"}, {"pipe", "east", "kubeconfig"},
	} {
		_, err := files.Secret(t.Context(), names[0], names[1], names[2])
		requireSilent(t, folder, err)
	}
}

// C2: what no Secret could hold is not read whole.
func TestC2FilesSize(t *testing.T) {
	folder := folder(t)
	files := NewFiles(folder)
	path := filepath.Join(folder, "team", "east", "large")
	write(t, path, strings.Repeat("x", maxSize))
	content, err := files.Secret(t.Context(), "team", "east", "large")
	require.NoError(t, err)
	assert.Len(t, content, maxSize)
	require.NoError(t, os.Truncate(path, maxSize+1))
	content, err = files.Secret(t.Context(), "team", "east", "large")
	assert.Empty(t, content)
	requireSilent(t, folder, err)
	assert.ErrorContains(t, err, "more than 1048576 bytes")
	require.NoError(t, os.Truncate(path, 1<<40))
	_, err = files.Secret(t.Context(), "team", "east", "large")
	requireSilent(t, folder, err)
}

// C1: what may not be read is told from what is not there.
func TestC1FilesForbidden(t *testing.T) {
	folder := folder(t)
	// Others may look for files here, and in nothing else.
	for dir := folder; filepath.Dir(dir) != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		require.NoError(t, os.Chmod(dir, 0o711))
	}
	require.NoError(t, os.Chmod(filepath.Join(folder, "team"), 0o711))
	write(t, filepath.Join(folder, "team", "closed", "kubeconfig"), canary)
	require.NoError(t, os.Chmod(filepath.Join(folder, "team", "closed"), 0o700))
	require.NoError(t, os.Chmod(filepath.Join(folder, "team", "east"), 0o755))
	require.NoError(t, os.Chmod(folder, 0o755))
	files := NewFiles(folder)
	done := make(chan map[string]error)
	go func() {
		// As nobody: only this thread is, which ends with the goroutine.
		runtime.LockOSThread()
		_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, 65534, 0, 0)
		found := map[string]error{}
		_, found["the key"] = files.Secret(t.Context(), "team", "east", "kubeconfig")
		_, found["the Secret"] = files.Secret(t.Context(), "team", "closed", "kubeconfig")
		done <- found
	}()
	if os.Getuid() != 0 {
		<-done
		t.Skip("only root can become somebody else")
	}
	for name, err := range <-done {
		requireSilent(t, folder, err)
		assert.ErrorIs(t, err, targets.ErrForbidden, name)
	}
}
