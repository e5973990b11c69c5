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

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"entente.dev/entente/apis/peering"
	"entente.dev/entente/registry/guard"
)

// capabilityJudge judges writes of PeeringCapabilities. Whoever creates one or changes its
// spec answers for all that it grants from then on, whichever part of it he wrote: other
// consumers or another version may let somebody have what nobody had.
type capabilityJudge struct{ *guard.Inquiry }

func (j capabilityJudge) Create(ctx context.Context, obj runtime.Object) error {
	capability, ok := obj.(*peering.PeeringCapability)
	if !ok {
		return guard.ErrOtherKind(obj)
	}
	if len(capability.Spec.Rules) == 0 {
		return nil
	}
	err := meets(ctx, j.Inquiry, demand{
		verb: "escalate", capability: capability.Name,
		rules: func(context.Context) ([]peering.CapabilityRule, bool, error) { return capability.Spec.Rules, true, nil },
	})
	return answer(err, "peeringcapabilities", capability.Name)
}

func (j capabilityJudge) Update(ctx context.Context, obj, old runtime.Object, _ []string) error {
	capability, ok := obj.(*peering.PeeringCapability)
	if !ok {
		return guard.ErrOtherKind(obj)
	}
	if before, ok := old.(*peering.PeeringCapability); ok && apiequality.Semantic.DeepEqual(capability.Spec, before.Spec) {
		return nil
	}
	return j.Create(ctx, obj)
}
