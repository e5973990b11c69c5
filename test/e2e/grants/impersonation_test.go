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

package grants

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"entente.dev/entente/test/kube"
)

// as returns what Entente acts by as somebody else.
func (g *granting) as(t *testing.T, user string, groups ...string) kubernetes.Interface {
	t.Helper()
	config := g.RESTConfig(t, g.who)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return client
}

// reads asks for what is at a path.
func reads(t *testing.T, client kubernetes.Interface, path string) error {
	t.Helper()
	return client.CoreV1().RESTClient().Get().AbsPath(path).Do(t.Context()).Error()
}

// H2: Entente may do as the consumers of a peer what the peer is granted, and be nobody
// else; where the host cluster can tell, it may not even do as them what everybody may.
func TestH2Impersonation(t *testing.T) {
	g := start(t)
	g.namespace("a", "c")
	for name, legacy := range map[string]bool{"constrained": false, "legacy": true} {
		t.Run(name, func(t *testing.T) {
			g.legacy = legacy
			g.grants("list", "a")
			stop := g.run()
			consumer := g.as(t, user, "peer:"+west)
			const granted = "/api/v1/namespaces/a/configmaps"
			g.eventually("Entente acts as a consumer", func() bool { return g.condition() == "True Applied" && reads(t, consumer, granted) == nil })
			for _, path := range []string{"/api/v1/nodes", "/api", "/api/v1", "/apis", "/apis/apps/v1", "/version", "/openapi/v2", "/openapi/v3", "/openapi/v3/api/v1"} {
				assert.NoError(t, reads(t, consumer, path), path)
			}
			for _, path := range []string{
				"/api/v1/configmaps", "/api/v1/namespaces/c/configmaps", "/api/v1/namespaces/a/secrets", "/api/v1/namespaces/a/configmaps/one",
				"/api/v1/namespaces", "/metrics", "/logs/x",
			} {
				assert.True(t, apierrors.IsForbidden(reads(t, consumer, path)), path)
			}
			// Kubernetes lets everybody read that.
			assert.Equal(t, !legacy, apierrors.IsForbidden(reads(t, consumer, "/healthz")))
			for who, other := range map[string]kubernetes.Interface{
				"another ServiceAccount of it": g.as(t, "peer:"+west+":system:serviceaccount:d8-logs:writer", "peer:"+west),
				"another cluster's":            g.as(t, "peer:cccccccc-0000-4000-8000-000000000002:system:serviceaccount:d8-logs:reader", "peer:"+west),
				"in another group":             g.as(t, user, "peer:cccccccc-0000-4000-8000-000000000002"),
				"in another group, too":        g.as(t, user, "peer:"+west, "system:masters"),
				"a ServiceAccount from here":   g.as(t, "system:serviceaccount:d8-logs:reader"),
				"an administrator":             g.as(t, kube.Admin, "system:masters"),
			} {
				assert.True(t, apierrors.IsForbidden(reads(t, other, granted)), who)
				assert.True(t, apierrors.IsForbidden(reads(t, other, "/version")), who)
			}
			g.grants("list")
			g.eventually("nor as the consumer any more", func() bool { return apierrors.IsForbidden(reads(t, consumer, granted)) })
			g.eventually("which is what the ledger says", func() bool { return len(g.ledger.AllGrants()) == 0 })
			g.eventually("not even for discovery", func() bool { return apierrors.IsForbidden(reads(t, consumer, "/version")) })
			stop()
		})
	}
}
