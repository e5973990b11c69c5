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
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"entente.dev/entente/apis/peering"
)

// G2: who may create a PeeringCapability, and what he is asked for.
func TestG2CreateCapability(t *testing.T) {
	logs := []peering.CapabilityRule{get("pods", "pods/log"), {NonResourceURLs: []string{"/version"}, Verbs: []string{"get"}}}
	for name, tt := range map[string]struct {
		held  []string
		rules []peering.CapabilityRule
		ok    bool
		asked string
	}{
		"without rules nothing is granted": {nil, nil, true, ""},
		"all is held":                      {[]string{"get pods", "get pods/log", "get /version"}, logs, true, "escalate peeringcapabilities logs, get pods, get pods/log, get /version"},
		"escalate on it":                   {[]string{"escalate peeringcapabilities logs"}, logs, true, "escalate peeringcapabilities logs"},
		"escalate on another":              {[]string{"escalate peeringcapabilities other"}, logs, false, "escalate peeringcapabilities logs, get pods, get peeringcapabilities logs"},
		"bind is for naming it":            {[]string{"bind peeringcapabilities logs"}, logs, false, "escalate peeringcapabilities logs, get pods, get peeringcapabilities logs"},
		"a URL is missing":                 {[]string{"get pods", "get pods/log"}, logs, false, "escalate peeringcapabilities logs, get pods, get pods/log, get /version, get peeringcapabilities logs"},
		"a subresource is missing":         {[]string{"get pods", "get /version"}, logs, false, "escalate peeringcapabilities logs, get pods, get pods/log, get peeringcapabilities logs"},
		"all but one object": {
			[]string{"get secrets a"},
			[]peering.CapabilityRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"a", "b"}, Verbs: []string{"get"}}},
			false, "escalate peeringcapabilities logs, get secrets a, get secrets b, get peeringcapabilities logs",
		},
		"a wildcard is not its parts": {
			[]string{"get pods", "list pods", "watch pods", "create pods", "update pods", "patch pods", "delete pods"},
			[]peering.CapabilityRule{rule([]string{"*"}, "pods")},
			false, "escalate peeringcapabilities logs, * pods, get peeringcapabilities logs",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &rights{held: tt.held}
			err := capabilityGuard(t, r).Begin().Create(somebody(), capability("logs", tt.rules...))
			assert.Equal(t, tt.asked, strings.Join(r.asked, ", "))
			if tt.ok {
				assert.NoError(t, err)
				return
			}
			assert.True(t, apierrors.IsForbidden(err), "%v", err)
			assert.ErrorContains(t, err, `peeringcapabilities.peering.entente.dev "logs" is forbidden: rule G2`)
		})
	}
}

// G2: whichever part of a spec is changed, all its rules count, as they are then; a change
// of anything else is asked about by nobody.
func TestG2UpdateCapability(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*peering.PeeringCapability)
		asked  string // after the verb
	}{
		"nothing": {func(*peering.PeeringCapability) {}, ""},
		"metadata": {func(c *peering.PeeringCapability) {
			c.Labels, c.Finalizers = map[string]string{"a": "b"}, []string{"c"}
		}, ""},
		"status":         {func(c *peering.PeeringCapability) { c.Status.Conditions = []metav1.Condition{{Type: "Valid"}} }, ""},
		"empty for none": {func(c *peering.PeeringCapability) { c.Spec.Consumers = []peering.Consumer{} }, ""},
		"version":        {func(c *peering.PeeringCapability) { c.Spec.Version = "2.0.0" }, "get pods, get services"},
		"consumers":      {func(c *peering.PeeringCapability) { c.Spec.Consumers = []peering.Consumer{{Name: "a", Namespace: "b"}} }, "get pods, get services"},
		"another rule":   {func(c *peering.PeeringCapability) { c.Spec.Rules = append(c.Spec.Rules, get("nodes")) }, "get pods, get services, get nodes"},
		"a rule less":    {func(c *peering.PeeringCapability) { c.Spec.Rules = c.Spec.Rules[:1] }, "get pods"},
		"other rules":    {func(c *peering.PeeringCapability) { c.Spec.Rules = []peering.CapabilityRule{get("nodes")} }, "get nodes"},
		"no rules":       {func(c *peering.PeeringCapability) { c.Spec.Rules = nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			old := capability("logs", get("pods"), get("services"))
			changed := old.DeepCopy()
			tt.change(changed)
			want := ""
			if tt.asked != "" {
				want = "escalate peeringcapabilities logs, " + tt.asked
			}

			r := &rights{held: []string{"get pods", "get services", "get nodes"}}
			assert.NoError(t, capabilityGuard(t, r).Begin().Update(somebody(), changed, old, nil))
			assert.Equal(t, want, strings.Join(r.asked, ", "))

			r = &rights{}
			err := capabilityGuard(t, r).Begin().Update(somebody(), changed, old, nil)
			assert.Equal(t, want != "", apierrors.IsForbidden(err), "%v", err)
		})
	}
}

// G2: a kind that is not its own is nothing that the guard lets pass.
func TestG2OtherKinds(t *testing.T) {
	r := &rights{says: allow}
	judge := capabilityGuard(t, r).Begin()
	assert.True(t, apierrors.IsInternalError(judge.Create(somebody(), &peering.ClusterPeer{})))
	assert.True(t, apierrors.IsInternalError(judge.Update(somebody(), &peering.ClusterPeer{}, &peering.ClusterPeer{}, nil)))
	judge = peerGuard(t, r, nil).Begin()
	assert.True(t, apierrors.IsInternalError(judge.Create(somebody(), &peering.PeeringCapability{})))
	assert.True(t, apierrors.IsInternalError(judge.Update(somebody(), &peering.PeeringCapability{}, &peering.PeeringCapability{}, nil)))
}
