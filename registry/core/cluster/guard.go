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

// newGuard makes the guard of Clusters (C2). A Cluster has Entente read what it names and
// send it to where it says. So whoever writes the one or the other must be able to read it
// himself. What he names in a namespace of Entente's is not for him at all.
func newGuard(a authorizer.UnconditionalAuthorizer, ownNamespaces []string) (*guard.Guard, error) {
	rule := guard.Rule{Name: "C2", Question: "whether you may read what this Cluster names"}
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

func (j judge) Update(ctx context.Context, obj, old runtime.Object, _ []string) error {
	cluster, ok := obj.(*core.Cluster)
	if !ok {
		return guard.ErrOtherKind(obj)
	}
	if before, ok := old.(*core.Cluster); ok && apiequality.Semantic.DeepEqual(connection(cluster), connection(before)) {
		return nil
	}
	return j.Create(ctx, obj)
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

// reads fails unless the user may read what a Cluster names.
func (j judge) reads(ctx context.Context, cluster *core.Cluster, to core.Reference) error {
	if to.Kind == core.KindSecret && slices.Contains(j.ownNamespaces, cluster.Namespace) {
		return refuse(cluster, "no Cluster of this namespace may name a Secret")
	}
	held, err := j.Holds(ctx, guard.Permission{Verb: "get", Resource: resources[to.Kind], Namespace: cluster.Namespace, Name: to.Name})
	switch {
	case errors.Is(err, guard.ErrTooMany):
		return refuse(cluster, fmt.Sprintf("this names more than %d Secrets and ConfigMaps", guard.MaxQuestions))
	case err != nil:
		return err
	case !held:
		return refuse(cluster, fmt.Sprintf("this takes the verb get on %s %s", to.Kind, to.Name))
	}
	return nil
}

// resources are those of the kinds that a Cluster can name.
var resources = map[string]string{core.KindSecret: "secrets", core.KindConfigMap: "configmaps"}

func refuse(cluster *core.Cluster, why string) error {
	return apierrors.NewForbidden(core.Resource(resource), cluster.Name, errors.New("rule C2: "+why))
}
