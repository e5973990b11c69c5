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
	"os/exec"
	"path/filepath"
	"regexp"
)

// version finds it in what the binaries print of themselves: `etcd Version: 3.7.3`
// and `Kubernetes v1.37.2`, both on the first line.
var version = regexp.MustCompile(`^(?:etcd Version: |Kubernetes )v?(\d+\.\d+\.\d+\S*)`)

// Versions asks the servers in a folder which version they are: etcd,
// kube-apiserver and kube-controller-manager, without a leading v.
func Versions(ctx context.Context, bin string) (map[string]string, error) {
	versions := map[string]string{}
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager"} {
		output, err := exec.CommandContext(ctx, filepath.Join(bin, name), "--version").Output()
		if err != nil {
			return nil, fmt.Errorf("could not ask %s for its version: %w", name, err)
		}
		match := version.FindSubmatch(output)
		if match == nil {
			return nil, fmt.Errorf("could not ask %s for its version: it says %q", name, output)
		}
		versions[name] = string(match[1])
	}
	return versions, nil
}
