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

package leak_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clientset "entente.dev/entente/apis/generated/clientset/versioned/typed/peering/v1alpha1"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/test/harness"
	"entente.dev/entente/test/kube"
	"entente.dev/entente/test/leak/search"
	"entente.dev/entente/test/process"
)

// side is one of two servers that peer. The canaries here are what a server itself has
// made, and known only afterwards: the suite reads them in its own way, as the admin,
// and whatever is recorded may hold none of them.
type side struct {
	*suite
	name     string
	endpoint string
	issued   []search.Canary
}

// newSide starts a server with a gateway, that tells all it can.
func newSide(t *testing.T, p plan, name string) *side {
	port, err := kube.FreePort(t.Context())
	require.NoError(t, err)
	x := &side{suite: &suite{t: t, plan: p}, name: name, endpoint: fmt.Sprintf("https://127.0.0.1:%d", port)}
	x.plan.flags = append(x.plan.flags, "--gateway-port", fmt.Sprint(port), "--gateway-endpoint", x.endpoint, "--cluster-alias", name)
	x.start(t)
	x.readTable(t)
	x.addCallers(t, []string{"operator", "viewer", "anonymous", "impersonated"})
	return x
}

func (x *side) peersAs(t *testing.T, user string) clientset.ClusterPeerInterface {
	return x.Client(t, user).PeeringV1alpha1().ClusterPeers()
}

