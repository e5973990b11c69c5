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

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
)

// EntenteVersion is what a binary that Entente has built calls itself.
const EntenteVersion = "v0.0.0-harness"

// Entente is where the server's binary for tests is: the one that ENTENTE_APISERVER
// names, or else one that is built, without the race detector, from the sources as
// they are. It lies in bin/ so that building again what has not changed is quick.
func Entente() (string, error) {
	if path := os.Getenv("ENTENTE_APISERVER"); path != "" {
		return path, nil
	}
	return buildEntente()
}

var buildEntente = sync.OnceValues(func() (string, error) {
	return Build("entente-apiserver", "./cmd/entente-apiserver")
})

// Build compiles a command of this module, without the race detector, with flags for
// go build, and returns where it is: bin/test/NAME. Its output comes on stderr.
func Build(name, pkg string, flags ...string) (string, error) {
	root, err := ModuleRoot()
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, "bin", "test", name)
	args := slices.Concat([]string{"build", "-mod=readonly", "-ldflags", "-X k8s.io/component-base/version.gitVersion=" + EntenteVersion, "-o", path}, flags, []string{pkg})
	cmd := exec.CommandContext(context.Background(), "go", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("could not build %s: %w", pkg, err)
	}
	return path, nil
}

// ModuleRoot is the folder with the go.mod that the working folder belongs to.
func ModuleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("could not find the module: %w", err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("could not find the module: no go.mod in the working folder or above it")
}
