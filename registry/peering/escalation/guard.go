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
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/rest"

	"entente.dev/entente/apis/peering"
	"entente.dev/entente/registry/guard"
)

// escalates is what the guards of this package enforce.
var escalates = guard.Rule{Name: "G2", Question: "whether you hold what this would grant"}

// NewCapabilityGuard makes the guard of PeeringCapabilities. The authorizer is the one of
// the server's requests.
func NewCapabilityGuard(a authorizer.UnconditionalAuthorizer) (*guard.Guard, error) {
	return guard.New(a, escalates, func(q *guard.Inquiry) guard.Judge { return capabilityJudge{q} })
}

// NewPeerGuard makes the guard of ClusterPeers, which finds the rules of PeeringCapabilities
// in the store of those.
func NewPeerGuard(a authorizer.UnconditionalAuthorizer, capabilities rest.Getter) (*guard.Guard, error) {
	if capabilities == nil {
		return nil, errors.New("could not guard ClusterPeers: no store of PeeringCapabilities")
	}
	return guard.New(a, escalates, func(q *guard.Inquiry) guard.Judge { return peerJudge{q, capabilities} })
}

// answer is what a request is told: a refusal is a 403 for the object of the request.
func answer(err error, resource, name string) error {
	var refused *refusal
	if errors.As(err, &refused) {
		return apierrors.NewForbidden(peering.Resource(resource), name, refused)
	}
	return err
}