func (x *side) create(t *testing.T, name string, spec peeringv1alpha1.ClusterPeerSpec) {
	_, err := x.peersAs(t, harness.Operator).Create(t.Context(), &peeringv1alpha1.ClusterPeer{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// invite makes an Invite, and join a Join.
func (x *side) invite(t *testing.T, name string) (text string) {
	x.create(t, name, peeringv1alpha1.ClusterPeerSpec{Type: peeringv1alpha1.ClusterPeerTypeInvite})
	return x.minted(t, name, "")
}

func (x *side) join(t *testing.T, name, text string) {
	x.create(t, name, peeringv1alpha1.ClusterPeerSpec{Type: peeringv1alpha1.ClusterPeerTypeJoin, Join: &peeringv1alpha1.JoinSpec{ConnectionString: text}})
}

// minted waits for another connection string than before, and makes a canary of it.
func (x *side) minted(t *testing.T, name, before string) (text string) {
	harness.Eventually(t, "a connection string is issued", func(ctx context.Context) bool {
		peer := &peeringv1alpha1.ClusterPeer{}
		err := x.Client(t, harness.Admin).PeeringV1alpha1().RESTClient().Get().Resource("clusterpeers").Name(name).SubResource("sensitive").Do(ctx).Into(peer)
		if err != nil || peer.Status.Invite == nil {
			return false
		}
		text = peer.Status.Invite.ConnectionString
		return text != "" && text != before
	})
	x.hide(t, text)
	return text
}

// hide makes canaries of a connection string, and of the token in it.
func (x *side) hide(t *testing.T, text string) {
	said, err := connstring.Parse(text)
	require.NoError(t, err)
	token := said.Token.Reveal()
	before, after := aroundUUID(t, text, said.ClusterUUID)
	for what, value := range map[string]string{
		"a connection string": before, "the end of a connection string": after,
		"a token": string(token), "a token in base64": base64.RawURLEncoding.EncodeToString(token), "a token in hex": hex.EncodeToString(token),
	} {
		canary, err := search.NewCanary(what+" of "+x.name, value)
		require.NoError(t, err)
		if value == before {
			public := len("entente1.eyJpZCI6I")
			require.Greater(t, len(before), public)
			canary = canary.BeginsWith(before[:public])
		}
		x.issued = append(x.issued, canary)
	}
}

// aroundUUID returns what of a connection string is before the UUID of its cluster and what
// is after it. That is no secret, and is written in the same way, in base64, in the CA's
// certificate, which status.access shows (G8).
func aroundUUID(t *testing.T, text, clusterUUID string) (before, after string) {
	parts := strings.Split(text, ".")
	require.Len(t, parts, 3)
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	require.NoError(t, err)
	at := strings.Index(string(payload), clusterUUID)
	require.Positive(t, at)
	// Three bytes are four letters, some of which are of the UUID and of its neighbours.
	begin := len(parts[0]) + 1
	return text[:begin+at/3*4], text[begin+(at+len(clusterUUID)+2)/3*4:]
}

// says waits for the reason of the condition Ready.
func (x *side) says(t *testing.T, name, reason string) {
	var last string
	if !await(patience, func() bool {
		peer, err := x.peersAs(t, harness.Viewer).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return false
		}
		if ready := meta.FindStatusCondition(peer.Status.Conditions, "Ready"); ready != nil {
			last = ready.Reason
		}
		return last == reason
	}) {
		require.Failf(t, "did not happen", "%s: %s says %s, not %s", x.name, name, last, reason)
	}
}

// look has everybody who lacks the right read everything there is, in every form.
func (x *side) look(t *testing.T, when string) {
	for _, k := range x.table.kinds {
		peers, err := x.peersAs(t, harness.Viewer).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		for _, o := range x.table.operations {
			if o.kind != k || o.method != http.MethodGet || !slices.Contains([]string{"get", "list", connect}, o.action) {
				continue
			}
			var paths []string
			if strings.Contains(o.path, "{name}") {
				for _, peer := range peers.Items {
					paths = append(paths, strings.NewReplacer("{name}", peer.Name, "{path}", proxied).Replace(o.path))
				}
			} else {
				paths = []string{o.path, o.path + "?resourceVersion=0", o.path + "?watch=1&resourceVersion=0&timeoutSeconds=1"}
			}
			for _, c := range x.callers {
				for i, path := range paths {
					for j, form := range forms(o) {
						if strings.Contains(path, "watch=1") && j != i {
							continue // it takes a second
						}
						x.do(t, request{caller: c, method: http.MethodGet, path: path, accept: form, what: when})
					}
				}
			}
		}
	}
}

// peers is the life of peerings: strings that are issued, tried by strangers, used, used
// again, replaced, wrong, and what comes of each.
func peers(t *testing.T, p plan) (sides []*side, findings []search.Finding) {
	east, west := newSide(t, p, "east"), newSide(t, p, "west")
	sides = []*side{east, west}
	first := east.invite(t, "west")
	east.look(t, "before the use")
	strangers := &strangers{side: east, t: t}
	strangers.try(first)

	west.join(t, "east", first)
	west.says(t, "east", "Active")
	east.says(t, "west", "Active")
	strangers.present(first, "a token that was used")
	for _, x := range sides {
		x.look(t, "when active")
	}

	second := east.invite(t, "another")
	peer, err := east.peersAs(t, harness.Viewer).Get(t.Context(), "another", metav1.GetOptions{})
	require.NoError(t, err)
	renew := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, peeringv1alpha1.AnnotationRenew, peer.Status.Invite.TokenID)
	_, err = east.peersAs(t, harness.Operator).Patch(t.Context(), "another", types.MergePatchType, renew, metav1.PatchOptions{})
	require.NoError(t, err)
	third := east.minted(t, "another", second)
	strangers.present(second, "a token that was replaced")

	// Strings that lead nowhere, or that are of somebody else.
	west.join(t, "broken", third[:len(third)-1]+"!")
	west.says(t, "broken", "InvalidConnectionString")
	west.join(t, "again", third)
	west.says(t, "again", "DuplicatePeer")
	east.join(t, "myself", third)
	east.says(t, "myself", "SelfPeering")
	west.join(t, "nowhere", west.leading(t, third, "https://127.0.0.1:1"))
	west.says(t, "nowhere", "PeerUnreachable")
	west.join(t, "imposter", west.leading(t, third, west.endpoint))
	west.says(t, "imposter", "PeerUnreachable") // it is not known by the pins
	for _, x := range sides {
		x.look(t, "when strings are wrong")
	}

	require.NoError(t, west.peersAs(t, harness.Operator).Delete(t.Context(), "east", metav1.DeleteOptions{}))
	east.says(t, "west", "PeerLeft")
	west.join(t, "replaced", second)
	west.says(t, "replaced", "TokenRejected")
	for _, x := range sides {
		x.look(t, "after the end")
		x.shownOfItself(t, map[*side]string{east: "entente_gateway_requests_total", west: "entente_etcd_"}[x])
		x.stop(t)
	}
	issued := slices.Concat(east.issued, west.issued)
	for _, x := range sides {
		found, err := x.recorder.Search(issued...)
		require.NoError(t, err)
		findings = append(findings, found...)
	}
	return sides, findings
}

// leading is a connection string like another, of a cluster that nobody knows, with a
// token of its own and another endpoint.
func (x *side) leading(t *testing.T, text, endpoint string) string {
	said, err := connstring.Parse(text)
	require.NoError(t, err)
	made, _, err := connectionString()
	require.NoError(t, err)
	other, err := connstring.Parse(made)
	require.NoError(t, err)
	said.Token, said.TokenID, said.Endpoints, said.ClusterUUID = other.Token, other.TokenID, []string{endpoint}, uuid.NewString()
	text, err = said.Encode()
	require.NoError(t, err)
	x.hide(t, text)
	return text
}

// R4, R5, R15, R16, P15: connection strings that servers have made, and the tokens in
// them, leave neither server in any way but for those who have the right: not by the API,
// not by the gateway, not in logs, audit or the store.
func TestPeers(t *testing.T) {
	binary, err := process.Build("leak-server", "./test/leak/server")
	require.NoError(t, err)
	sides, findings := peers(t, plan{binary: binary})
	for _, finding := range findings {
		assert.Fail(t, "a leak", "%s", finding)
	}
	for _, x := range sides {
		for _, complaint := range x.complaints {
			assert.Fail(t, "not as expected", "%s: %s", x.name, complaint)
		}
		sizes, err := x.recorder.Sizes()
		require.NoError(t, err)
		t.Logf("%s: bytes searched: %v", x.name, sizes)
		for _, class := range []string{"answer", "header", "stdout and stderr", "audit log", "audit webhook", "authorizer", "store"} {
			assert.Greater(t, sizes[class], 10_000, "%s: there should be more of %s", x.name, class)
		}
	}
	east := sides[0]
	content, err := os.ReadFile(filepath.Join(filepath.Dir(east.Dir), "audit.log"))
	require.NoError(t, err)
	for _, reason := range []string{"InviteIssued", "InviteRenewed", "InviteUsed", "InviteRefused", "PeerLeft"} {
		assert.Contains(t, string(content), `"peering.entente.dev/reason":"`+reason+`"`, "P15")
	}
	// The search can fail: what was recorded is what the values are in.
	text := east.issued[0]
	east.recorder.Add("a copy", []byte("x"+text.Value()))
	found, err := east.recorder.Search(text)
	require.NoError(t, err)
	assert.Len(t, found, 1)
}
