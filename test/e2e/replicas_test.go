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
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/test/harness"
	"entente.dev/entente/test/install"
	"entente.dev/entente/test/kube"
)

// replicas are two processes of one installation, on an etcd of their own, and a cluster
// that joins. kube-apiserver passes requests to the first one; the second one leads to
// begin with.
type replicas struct {
	*side
	second *install.Installed
	joiner *harness.Server
}

// TestReplicas is two replicas behind one control plane: both serve, one leads, and the
// other one takes over when it dies.
func TestReplicas(t *testing.T) {
	t.Parallel()
	etcd := harness.NewExternalEtcd(t)
	etcd.Start(t)
	r := &replicas{side: newSide(t, kube.Start(t, kube.Named("north")), "--etcd-servers="+etcd.Endpoint)}
	r.second = r.entente.Replica(t, "second")
	r.second.Run(t)
	r.second.WaitReady(t)
	r.leads(t, r.second)
	r.entente.Run(t)
	r.entente.WaitServed(t)
	r.joiner = harness.Start(t)
	for _, part := range []struct {
		name string
		test func(*replicas, *testing.T)
	}{
		{"P6 redeemed by the other replica", (*replicas).redeemed},
		{"P6 50 redeem at once", (*replicas).atOnce},
		{"the leader dies", (*replicas).leaderDies},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.test(r, t) }) {
			return // each part begins with what the one before has left
		}
	}
	for _, replica := range []*install.Installed{r.entente, r.second} {
		assertNoComplaint(t, replica)
	}
	assert.Empty(t, r.entente.Rights(t).Refused)
}

// holder is who has the Lease.
func (r *replicas) holder(t *testing.T) string {
	t.Helper()
	return r.MustKubectl(t, kube.Admin, "", "get", "lease", "-n", install.Namespace, "entente-controllers", "-o", "jsonpath={.spec.holderIdentity}")
}

// leads waits until a replica has the Lease, and says so.
func (r *replicas) leads(t *testing.T, replica *install.Installed) {
	t.Helper()
	eventually(t, "it is elected", func(context.Context) error {
		holder := r.holder(t)
		content, err := os.ReadFile(replica.Log)
		require.NoError(t, err)
		for line := range strings.Lines(string(content)) {
			if holder != "" && strings.Contains(line, "Elected: this replica runs the controllers") && strings.Contains(line, holder) {
				return nil
			}
		}
		return fmt.Errorf("the holder is %q", holder)
	})
}

// joinerSays waits until the condition Ready of a ClusterPeer of the joiner has that reason.
func (r *replicas) joinerSays(t *testing.T, name, reason string) {
	t.Helper()
	peers := r.joiner.Client(t, harness.Viewer).PeeringV1alpha1().ClusterPeers()
	eventually(t, name+" of the joiner: "+reason, func(ctx context.Context) error {
		peer, err := peers.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if ready := meta.FindStatusCondition(peer.Status.Conditions, "Ready"); ready == nil || ready.Reason != reason {
			return fmt.Errorf("the conditions are %v", peer.Status.Conditions)
		}
		return nil
	})
}

