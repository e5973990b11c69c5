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

package clusterpeer

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// diallingFor is how long it takes until a connection string is looked at again for which
// there was nobody free to dial.
const diallingFor = time.Second

// longestLife is for how long a connection string can be good: what an issuer may say
// (P5), and how far its clock may be ahead. One that claims more would hold the other
// cluster's UUID for as long.
const longestLife = 24*time.Hour + record.MaxSkew

// heldFor is how long it takes until a cluster that another ClusterPeer holds is tried
// again.
const heldFor = time.Minute

// join uses a connection string (P6, P8).
func (c *Controller) join(ctx context.Context, l *look) error {
	found, again, current, err := c.find(ctx, l.peer)
	if err != nil || !current {
		return err
	}
	l.found = found
	l.after(again)
	if err := c.screen(ctx, l); err != nil {
		return err
	}
	last := c.memory.attemptOf(l.peer, found.text)
	l.trouble = last.trouble
	if err := c.show(ctx, l); err != nil || l.gone || !l.pending() {
		return err
	}
	if wait := last.next.Sub(c.clock.Now()); wait > 0 {
		l.after(wait)
		return nil
	}
	if err := c.attempt(ctx, l, last); err != nil || l.gone {
		return err
	}
	return c.show(ctx, l)
}

// pending tells whether the other cluster is to be dialled for the connection string.
func (l *look) pending() bool {
	return l.found.usable() && l.refused == "" && !isUsed(l.record, l.found) && l.authority != nil
}

