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

package peering

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	clientset "entente.dev/entente/apis/generated/clientset/versioned/typed/peering/v1alpha1"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/test/harness"
)

// deadline limits how long a test waits for something that should come soon. It is no
// measure of speed.
const deadline = time.Minute

// pollInterval is the time between two looks at what is waited for.
const pollInterval = 20 * time.Millisecond

// cluster is a server, and what its users do.
type cluster struct {
	t *testing.T
	*harness.Server
}

// start starts a server with a gateway.
func start(t *testing.T, opts ...harness.Option) *cluster {
	t.Helper()
	return &cluster{t: t, Server: harness.Start(t, append([]harness.Option{harness.WithGateway(t)}, opts...)...)}
}

// peersAs are the ClusterPeers, as a user sees them.
func (c *cluster) peersAs(user string) clientset.ClusterPeerInterface {
	c.t.Helper()
	return c.Client(c.t, user).PeeringV1alpha1().ClusterPeers()
}

// create makes a ClusterPeer, as the operator.
func (c *cluster) create(name string, spec peeringv1alpha1.ClusterPeerSpec) *peeringv1alpha1.ClusterPeer {
	c.t.Helper()
	peer := &peeringv1alpha1.ClusterPeer{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
	created, err := c.peersAs(harness.Operator).Create(c.t.Context(), peer, metav1.CreateOptions{})
	require.NoError(c.t, err)
	return created
}

// get is what a viewer sees.
func (c *cluster) get(name string) *peeringv1alpha1.ClusterPeer {
	c.t.Helper()
	peer, err := c.peersAs(harness.Viewer).Get(c.t.Context(), name, metav1.GetOptions{})
	require.NoError(c.t, err)
	return peer
}

// until waits until a ClusterPeer is as it should be, and returns it.
func (c *cluster) until(name, what string, is func(*peeringv1alpha1.ClusterPeer) bool) *peeringv1alpha1.ClusterPeer {
	c.t.Helper()
	var last *peeringv1alpha1.ClusterPeer
	err := wait.PollUntilContextTimeout(c.t.Context(), pollInterval, deadline, true, func(ctx context.Context) (bool, error) {
		peer, err := c.peersAs(harness.Viewer).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, nil //nolint:nilerr // It may be there later.
		}
		last = peer
		return is(peer), nil
	})
	if err != nil {
		require.Failf(c.t, "did not happen", "%s: %s is not %s: %s", c.Base, name, what, describe(last))
	}
	return last
}

// says waits for the reason of the condition Ready.
func (c *cluster) says(name, reason string) *peeringv1alpha1.ClusterPeer {
	c.t.Helper()
	return c.until(name, reason, func(peer *peeringv1alpha1.ClusterPeer) bool { return isReason(peer, reason) })
}

// isReason tells whether that is the reason of the condition Ready.
func isReason(peer *peeringv1alpha1.ClusterPeer, reason string) bool {
	ready := meta.FindStatusCondition(peer.Status.Conditions, "Ready")
	return ready != nil && ready.Reason == reason
}

// heardSince tells whether the other cluster was in touch since then, as the status says.
func heardSince(peer *peeringv1alpha1.ClusterPeer, then time.Time) bool {
	return peer.Status.Peer != nil && peer.Status.Peer.LastSyncTime != nil && !peer.Status.Peer.LastSyncTime.Time.Before(then.Truncate(time.Second))
}

// gone waits until there is no ClusterPeer of that name.
func (c *cluster) gone(name string) {
	c.t.Helper()
	harness.Eventually(c.t, name+" is gone", func(ctx context.Context) bool {
		_, err := c.peersAs(harness.Viewer).Get(ctx, name, metav1.GetOptions{})
		return err != nil
	})
}

func (c *cluster) delete(name string) {
	c.t.Helper()
	require.NoError(c.t, c.peersAs(harness.Operator).Delete(c.t.Context(), name, metav1.DeleteOptions{}))
}