func (r *replicas) joinWith(t *testing.T, name, text string) {
	t.Helper()
	_, err := r.joiner.Client(t, harness.Operator).PeeringV1alpha1().ClusterPeers().Create(t.Context(), &peeringv1alpha1.ClusterPeer{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       peeringv1alpha1.ClusterPeerSpec{Type: peeringv1alpha1.ClusterPeerTypeJoin, Join: &peeringv1alpha1.JoinSpec{ConnectionString: text}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// P6: the leader has minted the string, and its replica takes it.
func (r *replicas) redeemed(t *testing.T) {
	text := r.invite(t, "joiner")
	said, err := connstring.Parse(text)
	require.NoError(t, err)
	require.Equal(t, []string{r.entente.Gateway(), r.second.Gateway()}, said.Endpoints)
	r.joinWith(t, "north", text)
	r.joinerSays(t, "north", "Active")
	r.says(t, "joiner", "Active")
	// The first endpoint has answered: that of the replica that does not lead.
	peer, err := r.joiner.Client(t, harness.Viewer).PeeringV1alpha1().ClusterPeers().Get(t.Context(), "north", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, r.entente.Gateway(), peer.Status.Peer.Endpoint)
	r.leads(t, r.second)
	r.awaitTold(t, "joiner", "InviteIssued", "InviteUsed", "PeerConfirmed", "Active")
}

// P6: of 50 clusters that use one string at the same moment, at two replicas, one wins.
// The others are refused, or told to come back: they have one address, from which no more
// than some may ask at once.
func (r *replicas) atOnce(t *testing.T) {
	const applicants = 50
	said, err := connstring.Parse(r.invite(t, "contended"))
	require.NoError(t, err)
	dialer, err := client.New(client.Config{Policy: client.Policy{AllowLocal: true}})
	require.NoError(t, err)
	requests := make([]client.JoinParams, applicants)
	for i := range requests {
		requests[i] = application(t, said, said.Endpoints[i%len(said.Endpoints)])
	}
	results := make([]error, applicants)
	var start, end sync.WaitGroup
	start.Add(1)
	for i, request := range requests {
		end.Go(func() {
			start.Wait()
			_, _, results[i] = dialer.Join(t.Context(), request)
		})
	}
	start.Done()
	end.Wait()

	var winners []string
	answers := map[client.Kind]int{}
	for i, err := range results {
		if err == nil {
			winners = append(winners, requests[i].Request.ClusterUUID)
			continue
		}
		var failure *client.Failure
		require.ErrorAs(t, err, &failure)
		answers[failure.Kind]++
	}
	require.Len(t, winners, 1, "the others: %v", answers)
	assert.Equal(t, applicants-1, answers[client.Refused]+answers[client.Busy], answers)
	assert.Greater(t, answers[client.Refused], applicants/5, answers)
	t.Logf("one wins; of the others: %v", answers)
	peer := r.until(t, "contended", "it is used", func(peer *peeringv1alpha1.ClusterPeer) bool {
		return peer.Status.Invite.Used && peer.Status.Peer != nil
	})
	assert.Equal(t, winners[0], peer.Status.Peer.ClusterUUID)
	r.MustKubectl(t, operator, "", "delete", "cpeer", "contended", "--timeout=30s")
}

// application is a request of some cluster to join, at one endpoint.
func application(t *testing.T, said *connstring.ConnectionString, endpoint string) client.JoinParams {
	t.Helper()
	key, err := pki.NewKey()
	require.NoError(t, err)
	csr, err := pki.NewCSR(key)
	require.NoError(t, err)
	return client.JoinParams{Endpoints: []string{endpoint}, Pins: said.Pins, Key: key, Request: protocol.JoinRequest{
		Protocol: protocol.MaxVersion, TokenID: said.TokenID, Token: said.Token.Reveal(), CSR: csr,
		Self: protocol.Self{ClusterUUID: uuid.NewString(), Time: time.Now().Unix(), TrustDigest: pki.BundleDigest(nil)},
	}}
}

// takeover is how long it takes at most until a leader that is gone is missed and
// replaced: 15 seconds for the Lease to run out, two until that is looked at, and what a
// busy machine adds.
const takeover = 30 * time.Second

// A leader that dies takes nothing with it: the other replica leads, peers stay peers, and
// nothing is done a second time.
func (r *replicas) leaderDies(t *testing.T) {
	before := r.peer(t, "joiner").Status.Invite.TokenID
	r.second.Kill(t)
	start := time.Now()
	r.leads(t, r.entente)
	took := time.Since(start).Round(time.Millisecond)
	t.Logf("the other replica leads %v after the leader was killed", took)
	assert.Less(t, took, takeover)

	// It does what its predecessor did.
	r.joinerSays(t, "north", "Active")
	r.says(t, "joiner", "Active")
	text := r.invite(t, "later")
	assert.Equal(t, before, r.peer(t, "joiner").Status.Invite.TokenID, "P5: a restart mints nothing")
	r.awaitTold(t, "joiner", "InviteIssued", "InviteUsed", "PeerConfirmed", "Active")
	r.awaitTold(t, "later", "InviteIssued")

	// Who comes back follows, and serves.
	r.second.Run(t)
	r.second.WaitReady(t)
	said, err := connstring.Parse(text)
	require.NoError(t, err)
	dialer, err := client.New(client.Config{Policy: client.Policy{AllowLocal: true}})
	require.NoError(t, err)
	// The gateway is served a moment after the API is.
	eventually(t, "the string is used at the gateway of the replica that came back", func(ctx context.Context) error {
		_, _, err := dialer.Join(ctx, application(t, said, r.second.Gateway()))
		var failure *client.Failure
		if errors.As(err, &failure) && failure.Kind != client.Unreachable && failure.Kind != client.Busy {
			require.NoError(t, err)
		}
		return err
	})
	r.leads(t, r.entente)
}
