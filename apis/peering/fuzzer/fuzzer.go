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

// Package fuzzer fills objects of the group peering.entente.dev with random
// content for round-trip tests.
package fuzzer

import (
	runtimeserializer "k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/randfill"

	"entente.dev/entente/apis/peering"
)

// Funcs returns the fill functions of the group. An Invite has no join block
// and a Join no invite block, and a consumer has a kind, as in stored objects.
func Funcs(runtimeserializer.CodecFactory) []any {
	return []any{
		func(spec *peering.ClusterPeerSpec, c randfill.Continue) {
			c.FillNoCustom(spec)
			if spec.Type = peering.ClusterPeerTypeInvite; c.Bool() {
				spec.Type, spec.Invite = peering.ClusterPeerTypeJoin, nil
			} else {
				spec.Join = nil
			}
		},
		func(consumer *peering.Consumer, c randfill.Continue) {
			c.FillNoCustom(consumer)
			consumer.Kind = peering.ConsumerKindServiceAccount
		},
	}
}
