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

package release

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/apis/core/validation"
	corev1alpha1ac "entente.dev/entente/apis/generated/applyconfiguration/core/v1alpha1"
	"entente.dev/entente/controllers/conditions"
	"entente.dev/entente/peering/record"
)

// show writes the status that a Release should have, if it has another one. The Cluster may be
// nil.
func (c *Controller) show(ctx context.Context, release *corev1alpha1.Release, cluster *corev1alpha1.Cluster, found finding) error {
	status := c.status(release, cluster, found)
	if equality.Semantic.DeepEqual(&release.Status, status) {
		return nil
	}
	config, err := configuration(release, status)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	_, err = c.client.CoreV1alpha1().Releases(release.Namespace).ApplyStatus(ctx, config, metav1.ApplyOptions{FieldManager: FieldManager, Force: true})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // deleted or changed meanwhile, as the informer is about to tell
	}
	if err != nil {
		return fmt.Errorf("could not write the status: %w", err)
	}
	klog.FromContext(ctx).V(2).Info("Wrote status", "reason", found.reason, "generation", status.ObservedGeneration)
	if before := meta.FindStatusCondition(release.Status.Conditions, corev1alpha1.ConditionReady); before == nil || before.Reason != found.reason {
		kind := corev1.EventTypeWarning
		if found.reason == corev1alpha1.ReasonApplied || found.reason == corev1alpha1.ReasonDeleting {
			kind = corev1.EventTypeNormal
		}
		c.event(release, kind, found.reason, conditions.Shorten(found.message))
	}
	return nil
}

// status is the status that a Release should have. What others have written beside stays.
func (c *Controller) status(release *corev1alpha1.Release, cluster *corev1alpha1.Cluster, found finding) *corev1alpha1.ReleaseStatus {
	status := release.Status.DeepCopy()
	ready := metav1.ConditionFalse
	if found.reason == corev1alpha1.ReasonApplied {
		ready = metav1.ConditionTrue
	}
	conditions.Set(&status.Conditions, metav1.Condition{
		Type: corev1alpha1.ConditionReady, Status: ready, Reason: found.reason, Message: found.message,
		ObservedGeneration: release.Generation, LastTransitionTime: metav1.NewTime(c.clock.Now()).Rfc3339Copy(),
	})
	status.ObservedGeneration = release.Generation
	if found.attempted && cluster != nil {
		status.LastAttempted = &corev1alpha1.ReleaseAttempt{Generation: release.Generation}
		if cluster.Spec.Agentless != nil {
			status.LastAttempted.ResolvedCluster = cluster.Spec.Agentless.Server
		}
	}
	status.Objects = nil
	if known := c.ledger.Release(string(release.UID)); known != nil {
		status.Objects = shown(known.Objects)
	}
	return status
}

// shown are the objects that a status shows: all, unless their names are so long that it has no
// room for them.
func shown(objects []record.ReleaseObject) (all []corev1alpha1.ReleaseObject) {
	const around = len(`{"group":"","version":"","kind":"","namespace":"","name":""},`)
	room := validation.MaxObjectsBytes
	for _, o := range objects {
		if room -= around + len(o.Group) + len(o.Version) + len(o.Kind) + len(o.Namespace) + len(o.Name); room < 0 {
			break
		}
		all = append(all, corev1alpha1.ReleaseObject{Group: o.Group, Version: o.Version, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name})
	}
	return all
}

// configuration is everything in a status that this controller owns: what is left out of it
// goes.
func configuration(release *corev1alpha1.Release, wanted *corev1alpha1.ReleaseStatus) (*corev1alpha1ac.ReleaseApplyConfiguration, error) {
	status := corev1alpha1ac.ReleaseStatus()
	if ready := meta.FindStatusCondition(wanted.Conditions, corev1alpha1.ConditionReady); ready != nil {
		status.WithConditions(conditions.Apply(*ready))
	}
	err := conditions.Fill(status, corev1alpha1.ReleaseStatus{LastAttempted: wanted.LastAttempted, ObservedGeneration: wanted.ObservedGeneration, Objects: wanted.Objects})
	if err != nil {
		return nil, err
	}
	// With the UID, so that a write for a deleted object never reaches another one that was
	// given its name; with the resourceVersion, so that none is made by a look at what is not
	// so any more, our own last write among it.
	return corev1alpha1ac.Release(release.Name, release.Namespace).WithUID(release.UID).WithResourceVersion(release.ResourceVersion).WithStatus(status), nil
}

// eventAction is what the controller was doing when it recorded an Event.
const eventAction = "Apply"

func (c *Controller) event(release *corev1alpha1.Release, kind, reason, note string) {
	c.recorder.Eventf(corev1alpha1.Reference("Release", release.Namespace, release.Name, release.UID), nil, kind, reason, eventAction, "%s", note)
}
