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
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"entente.dev/entente/apis/peering"
	"entente.dev/entente/registry/guard"
)

// rights is an authorizer: somebody may do what is listed, and nobody anything else. A
// permission is said as in "get pods", "get pods/log web", "get apps/deployments" or
// "get /version". It keeps what it was asked.
type rights struct {
	held  []string
	asked []string
	// says, where set, is the answer.
	says func(ctx context.Context) (authorizer.Decision, string, error)
}

func (r *rights) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	asked := said(a)
	r.asked = append(r.asked, asked)
	if r.says != nil {
		return r.says(ctx)
	}
	if a.GetUser().GetName() == "somebody" && slices.Contains(r.held, asked) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "not listed", nil
}

// said is how attributes are said in these tests. The group of Entente is left out.
func said(a authorizer.Attributes) string {
	if !a.IsResourceRequest() {
		return a.GetVerb() + " " + a.GetPath()
	}
	resource := a.GetResource()
	if a.GetSubresource() != "" {
		resource += "/" + a.GetSubresource()
	}
	if group := a.GetAPIGroup(); group != "" && group != peering.GroupName {
		resource = group + ":" + resource
	}
	if a.GetNamespace() != "" {
		resource += " in " + a.GetNamespace()
	}
	if a.GetName() != "" {
		resource += " " + a.GetName()
	}
	return a.GetVerb() + " " + resource
}

// capabilities is a store of PeeringCapabilities.
type capabilities map[string][]peering.CapabilityRule

func (c capabilities) Get(_ context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	if rules, ok := c[name]; ok {
		return capability(name, rules...), nil
	}
	return nil, apierrors.NewNotFound(peering.Resource("peeringcapabilities"), name)
}

// getter is a store that has an answer of its own.
type getter func() (runtime.Object, error)

func (g getter) Get(context.Context, string, *metav1.GetOptions) (runtime.Object, error) { return g() }

func capability(name string, rules ...peering.CapabilityRule) *peering.PeeringCapability {
	return &peering.PeeringCapability{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       peering.PeeringCapabilitySpec{Version: "1.0.0", Rules: rules},
	}
}

// rule allows verbs on resources of the core group.
func rule(verbs []string, resources ...string) peering.CapabilityRule {
	return peering.CapabilityRule{APIGroups: []string{""}, Resources: resources, Verbs: verbs}
}

func get(resources ...string) peering.CapabilityRule { return rule([]string{"get"}, resources...) }

func as(name string) context.Context {
	return genericapirequest.WithUser(context.Background(), &user.DefaultInfo{Name: name})
}

func somebody() context.Context { return as("somebody") }

func capabilityGuard(t *testing.T, r *rights) *guard.Guard {
	t.Helper()
	g, err := NewCapabilityGuard(r)
	require.NoError(t, err)
	return g
}

func peerGuard(t *testing.T, r *rights, c capabilities) *guard.Guard {
	t.Helper()
	g, err := NewPeerGuard(r, c)
	require.NoError(t, err)
	return g
}