// find returns what is known of the connection string of a ClusterPeer, and for
// how long that counts (0: as long as the generation does). It asks the server
// once a generation. If the object has moved on meanwhile or is gone, current is
// false: the informer is about to tell.
func (c *Controller) find(ctx context.Context, peer *peeringv1alpha1.ClusterPeer) (found finding, again time.Duration, current bool, err error) {
	if !hasConnectionString(peer) {
		return finding{}, 0, true, nil
	}
	if found, again, known := c.memory.findingOf(peer, c.clock.Now()); known {
		return found, again, true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	seen, _, err := inspect(ctx, c.sensitive, peer)
	if apierrors.IsNotFound(err) {
		return finding{}, 0, false, nil
	}
	if err != nil {
		return finding{}, 0, false, err
	}
	if seen.found.denied {
		again = deniedFor
	}
	c.memory.inspected(peer.Name, seen, c.clock.Now())
	return seen.found, again, seen.uid == peer.UID && seen.generation == peer.Generation, nil
}

// screen finds out whether the connection string is to be refused without dialling
// anybody. One that was tried and has run out is refused for good, so that it does not
// hold the other cluster's UUID for ever.
func (c *Controller) screen(ctx context.Context, l *look) error {
	l.refused = ""
	if !l.found.usable() {
		return nil
	}
	now := c.clock.Now()
	l.refused = refusedHere(l, c.self.ClusterUUID, now)
	holder := c.ledger.PeerOfCluster(l.found.clusterUUID)
	if l.refused == "" && holder != nil && holder.UID != l.record.UID && !isUsed(l.record, l.found) {
		l.refused = record.DuplicatePeer
	}
	if l.refused == record.DuplicatePeer {
		l.after(heldFor)
	}
	if l.refused == record.InviteExpired && l.begun() && l.record.Join.Refused == nil {
		return c.refuse(ctx, l, record.InviteExpired)
	}
	return nil
}

// begun tells whether the connection string was tried before.
func (l *look) begun() bool { return l.record.Join != nil && l.record.Join.String == l.found.text }

// refusedHere returns why a connection string is not, or no longer, to be used here;
// empty: it is.
func refusedHere(l *look, ours string, now time.Time) record.Reason {
	expires := l.found.expiresAt
	if l.begun() {
		switch join := l.record.Join; {
		case join.Refused != nil:
			return join.Refused.Reason
		case join.Done:
			return ""
		}
		// The other cluster may have answered, and we not heard it: then it answers again.
		expires = expires.Add(record.RepeatWithin)
	}
	remote, versions := l.record.Remote, l.found.protocol
	switch {
	case l.found.clusterUUID == ours:
		return record.SelfPeering
	case !l.peer.Spec.Expects(l.found.clusterUUID):
		return record.UUIDMismatch
	case remote != nil && remote.ClusterUUID != l.found.clusterUUID && remote.Fault != record.PeerLeft:
		return record.UUIDMismatch
	case versions.Min > protocol.MaxVersion || versions.Max < protocol.MinVersion:
		return record.IncompatibleVersion
	case !now.Before(expires):
		return record.InviteExpired
	case l.found.expiresAt.Sub(now) > longestLife:
		return record.TokenRejected
	}
	return ""
}

// refuse notes that the connection string is not tried again.
func (c *Controller) refuse(ctx context.Context, l *look, reason record.Reason) error {
	err := c.update(ctx, l, func(tx record.Tx) error {
		return record.RefuseJoin(tx, l.record.UID, l.found.text, reason, c.clock.Now())
	})
	if err != nil {
		return err
	}
	l.refused = reason
	klog.FromContext(ctx).Info("The connection string is refused", "tokenID", l.found.tokenID, "clusterUUID", l.found.clusterUUID, "reason", reason)
	return nil
}

// attempt tries to use the connection string, once. The key is kept before anybody is
// dialled: if this is interrupted the next attempt gets the same answer.
func (c *Controller) attempt(ctx context.Context, l *look, last attempt) (err error) {
	// Clusters that do not answer must not hold up those that do, nor what needs none.
	select {
	case c.dialling <- struct{}{}:
		defer func() { <-c.dialling }()
	default:
		l.after(diallingFor)
		return nil
	}
	// What panics on the way could quote the token.
	defer quietly(ctx, &err)
	said, err := c.read(ctx, l)
	if err != nil || said == nil {
		return err
	}
	key, err := c.start(ctx, l)
	if err != nil || key == nil {
		return err
	}
	answer, err := c.dial(ctx, l, said, key)
	if err == nil {
		err = c.complete(ctx, l, said, key, answer)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return c.outcome(ctx, l, last, err)
}

// read reads the connection string anew, to be used at once (R4). It returns nil if it
// is not the one any more that was found.
func (c *Controller) read(ctx context.Context, l *look) (*connstring.ConnectionString, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	seen, said, err := inspect(ctx, c.sensitive, l.peer)
	if apierrors.IsNotFound(err) {
		l.gone = true
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if seen.uid != l.peer.UID || seen.found.text != l.found.text {
		l.gone = true
		return nil, nil
	}
	return said, nil
}

// start keeps a key for the connection string, or returns the one that is kept; nil if
// the ledger says that the string is not to be used.
func (c *Controller) start(ctx context.Context, l *look) (*pki.Key, error) {
	fresh, err := pki.NewKey()
	if err != nil {
		return nil, err
	}
	err = c.update(ctx, l, func(tx record.Tx) error {
		_, err := record.StartJoin(tx, record.Joining{
			UID: l.record.UID, Name: l.peer.Name, String: l.found.text, TokenID: l.found.tokenID,
			ClusterUUID: l.found.clusterUUID, ExpiresAt: l.found.expiresAt,
			Ours: c.self.ClusterUUID, Expected: l.peer.Spec.ExpectedClusterUUID(), Key: record.NewSecret(fresh.PEM()),
		})
		return err
	})
	var refusal *record.Refusal
	if errors.As(err, &refusal) {
		l.refused = refusal.Reason
		l.after(heldFor)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	join := l.record.Join
	if join.Done || join.Refused != nil {
		// It is settled; what is read from memory was behind.
		return nil, c.screen(ctx, l)
	}
	return pki.ParseKey(join.Key.Reveal())
}