// patch changes a ClusterPeer by a merge patch, as a user.
func (c *cluster) patch(user, name, patch string, subresources ...string) {
	c.t.Helper()
	_, err := c.peersAs(user).Patch(c.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	require.NoError(c.t, err)
}

// invite makes an Invite and returns its connection string, as the admin sees it.
func (c *cluster) invite(name string, invite *peeringv1alpha1.InviteSpec) string {
	c.t.Helper()
	c.create(name, peeringv1alpha1.ClusterPeerSpec{Type: peeringv1alpha1.ClusterPeerTypeInvite, Invite: invite})
	return c.issued(name, "")
}

// issued waits for a connection string of another token than before.
func (c *cluster) issued(name, before string) string {
	c.t.Helper()
	var text string
	harness.Eventually(c.t, "a connection string is issued", func(ctx context.Context) bool {
		peer := &peeringv1alpha1.ClusterPeer{}
		err := c.Client(c.t, harness.Admin).PeeringV1alpha1().RESTClient().Get().Resource("clusterpeers").Name(name).SubResource("sensitive").Do(ctx).Into(peer)
		if err != nil || peer.Status.Invite == nil || peer.Status.Invite.TokenID == before {
			return false
		}
		text = peer.Status.Invite.ConnectionString
		return strings.HasPrefix(text, "entente1.")
	})
	return text
}

// renew asks for another connection string and returns it.
func (c *cluster) renew(name string) string {
	c.t.Helper()
	before := c.get(name).Status.Invite.TokenID
	c.patch(harness.Operator, name, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, peeringv1alpha1.AnnotationRenew, before))
	return c.issued(name, before)
}

// join makes a Join with a connection string.
func (c *cluster) join(name, text string) *peeringv1alpha1.ClusterPeer {
	c.t.Helper()
	return c.create(name, joining(text))
}

func joining(text string) peeringv1alpha1.ClusterPeerSpec {
	return peeringv1alpha1.ClusterPeerSpec{Type: peeringv1alpha1.ClusterPeerTypeJoin, Join: &peeringv1alpha1.JoinSpec{ConnectionString: text}}
}

// uuid is who the cluster is, by what its peer says.
func uuid(of *peeringv1alpha1.ClusterPeer) string {
	if of.Status.Peer == nil {
		return ""
	}
	return of.Status.Peer.ClusterUUID
}

// peered returns two clusters that are peers: east has invited west.
func peered(t *testing.T, opts ...harness.Option) (east, west *cluster) {
	t.Helper()
	east, west = start(t, opts...), start(t, opts...)
	west.join("east", east.invite("west", nil))
	west.says("east", "Active")
	east.says("west", "Active")
	return east, west
}

func describe(peer *peeringv1alpha1.ClusterPeer) string {
	if peer == nil {
		return "not there"
	}
	text := fmt.Sprintf("phase %s", peer.Status.Phase)
	for _, condition := range peer.Status.Conditions {
		text += fmt.Sprintf("; %s=%s %s: %s", condition.Type, condition.Status, condition.Reason, condition.Message)
	}
	return text
}

func TestMain(m *testing.M) {
	// What libraries start for as long as the process lives: loggers, and what cleans up
	// after them.
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"),
		goleak.IgnoreAnyFunction("k8s.io/apimachinery/pkg/util/wait.Forever"),
		goleak.IgnoreTopFunction("gopkg.in/natefinch/lumberjack%2ev2.(*Logger).millRun"),
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"),
	)
}

// sensitive is what the admin sees.
func (c *cluster) sensitive(name string) (*peeringv1alpha1.ClusterPeer, error) {
	c.t.Helper()
	peer := &peeringv1alpha1.ClusterPeer{}
	err := c.Client(c.t, harness.Admin).PeeringV1alpha1().RESTClient().Get().Resource("clusterpeers").Name(name).SubResource("sensitive").Do(c.t.Context()).Into(peer)
	return peer, err
}
