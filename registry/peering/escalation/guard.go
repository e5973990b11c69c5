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
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/rest"

	"entente.dev/entente/apis/peering"
)

// Guard judges the writes of one kind: NewCapabilityGuard or NewPeerGuard makes it.
type Guard struct {
	authorizer authorizer.UnconditionalAuthorizer
	maxTime    time.Duration
	judge      func(*inquiry) judge
}

// judge judges the attempts of one request at a write. Its errors are typed and answer
// the request.
type judge interface {
	// create judges an object that is to be stored.
	create(ctx context.Context, obj runtime.Object) error
	// update judges an object that is to take the place of old. unseen are the paths of
	// sensitive fields that were written by somebody who cannot know what was in them.
	update(ctx context.Context, obj, old runtime.Object, unseen []string) error
}

// NewCapabilityGuard makes the guard of PeeringCapabilities. The authorizer is the one of
// the server's requests.
func NewCapabilityGuard(a authorizer.UnconditionalAuthorizer) (*Guard, error) {
	if a == nil {
		return nil, errors.New("could not guard PeeringCapabilities: no authorizer")
	}
	return &Guard{authorizer: a, maxTime: MaxTime, judge: func(q *inquiry) judge { return capabilityJudge{q} }}, nil
}

// NewPeerGuard makes the guard of ClusterPeers, which finds the rules of PeeringCapabilities
// in the store of those.
func NewPeerGuard(a authorizer.UnconditionalAuthorizer, capabilities rest.Getter) (*Guard, error) {
	if a == nil || capabilities == nil {
		return nil, errors.New("could not guard ClusterPeers: no authorizer, or no store of PeeringCapabilities")
	}
	return &Guard{authorizer: a, maxTime: MaxTime, judge: func(q *inquiry) judge { return peerJudge{q, capabilities} }}, nil
}

// begin begins a request.
func (g *Guard) begin() judge { return g.judge(newInquiry(g.authorizer, g.maxTime)) }

// answer is what a request is told: a refusal is a 403 for the object of the request.
func answer(err error, resource, name string) error {
	var refused *refusal
	if errors.As(err, &refused) {
		return apierrors.NewForbidden(peering.Resource(resource), name, refused)
	}
	return err
}
