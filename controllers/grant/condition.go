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

package grant

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	peeringv1alpha1ac "entente.dev/entente/apis/generated/applyconfiguration/peering/v1alpha1"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/conditions"
	"entente.dev/entente/peering/record"
)

const (
	// ReasonApplied means that it has.
	ReasonApplied = "Applied"
	// ReasonForeignObject means that objects of others stand where ours are to be. It is
	// also the reason of the Event about that.
	ReasonForeignObject = "ForeignObject"
	// ReasonApplyFailed means that objects cannot be made or deleted, which is tried again.
	// It is also the reason of the Event about objects that are held by finalizers.
	ReasonApplyFailed = "ApplyFailed"

	// eventAction is what the controller was doing when it recorded an Event.
	eventAction = "Reconcile"
	// named is how many objects a message names.
	named = 3
)

// conclude returns what a ClusterPeer is to say of what its peer is granted, but for the
// time. What fails is said first: it may be why the rest is as it is.
func conclude(grants []*record.Grant, foreign sets.Set[ref], p *progress) metav1.Condition {
	condition := metav1.Condition{Type: peeringv1alpha1.ConditionGrantsApplied, Status: metav1.ConditionFalse}
	switch {
	case p.worst > 0:
		condition.Reason, condition.Message = ReasonApplyFailed, p.message()
	case len(foreign) > 0:
		condition.Reason, condition.Message = ReasonForeignObject, foreignMessage(foreign)
	default:
		condition.Status, condition.Reason, condition.Message = metav1.ConditionTrue, ReasonApplied, appliedMessage(grants)
	}
	return condition
}

// appliedMessage counts what the peer is given. What lets Entente act as others is not part
// of that.
func appliedMessage(grants []*record.Grant) string {
	objects, capabilities, namespaces := 0, 0, sets.New[string]()
	for _, grant := range grants {
		before := objects
		for _, object := range grant.Objects {
			if object.UID != "" && !object.IsImpersonation() {
				objects++
			}
		}
		if objects > before {
			capabilities++
		}
		namespaces.Insert(grant.Namespaces()...)
	}
	if objects == 0 {
		return "Nothing is granted."
	}
	return fmt.Sprintf("%s in %s for %s.", count(objects, "object", "objects"), count(len(namespaces), "namespace", "namespaces"), count(capabilities, "capability", "capabilities"))
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// foreignMessage names some of the objects. What they grant is not for Entente to say.
func foreignMessage(foreign sets.Set[ref]) string {
	return "Objects that are not Entente's stand where it is to make its own, and may grant something themselves; its own are made when those are gone: " + some(foreign) + "."
}

// some names a few of many objects.
func some(refs sets.Set[ref]) string {
	all := slices.SortedFunc(maps.Keys(refs), compareRefs)
	var names []string
	for _, r := range all[:min(len(all), named)] {
		names = append(names, r.String())
	}
	text := strings.Join(names, ", ")
	if more := len(all) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func compareRefs(a, b ref) int {
	return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
}

// said is what was written last, by the name of the ClusterPeer, so that the same is
// written again if our own write has not been seen yet.
type said struct {
	lock sync.Mutex
	last map[string]saying
}

type saying struct {
	uid types.UID
	metav1.Condition
}

// before returns what a ClusterPeer said last, or nil.
func (s *said) before(peer *peeringv1alpha1.ClusterPeer) *metav1.Condition {
	s.lock.Lock()
	defer s.lock.Unlock()
	before := meta.FindStatusCondition(peer.Status.Conditions, peeringv1alpha1.ConditionGrantsApplied)
	if mine := s.last[peer.Name]; mine.uid == peer.UID && (before == nil || !mine.LastTransitionTime.Before(&before.LastTransitionTime)) {
		return &mine.Condition
	}
	return before
}

// since returns a condition with the time at which its status became what it is (K2).
func (s *said) since(peer *peeringv1alpha1.ClusterPeer, condition metav1.Condition, now time.Time) metav1.Condition {
	condition.ObservedGeneration = peer.Generation
	condition.LastTransitionTime = metav1.NewTime(now).Rfc3339Copy()
	return conditions.Since(condition, s.before(peer))
}

func (s *said) says(peer *peeringv1alpha1.ClusterPeer, condition metav1.Condition) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.last == nil {
		s.last = map[string]saying{}
	}
	s.last[peer.Name] = saying{peer.UID, condition}
}

// forgets a ClusterPeer that is gone.
func (s *said) forgets(name string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	delete(s.last, name)
}

// say writes how it went into the status of the ClusterPeer, once it is paired. An Event
// tells of what is held when that is news: it takes somebody to see to it.
func (c *Controller) say(ctx context.Context, peer *peeringv1alpha1.ClusterPeer, isPaired bool, p *progress, foreign sets.Set[ref]) error {
	grants := c.ledger.Grants(string(peer.UID))
	shown := meta.FindStatusCondition(peer.Status.Conditions, peeringv1alpha1.ConditionGrantsApplied)
	if !isPaired && len(grants) == 0 && shown == nil {
		return nil
	}
	if p.left && p.worst == 0 {
		return nil // it goes on at once
	}
	before := c.said.before(peer)
	condition := c.said.since(peer, conclude(grants, foreign, p), c.clock.Now())
	if shown != nil && equality.Semantic.DeepEqual(*shown, condition) {
		return nil
	}
	written, err := c.write(ctx, peer, condition)
	if err != nil || !written {
		return err
	}
	c.said.says(peer, condition)
	if p.worst == held && (before == nil || before.Message != condition.Message) {
		c.warn(peer, condition.Reason, condition.Message)
	}
	return nil
}

// write writes the condition, and tells whether the ClusterPeer was still there.
func (c *Controller) write(ctx context.Context, peer *peeringv1alpha1.ClusterPeer, condition metav1.Condition) (written bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	status := peeringv1alpha1ac.ClusterPeerStatus().WithConditions(conditions.Apply(condition))
	// With the UID, so that a write for a deleted object never reaches another one that
	// was given its name.
	apply := peeringv1alpha1ac.ClusterPeer(peer.Name).WithUID(peer.UID).WithStatus(status)
	_, err = c.client.PeeringV1alpha1().ClusterPeers().ApplyStatus(ctx, apply, metav1.ApplyOptions{FieldManager: FieldManager, Force: true})
	if apierrors.IsNotFound(err) {
		return false, nil // deleted meanwhile
	}
	if err != nil {
		return false, fmt.Errorf("could not write the status: %w", err)
	}
	return true, nil
}

// announce records an Event about objects that were found to be foreign.
func (c *Controller) announce(peer *peeringv1alpha1.ClusterPeer, foreign sets.Set[ref]) {
	if len(foreign) > 0 {
		c.warn(peer, ReasonForeignObject, foreignMessage(foreign))
	}
}

// warn records an Event of a ClusterPeer.
func (c *Controller) warn(peer *peeringv1alpha1.ClusterPeer, reason, message string) {
	regarding := peeringv1alpha1.Reference("ClusterPeer", peer.Name, peer.UID)
	c.recorder.Eventf(regarding, nil, corev1.EventTypeWarning, reason, eventAction, "%s", message)
}
