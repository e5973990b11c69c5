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

package kube

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"entente.dev/entente/test/process"
)

// Kubectl runs kubectl as a user, with stdin, and returns whatever came of it.
func (c *ControlPlane) Kubectl(ctx context.Context, user, stdin string, args ...string) (process.Result, error) {
	cmd := c.KubectlCommand(ctx, user, args...)
	cmd.Stdin = strings.NewReader(stdin)
	result, err := process.Run(cmd)
	if err != nil {
		return result, fmt.Errorf("could not run kubectl: %w", err)
	}
	return result, nil
}

// MustKubectl runs kubectl as a user and returns what it printed on stdout. It is
// an error if kubectl fails.
func (c *ControlPlane) MustKubectl(ctx context.Context, user, stdin string, args ...string) (string, error) {
	result, err := c.Kubectl(ctx, user, stdin, args...)
	if err == nil && result.Code != 0 {
		err = fmt.Errorf("kubectl %s as %s ended with %d: %s", strings.Join(args, " "), user, result.Code, result.Output())
	}
	return result.Stdout, err
}

// KubectlCommand is kubectl as a user, not started yet. It has nothing of the
// person who runs it: no kubeconfig, preferences or cache.
func (c *ControlPlane) KubectlCommand(ctx context.Context, user string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(c.options.Bin, "kubectl"), append([]string{"--kubeconfig", c.Kubeconfig(user), "--cache-dir", c.path("kubectl-cache")}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG=", "KUBERC=off")
	return cmd
}
