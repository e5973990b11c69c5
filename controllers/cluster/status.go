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

package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	corev1alpha1ac "entente.dev/entente/apis/generated/applyconfiguration/core/v1alpha1"
	"entente.dev/entente/controllers/conditions"
	"entente.dev/entente/controllers/target"
	"entente.dev/entente/controllers/targets"
)

const (
	// seenEvery is the time that passes at least between two writes of when a cluster was
	// seen (C3).
	seenEvery = time.Minute
)

// finding is what a status is to say.
type finding struct {
	reason, message string
	// generation is that of the Cluster that it is about.
	generation int64
	// found is what was found last, nil if what the status says is to stay.
	found *target.Found
	// seen is when the cluster was seen last, zero if what the status says is to stay.
	seen time.Time
}

func refused(cluster *corev1alpha1.Cluster, problem *targets.Problem) finding {
	reason := corev1alpha1.ReasonUnsupported
	if !problem.Unsupported {
		reason = corev1alpha1.ReasonProbeFailed
	}
	return finding{reason: reason, message: problem.Message, generation: cluster.Generation}
}

// shown is what the status is to say of a Cluster that is probed.
func (c *Controller) shown(object cache.ObjectName, s state) finding {
	f := finding{reason: corev1alpha1.ReasonProbeFailed, message: s.outcome.message, generation: s.outcome.generation, found: s.found, seen: s.written}
	if s.reachable {
		f.reason, f.message = corev1alpha1.ReasonReachable, "The cluster was connected to, and its version read."+c.memory.same(object)
	}
	if s.seen.Sub(s.written) >= seenEvery {
		f.seen = s.seen
	}
	return f
}

// show writes the status that a Cluster should have, if it has another one.
func (c *Controller) show(ctx context.Context, cluster *corev1alpha1.Cluster, f finding) error {
	wanted := c.status(cluster, f)
	if equality.Semantic.DeepEqual(&cluster.Status, wanted) {
		return nil
	}
	config, err := configuration(cluster, wanted)
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err = c.client.CoreV1alpha1().Clusters(cluster.Namespace).ApplyStatus(within, config, metav1.ApplyOptions{FieldManager: FieldManager, Force: true})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // deleted or changed meanwhile, as the informer is about to tell
	}
	if err != nil {
		return fmt.Errorf("could not write the status: %w", err)
	}
	if wanted.LastSeen != nil {
		c.memory.wrote(cache.MetaObjectToName(cluster), wanted.LastSeen.Time)
	}
	klog.FromContext(ctx).V(2).Info("Wrote status", "reason", f.reason, "generation", wanted.ObservedGeneration)
	if before := meta.FindStatusCondition(cluster.Status.Conditions, corev1alpha1.ConditionReady); before == nil || before.Reason != f.reason {
		c.event(cluster, f)
	}
	return nil
}

// status is the status that a Cluster should have. What others have written beside stays.
func (c *Controller) status(cluster *corev1alpha1.Cluster, f finding) *corev1alpha1.ClusterStatus {
	wanted := cluster.Status.DeepCopy()
	ready := metav1.ConditionFalse
	if f.reason == corev1alpha1.ReasonReachable {
		ready = metav1.ConditionTrue
	}
	conditions.Set(&wanted.Conditions, metav1.Condition{
		Type: corev1alpha1.ConditionReady, Status: ready, Reason: f.reason, Message: f.message,
		ObservedGeneration: f.generation, LastTransitionTime: metav1.NewTime(c.clock.Now()).Rfc3339Copy(),
	})
	wanted.Reachable = ptr.To(ready == metav1.ConditionTrue)
	wanted.ObservedGeneration = f.generation
	wanted.ReleaseCount = c.releaseCount(cluster)
	if f.found != nil {
		wanted.DiscoveredVersion, wanted.DiscoveredAPIVersions = f.found.Version, slices.Clone(f.found.APIVersions)
	}
	if !f.seen.IsZero() {
		wanted.LastSeen = ptr.To(metav1.NewTime(f.seen).Rfc3339Copy())
	}
	return wanted
}

// releaseCount is how many Releases refer to a Cluster.
func (c *Controller) releaseCount(cluster *corev1alpha1.Cluster) int64 {
	releases, err := c.releases.GetIndexer().ByIndex(targets.ByCluster, cache.MetaObjectToName(cluster).String())
	if err != nil {
		return cluster.Status.ReleaseCount
	}
	return int64(len(releases))
}

// configuration is everything in a status that this controller owns: what is left out of it
// goes.
func configuration(cluster *corev1alpha1.Cluster, wanted *corev1alpha1.ClusterStatus) (*corev1alpha1ac.ClusterApplyConfiguration, error) {
	status := corev1alpha1ac.ClusterStatus()
	if ready := meta.FindStatusCondition(wanted.Conditions, corev1alpha1.ConditionReady); ready != nil {
		status.WithConditions(conditions.Apply(*ready))
	}
	err := conditions.Fill(status, corev1alpha1.ClusterStatus{
		DiscoveredAPIVersions: wanted.DiscoveredAPIVersions, DiscoveredVersion: wanted.DiscoveredVersion, LastSeen: wanted.LastSeen,
		ObservedGeneration: wanted.ObservedGeneration, Reachable: wanted.Reachable, ReleaseCount: wanted.ReleaseCount,
	})
	if err != nil {
		return nil, err
	}
	// With the UID, so that a write for a deleted object never reaches another one that was
	// given its name; with the version, so that what was made of a status is never written over
	// another one: it could be that of a moment ago, with its transition and its Event.
	return corev1alpha1ac.Cluster(cluster.Name, cluster.Namespace).WithUID(cluster.UID).WithResourceVersion(cluster.ResourceVersion).WithStatus(status), nil
}

// eventAction is what the controller was doing when it recorded an Event.
const eventAction = "Probe"

// event records that a Cluster has become what it was not.
func (c *Controller) event(cluster *corev1alpha1.Cluster, f finding) {
	kind := corev1.EventTypeWarning
	if f.reason == corev1alpha1.ReasonReachable {
		kind = corev1.EventTypeNormal
	}
	c.recorder.Eventf(corev1alpha1.Reference("Cluster", cluster.Namespace, cluster.Name, cluster.UID), nil, kind, f.reason, eventAction, "%s", conditions.Shorten(f.message))
}
