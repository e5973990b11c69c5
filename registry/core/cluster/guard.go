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
	"errors"
	"fmt"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"entente.dev/entente/apis/core"
	"entente.dev/entente/registry/guard"
)

// newGuard makes the guard of Clusters.
//
// A Cluster decides where its Releases go, and what their mutations come to. So whoever says
// so must have the verb use on it (C4), and before it is there too: Releases may wait for one
// of its name. It can have Entente delete Releases: whoever says so must be able to delete all
// of the namespace himself (C1). And it has Entente read what it names and send it to where it
// says: whoever writes the one or the other must be able to read it himself, and what he names
// in a namespace of Entente's is not for him at all (C2).
func newGuard(a authorizer.UnconditionalAuthorizer, ownNamespaces []string) (*guard.Guard, error) {
	rule := guard.Rule{Name: "C1, C2, C4", Question: "whether you may write this Cluster so"}
	own := slices.Clone(ownNamespaces)
	return guard.New(a, rule, func(q *guard.Inquiry) guard.Judge { return judge{q, own} })
}

// judge judges writes of Clusters.
type judge struct {
	*guard.Inquiry
	ownNamespaces []string
}

func (j judge) Create(ctx context.Context, obj runtime.Object) error {
	cluster, ok := obj.(*core.Cluster)
	if !ok {
		return guard.ErrOtherKind(obj)
	}
	return j.judge(ctx, cluster, &core.Cluster{})
}

func (j judge) Update(ctx context.Context, obj, old runtime.Object, _ []string) error {
	cluster, ok := obj.(*core.Cluster)
	if !ok {
		return guard.ErrOtherKind(obj)
	}
	before, ok := old.(*core.Cluster)
	if !ok {
		return guard.ErrOtherKind(old)
	}
	return j.judge(ctx, cluster, before)
}

// judge judges what is in a Cluster and was not before. The two rights that do not depend on
// what it names are asked about first: there may be hundreds of the others.
func (j judge) judge(ctx context.Context, cluster, before *core.Cluster) error {
	if !apiequality.Semantic.DeepEqual(target(cluster), target(before)) {
		use := guard.Permission{Verb: "use", Group: core.GroupName, Resource: resource, Namespace: cluster.Namespace, Name: cluster.Name}
		if err := j.takes(ctx, cluster, "C4", use, "use on Cluster "+cluster.Name); err != nil {
			return err
		}
	}
	if prunes(cluster) && !prunes(before) {
		// Which ones they will be nobody knows yet, so it is the right to delete any.
		deletes := guard.Permission{Verb: "deletecollection", Group: core.GroupName, Resource: "releases", Namespace: cluster.Namespace}
		if err := j.takes(ctx, cluster, "C1", deletes, "deletecollection on the Releases of the namespace: pruneReleases deletes them"); err != nil {
			return err
		}
	}
	if apiequality.Semantic.DeepEqual(connection(cluster), connection(before)) {
		return nil
	}
	for _, to := range cluster.Spec.References() {
		if to.Name == "" {
			continue
		}
		if err := j.reads(ctx, cluster, to); err != nil {
			return err
		}
	}
	return nil
}

// target is what of a Cluster decides what becomes of its Releases: where they go, and what
// their mutations read.
func target(cluster *core.Cluster) core.ClusterSpec {
	return core.ClusterSpec{ConnectionMode: cluster.Spec.ConnectionMode, Agentless: cluster.Spec.Agentless, Metadata: cluster.Spec.Metadata}
}

// connection is what of a Cluster decides what is read, and to whom it is shown: all that a
// connection is made of but how often and for how long.
func connection(cluster *core.Cluster) core.ClusterSpec {
	out := core.ClusterSpec{ConnectionMode: cluster.Spec.ConnectionMode}
	if cluster.Spec.Agentless != nil {
		agentless := *cluster.Spec.Agentless
		agentless.ConnectionParameters = nil
		out.Agentless = &agentless
	}
	return out
}

// prunes says whether the Releases of a Cluster are deleted with it.
func prunes(cluster *core.Cluster) bool {
	policy := cluster.Spec.DeletionPolicy
	return policy != nil && policy.PruneReleases != nil && *policy.PruneReleases
}

// reads fails unless the user may read what a Cluster names.
func (j judge) reads(ctx context.Context, cluster *core.Cluster, to core.Reference) error {
	if to.Kind == core.KindSecret && slices.Contains(j.ownNamespaces, cluster.Namespace) {
		return refuse(cluster, "C2", "no Cluster of this namespace may name a Secret")
	}
	get := guard.Permission{Verb: "get", Resource: resources[to.Kind], Namespace: cluster.Namespace, Name: to.Name}
	return j.takes(ctx, cluster, "C2", get, fmt.Sprintf("get on %s %s", to.Kind, to.Name))
}

// takes fails unless the user holds what a write takes by a rule.
func (j judge) takes(ctx context.Context, cluster *core.Cluster, rule string, p guard.Permission, verb string) error {
	held, err := j.Holds(ctx, p)
	switch {
	case errors.Is(err, guard.ErrTooMany):
		return refuse(cluster, rule, "this names too many Secrets and ConfigMaps")
	case err != nil:
		return err
	case !held:
		return refuse(cluster, rule, "this takes the verb "+verb)
	}
	return nil
}

// resources are those of the kinds that a Cluster can name.
var resources = map[string]string{core.KindSecret: "secrets", core.KindConfigMap: "configmaps"}

func refuse(cluster *core.Cluster, rule, why string) error {
	return apierrors.NewForbidden(core.Resource(resource), cluster.Name, fmt.Errorf("rule %s: %s", rule, why))
}
