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

package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// invitation is what a cluster needs to let another one join.
type invitation struct {
	// other is the name of the other one.
	other string
	// invite is the file with a ClusterPeer of type Invite, for this cluster.
	invite string
	// join is the file with a template that makes, of that ClusterPeer with its
	// connection string, one of type Join for the other cluster.
	join string
}

// invitation writes the files. The other cluster is any; it is called as the
// documentation calls two of them.
func (c cluster) invitation() (invitation, error) {
	i := invitation{other: "west", invite: filepath.Join(c.folder(), "invite.yaml"), join: filepath.Join(c.folder(), "join.gotemplate")}
	if c.name == i.other {
		i.other = "east"
	}
	for path, content := range map[string]string{
		i.invite: `apiVersion: peering.entente.dev/v1alpha1
kind: ClusterPeer
metadata:
  name: ` + i.other + `
spec:
  type: Invite
`,
		i.join: `apiVersion: peering.entente.dev/v1alpha1
kind: ClusterPeer
metadata:
  name: ` + c.name + `
spec:
  type: Join
  join:
    connectionString: {{.status.invite.connectionString}}
`,
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return invitation{}, fmt.Errorf("could not write an invitation: %w", err)
		}
	}
	return i, nil
}
