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

package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/test/kube"
)

// The identity of a cluster is what the ConfigMap d8-cluster-uuid says, and else the UID of
// its namespace kube-system. A cluster that has peered under another one is not ready
// until somebody accepts that; then it is a stranger to its peers, and pairs anew.
func (p *pair) identity(t *testing.T) {
	before, after := p.west.uid(t), uuid.NewString()
	// In capitals, as a person may write it.
	p.west.MustKubectl(t, kube.Admin, "", "create", "configmap", "-n", "kube-system", "d8-cluster-uuid", "--from-literal=cluster-uuid="+strings.ToUpper(after))
	west := &life{cluster: p.west.Cluster, entente: p.west.entente, admin: p.west.Clientset(t, kube.Admin)}
	west.begin(t)
	said := west.says(t, `this cluster is (\S+), and has peered as (\S+): .* start with (--\S+) and pair anew`)
	assert.Equal(t, []string{after, before, "--accept-changed-cluster-uuid"}, said[1:])
	west.awaitReadyz(t, http.StatusInternalServerError)
	assert.Nil(t, p.west.entente.Process().Err(), "it has ended")

	west.begin(t, "--accept-changed-cluster-uuid")
	p.west.entente.WaitServed(t)
	assert.NotContains(t, west.log(t), "has peered as")
	p.east.says(t, "west", "UUIDMismatch")

	for s, name := range map[*side]string{p.east: "west", p.west: "east"} {
		s.MustKubectl(t, operator, "", "delete", "cpeer", name, "--timeout=30s")
	}
	p.keep(p.east.invite(t, "west"))
	p.west.join(t, "east", p.text)
	p.west.says(t, "east", "Active")
	assert.Equal(t, after, p.east.says(t, "west", "Active").Status.Peer.ClusterUUID)

	// From here on that is what it has peered as.
	west.begin(t)
	p.west.entente.WaitServed(t)
	p.west.says(t, "east", "Active")
	require.NotContains(t, west.log(t), "has peered as")
}
