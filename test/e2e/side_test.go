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
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/test/install"
	"entente.dev/entente/test/kube"
)

// side is one of the clusters that peer, and its people: keeper, operator and viewer.
type side struct {
	*kube.Cluster
	entente *install.Installed
}

// newSide makes Entente ready to be started in a cluster.
func newSide(t *testing.T, cluster *kube.Cluster, flags ...string) *side {
	t.Helper()
	s := &side{Cluster: cluster, entente: install.Prepare(t, cluster, flags...)}
	addPeople(t, cluster)
	return s
}

// addPeople adds those with the shipped roles. The viewer may see what else is in the
// cluster, too.
func addPeople(t *testing.T, cluster *kube.Cluster) {
	t.Helper()
	for user, roles := range map[string][]string{
		keeper:   {"entente-operator", "entente-sensitive-reader"},
		operator: {"entente-operator"},
		viewer:   {"entente-viewer", "view"},
	} {
		cluster.AddUser(t, user)
		for _, role := range roles {
			cluster.Bind(t, user, role)
		}
	}
}

// peer is a ClusterPeer as the viewer sees it.
func (s *side) peer(t *testing.T, name string) *peeringv1alpha1.ClusterPeer {
	t.Helper()
	peer, err := s.entente.Client(t, viewer).PeeringV1alpha1().ClusterPeers().Get(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	return peer
}

// says waits until the condition Ready of a ClusterPeer has that reason.
func (s *side) says(t *testing.T, name, reason string) *peeringv1alpha1.ClusterPeer {
	t.Helper()
	return s.until(t, name, reason, func(peer *peeringv1alpha1.ClusterPeer) bool {
		ready := meta.FindStatusCondition(peer.Status.Conditions, "Ready")
		return ready != nil && ready.Reason == reason
	})
}

// until waits until the viewer sees a ClusterPeer that is as it should be.
func (s *side) until(t *testing.T, name, what string, is func(*peeringv1alpha1.ClusterPeer) bool) (peer *peeringv1alpha1.ClusterPeer) {
	t.Helper()
	peers := s.entente.Client(t, viewer).PeeringV1alpha1().ClusterPeers()
	eventually(t, fmt.Sprintf("%s in %s: %s", name, s.Name, what), func(ctx context.Context) error {
		found, err := peers.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if peer = found; !is(found) {
			return fmt.Errorf("the status is %s %v", found.Status.Phase, found.Status.Conditions)
		}
		return nil
	})
	return peer
}

// invite has the operator make an Invite, and returns the string, as the keeper reads it.
func (s *side) invite(t *testing.T, name string) string {
	t.Helper()
	s.MustKubectl(t, operator, "apiVersion: peering.entente.dev/v1alpha1\nkind: ClusterPeer\nmetadata: {name: "+name+"}\nspec: {type: Invite}\n", "apply", "-f", "-")
	return s.issued(t, name, "")
}

// renew has the operator ask for another string as the documentation says, and returns it.
func (s *side) renew(t *testing.T, name string) string {
	t.Helper()
	before := s.MustKubectl(t, operator, "", "get", "cpeer", name, "-o", "jsonpath={.status.invite.tokenID}")
	s.MustKubectl(t, operator, "", "annotate", "cpeer", name, "--overwrite", peeringv1alpha1.AnnotationRenew+"="+before)
	return s.issued(t, name, before)
}

// issued waits for the string of another token than before.
func (s *side) issued(t *testing.T, name, before string) string {
	t.Helper()
	s.until(t, name, "a connection string is issued", func(peer *peeringv1alpha1.ClusterPeer) bool {
		return peer.Status.Invite != nil && peer.Status.Invite.ConnectionString != "" && peer.Status.Invite.TokenID != before
	})
	text := s.MustKubectl(t, keeper, "", "get", "cpeer", name, "--subresource=sensitive", "-o", "jsonpath={.status.invite.connectionString}")
	require.True(t, strings.HasPrefix(text, "entente1."), "it is something else")
	return text
}

// join has the operator make a Join, who can write the string and not read it.
func (s *side) join(t *testing.T, name, text string) {
	t.Helper()
	s.MustKubectl(t, operator, "apiVersion: peering.entente.dev/v1alpha1\nkind: ClusterPeer\nmetadata: {name: "+name+"}\nspec: {type: Join, join: {connectionString: "+text+"}}\n", "apply", "-f", "-")
}

// uid is what a cluster without another identity goes by.
func (s *side) uid(t *testing.T) string {
	t.Helper()
	return s.MustKubectl(t, viewer, "", "get", "namespace", "kube-system", "-o", "jsonpath={.metadata.uid}")
}

// epoch is the number in the Secret entente-epoch (S2).
func (s *side) epoch(t *testing.T) int {
	t.Helper()
	encoded := s.MustKubectl(t, kube.Admin, "", "get", "secret", "-n", install.Namespace, "entente-epoch", "-o", "jsonpath={.data.epoch}")
	text, err := base64.StdEncoding.DecodeString(encoded)
	require.NoError(t, err)
	if len(text) == 0 {
		return 0
	}
	number, err := strconv.Atoi(string(text))
	require.NoError(t, err)
	return number
}

// telling is what an Event says, and who says it: the gateway may have seen what a
// controller shows.
type telling struct{ action, reason string }

// told are the Events of a ClusterPeer: how often there is each, those counted that are
// in a series.
func (s *side) told(t *testing.T, name string) map[telling]int {
	t.Helper()
	list, err := s.Clientset(t, viewer).EventsV1().Events(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	count := map[telling]int{}
	for _, event := range list.Items {
		if event.Regarding.Kind != "ClusterPeer" || event.Regarding.Name != name {
			continue
		}
		times := 1
		if event.Series != nil {
			times = int(event.Series.Count)
		}
		count[telling{event.Action, event.Reason}] += times
	}
	return count
}

// awaitTold waits until there are Events of these reasons, and no Event twice.
func (s *side) awaitTold(t *testing.T, name string, reasons ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("Events of %s in %s: %v", name, s.Name, reasons), func(context.Context) error {
		told := s.told(t, name)
		there := sets.New[string]()
		for what := range told {
			there.Insert(what.reason)
		}
		if !there.HasAll(reasons...) {
			return fmt.Errorf("there are %v", told)
		}
		return nil
	})
	for what, times := range s.told(t, name) {
		assert.Equal(t, 1, times, "%v of %s in %s", what, name, s.Name)
	}
}

// jwks are the keys of the cluster's ServiceAccounts, as it tells everybody.
func (s *side) jwks(t *testing.T) string {
	t.Helper()
	text := s.MustKubectl(t, kube.Admin, "", "get", "--raw", "/openid/v1/jwks")
	require.True(t, json.Valid([]byte(text)))
	return text
}
