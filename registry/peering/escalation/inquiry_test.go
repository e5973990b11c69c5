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
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"entente.dev/entente/apis/peering"
	"entente.dev/entente/registry/guard"
)

func allow(context.Context) (authorizer.Decision, string, error) {
	return authorizer.DecisionAllow, "", nil
}

// resources are so many that a rule for them takes n questions.
func resources(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprint("r", i))
	}
	return out
}

// holding are rights to get some resources.
func holding(resources []string, more ...string) []string {
	held := slices.Clone(more)
	for _, resource := range resources {
		held = append(held, "get "+resource)
	}
	return held
}

// G2: a request takes so many questions and no more; what would take more is refused without
// asking them, and the answer says so.
func TestG2Questions(t *testing.T) {
	enough, tooMany := resources(guard.MaxQuestions-1), resources(guard.MaxQuestions)
	r := &rights{held: holding(enough)}
	assert.NoError(t, capabilityGuard(t, r).Begin().Create(somebody(), capability("wide", get(enough...))))
	assert.Len(t, r.asked, guard.MaxQuestions, "with the one for the verb")

	for name, rules := range map[string][]peering.CapabilityRule{
		"one rule":       {get(tooMany...)},
		"several":        {get(tooMany[:300]...), get(tooMany[200:]...)},
		"a huge product": {{APIGroups: tooMany, Resources: tooMany, ResourceNames: tooMany, Verbs: tooMany}},
	} {
		r = &rights{held: holding(tooMany, "get peeringcapabilities wide")}
		err := capabilityGuard(t, r).Begin().Create(somebody(), capability("wide", rules...))
		assert.True(t, apierrors.IsForbidden(err), "%s: %v", name, err)
		assert.ErrorContains(t, err, `rule G2: more than 512 permissions would have to be checked, so this takes the verb "escalate" on peeringcapabilities "wide"`)
		assert.Len(t, r.asked, 1, "the verb: %s", name)
	}
	r = &rights{held: []string{"escalate peeringcapabilities wide"}}
	assert.NoError(t, capabilityGuard(t, r).Begin().Create(somebody(), capability("wide", get(tooMany...))), "the verb is enough")

	// The bound is of the request, not of a capability.
	wide := capabilities{"a": {get(resources(300)...)}, "b": {get(resources(300)...)}, "c": {rule([]string{"list"}, resources(300)...)}}
	r = &rights{held: holding(resources(300))}
	assert.NoError(t, peerGuard(t, r, wide).Begin().Create(somebody(), peer("a", "b")), "what is known already is not asked again")
	assert.Len(t, r.asked, 302)
	r = &rights{held: holding(resources(300))}
	err := peerGuard(t, r, wide).Begin().Create(somebody(), peer("a", "b", "c"))
	assert.True(t, apierrors.IsForbidden(err), "%v", err)
	assert.ErrorContains(t, err, `more than 512 permissions would have to be checked, so this takes the verb "bind" on peeringcapabilities "c"`)
	assert.Len(t, r.asked, 303)
	// And of the verbs too.
	r = &rights{}
	names := resources(guard.MaxQuestions + 1)
	for _, name := range names {
		r.held = append(r.held, "bind peeringcapabilities "+name)
	}
	assert.NoError(t, peerGuard(t, r, nil).Begin().Create(somebody(), peer(names[:guard.MaxQuestions]...)))
	r.asked = nil
	err = peerGuard(t, r, nil).Begin().Create(somebody(), peer(names...))
	assert.True(t, apierrors.IsForbidden(err), "%v", err)
	assert.Len(t, r.asked, guard.MaxQuestions)
	// Who has no question left to ask whether he reads the capability is told no more.
	r = &rights{held: holding(resources(510), "get peeringcapabilities wide")}
	err = capabilityGuard(t, r).Begin().Create(somebody(), capability("wide", get(enough...)))
	assert.ErrorContains(t, err, "more than 512 permissions")
	assert.Len(t, r.asked, guard.MaxQuestions)
}

// G2: all attempts at a write are one request: nothing is asked twice.
func TestG2AsksOnce(t *testing.T) {
	r := &rights{held: []string{"get pods"}}
	judge := capabilityGuard(t, r).Begin()
	for range 3 {
		assert.NoError(t, judge.Create(somebody(), capability("logs", get("pods"), get("pods"))))
	}
	assert.Equal(t, []string{"escalate peeringcapabilities logs", "get pods"}, r.asked)
	for range 3 {
		assert.Error(t, judge.Create(somebody(), capability("logs", get("pods", "nodes"))))
	}
	assert.Equal(t, []string{"escalate peeringcapabilities logs", "get pods", "get nodes", "get peeringcapabilities logs"}, r.asked)
	assert.NoError(t, capabilityGuard(t, r).Begin().Create(somebody(), capability("logs", get("pods"))))
	assert.Len(t, r.asked, 6, "another request asks anew")
}

