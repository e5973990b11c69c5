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

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"entente.dev/entente/apis/core"
	"entente.dev/entente/registry/guard"
)

// newGuard makes the guard of Releases (C4). A Release has Entente write to a cluster with
// the credentials of a Cluster. So whoever says what is written there must have the verb use
// on the Cluster.
func newGuard(a authorizer.UnconditionalAuthorizer) (*guard.Guard, error) {
	rule := guard.Rule{Name: "C4", Question: "whether you may use this Cluster"}
	return guard.New(a, rule, func(q *guard.Inquiry) guard.Judge { return judge{q} })
}

// judge judges writes of Releases.
type judge struct{ *guard.Inquiry }

func (j judge) Create(ctx context.Context, obj runtime.Object) error {
	release, ok := obj.(*core.Release)
	if !ok {
		return guard.ErrOtherKind(obj)
	}
	name := release.Spec.ClusterRef.Name
	held, err := j.Holds(ctx, guard.Permission{Verb: "use", Group: core.GroupName, Resource: "clusters", Namespace: release.Namespace, Name: name})
	if err == nil && !held {
		err = apierrors.NewForbidden(core.Resource(resource), release.Name, fmt.Errorf("rule C4: this takes the verb use on Cluster %s", name))
	}
	return err
}

// Update judges a change of the spec. The metadata decides nothing: whoever takes the
// finalizer away leaves behind what he may have deleted.
func (j judge) Update(ctx context.Context, obj, old runtime.Object, _ []string) error {
	release, ok := obj.(*core.Release)
	if !ok {
		return guard.ErrOtherKind(obj)
	}
	if before, ok := old.(*core.Release); ok && apiequality.Semantic.DeepEqual(release.Spec, before.Spec) {
		return nil
	}
	return j.Create(ctx, obj)
}
