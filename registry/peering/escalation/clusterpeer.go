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

package escalation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/klog/v2"

	"entente.dev/entente/apis/peering"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/registry/guard"
)

// peerJudge judges writes of ClusterPeers. Whoever names a capability answers for it, and
// whoever points a ClusterPeer elsewhere for all those that it names: he decides who gets
// them, or where.
type peerJudge struct {
	*guard.Inquiry
	capabilities rest.Getter
}

func (j peerJudge) Create(ctx context.Context, obj runtime.Object) error {
	peer, ok := obj.(*peering.ClusterPeer)
	if !ok {
		return guard.ErrOtherKind(obj)
	}
	return j.check(ctx, peer, peer.Spec.Capabilities)
}

func (j peerJudge) Update(ctx context.Context, obj, old runtime.Object, unseen []string) error {
	peer, ok := obj.(*peering.ClusterPeer)
	if !ok {
		return guard.ErrOtherKind(obj)
	}
	before, ok := old.(*peering.ClusterPeer)
	if !ok || repointed(peer, before) || slices.ContainsFunc(unseen, inSpec) {
		return j.check(ctx, peer, peer.Spec.Capabilities)
	}
	var added []string
	for _, name := range peer.Spec.Capabilities {
		if !slices.Contains(before.Spec.Capabilities, name) {
			added = append(added, name)
		}
	}
	return j.check(ctx, peer, added)
}

// repointed says whether more of a spec has changed than its capabilities, or whether a new
// connection string is asked for.
func repointed(peer, old *peering.ClusterPeer) bool {
	if renew := peer.Annotations[peeringv1alpha1.AnnotationRenew]; renew != "" && renew != old.Annotations[peeringv1alpha1.AnnotationRenew] {
		return true
	}
	spec, oldSpec := peer.Spec, old.Spec
	spec.Capabilities, oldSpec.Capabilities = nil, nil
	return !apiequality.Semantic.DeepEqual(spec, oldSpec)
}

// inSpec says whether a sensitive field is one of the spec. A value that was written there
// by somebody who cannot see the old one counts as another value even if it is the same:
// the answer must not tell whether he has guessed it (R10).
func inSpec(path string) bool { return strings.HasPrefix(path, "spec.") }

// check demands what each of some capabilities takes, up to the first for which it fails.
func (j peerJudge) check(ctx context.Context, peer *peering.ClusterPeer, capabilities []string) error {
	for _, name := range capabilities {
		err := meets(ctx, j.Inquiry, demand{
			verb: "bind", capability: name,
			rules: func(ctx context.Context) ([]peering.CapabilityRule, bool, error) { return j.rules(ctx, name) },
		})
		if err != nil {
			return answer(err, "clusterpeers", peer.Name)
		}
	}
	return nil
}

// rules reads the rules of a capability as they are now.
func (j peerJudge) rules(ctx context.Context, name string) (rules []peering.CapabilityRule, found bool, err error) {
	obj, err := j.capabilities.Get(ctx, name, &metav1.GetOptions{})
	capability, ok := obj.(*peering.PeeringCapability)
	switch {
	case apierrors.IsNotFound(err):
		return nil, false, nil
	case err == nil && !ok:
		err = fmt.Errorf("could not read a PeeringCapability: the store returned a %T", obj)
		fallthrough
	case err != nil:
		klog.FromContext(ctx).Error(err, "A write was refused: what a capability grants could not be read", "rule", "G2", "capability", name)
		return nil, false, j.Unavailable()
	}
	return capability.Spec.Rules, true, nil
}