// G2: without an answer there is no permission, for nobody there is none, and what went wrong
// is not said.
func TestG2WithoutAnAnswer(t *testing.T) {
	for name, tt := range map[string]struct {
		says func(context.Context) (authorizer.Decision, string, error)
		ctx  context.Context
	}{
		"an error": {func(context.Context) (authorizer.Decision, string, error) {
			return authorizer.DecisionDeny, "", assert.AnError
		}, somebody()},
		"allowed, an error": {func(context.Context) (authorizer.Decision, string, error) {
			return authorizer.DecisionAllow, "", assert.AnError
		}, somebody()},
		"no user": {allow, context.Background()},
	} {
		t.Run(name, func(t *testing.T) {
			r := &rights{says: tt.says}
			judge := capabilityGuard(t, r).Begin()
			for range 2 {
				err := judge.Create(tt.ctx, capability("logs", get("pods")))
				require.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
				assert.Equal(t, "rule G2: whether you hold what this would grant could not be checked; try again later", err.Error())
			}
			assert.LessOrEqual(t, len(r.asked), 1, "one failure is enough")
		})
	}
	for name, decision := range map[string]authorizer.Decision{"a denial": authorizer.DecisionDeny, "no opinion": authorizer.DecisionNoOpinion, "nonsense": 77} {
		r := &rights{says: func(context.Context) (authorizer.Decision, string, error) { return decision, "", nil }}
		err := capabilityGuard(t, r).Begin().Create(somebody(), capability("logs", get("pods")))
		assert.True(t, apierrors.IsForbidden(err), "%s: %v", name, err)
	}
}

// G2: what is missing, up to ten permissions, is said to who may read the capability;
// others are told the verb, and not even whether there is such a capability.
func TestG2Answers(t *testing.T) {
	const (
		writing = `peeringcapabilities.peering.entente.dev "logs" is forbidden: rule G2: this takes the verb "escalate" on peeringcapabilities "logs", or each permission in its rules, in all namespaces`
		naming  = `clusterpeers.peering.entente.dev "east" is forbidden: rule G2: this takes the verb "bind" on peeringcapabilities "NAME", or each permission in its rules, in all namespaces`
	)
	many := resources(12)
	listed := func(n int) string {
		var out []string
		for _, resource := range many[:n] {
			out = append(out, fmt.Sprintf(`{APIGroups:[""], Resources:[%q], Verbs:["get"]}`, resource))
		}
		return "; missing: " + strings.Join(out, ", ")
	}
	for n, want := range map[int]string{1: listed(1), 10: listed(10), 11: listed(10) + ", and more", 12: listed(10) + ", and more"} {
		reads := &rights{held: []string{"get peeringcapabilities logs", "get held"}}
		err := capabilityGuard(t, reads).Begin().Create(somebody(), capability("logs", get("held"), get(many[:n]...)))
		assert.EqualError(t, err, writing+want)
		assert.Len(t, reads.asked, 3+min(n, 11), "what is not listed is not asked about")
		err = peerGuard(t, reads, capabilities{"logs": {get("held"), get(many[:n]...)}}).Begin().Create(somebody(), peer("logs"))
		assert.EqualError(t, err, strings.ReplaceAll(naming, "NAME", "logs")+want)

		blind := &rights{held: []string{"get held"}}
		err = capabilityGuard(t, blind).Begin().Create(somebody(), capability("logs", get("held"), get(many[:n]...)))
		assert.EqualError(t, err, writing)
		assert.Len(t, blind.asked, 4, "to whom nothing is listed, nothing more is asked about")
	}
	blind, reads := &rights{}, &rights{held: []string{"get peeringcapabilities absent"}}
	for _, name := range []string{"logs", "absent"} {
		err := peerGuard(t, blind, stored()).Begin().Create(somebody(), peer(name))
		assert.EqualError(t, err, strings.ReplaceAll(naming, "NAME", name))
	}
	err := peerGuard(t, reads, stored()).Begin().Create(somebody(), peer("absent"))
	assert.EqualError(t, err, strings.ReplaceAll(naming, "NAME", "absent")+"; there is no such capability")
}

// A guard that could not ask is not made.
func TestNewFails(t *testing.T) {
	_, err := NewCapabilityGuard(nil)
	assert.Error(t, err)
	_, err = NewPeerGuard(nil, capabilities{})
	assert.Error(t, err)
	_, err = NewPeerGuard(&rights{}, nil)
	assert.Error(t, err)
}
