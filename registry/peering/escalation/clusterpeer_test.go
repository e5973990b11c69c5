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
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"entente.dev/entente/apis/peering"
)

// stored are the capabilities of these tests.
func stored() capabilities {
	return capabilities{"logs": {get("pods/log")}, "pods": {get("pods")}, "empty": nil}
}

func peer(names ...string) *peering.ClusterPeer {
	return &peering.ClusterPeer{
		ObjectMeta: metav1.ObjectMeta{Name: "east", Annotations: map[string]string{"a": "b"}},
		Spec: peering.ClusterPeerSpec{
			Type: peering.ClusterPeerTypeJoin, Capabilities: names, Projects: []string{"one"},
			Join: &peering.JoinSpec{ConnectionString: "stored", ExpectedClusterUUID: "uuid"},
		},
	}
}

// G2: who may create a ClusterPeer that names capabilities.
func TestG2CreatePeer(t *testing.T) {
	for name, tt := range map[string]struct {
		held  []string
		names []string
		ok    bool
		asked string
	}{
		"none is named":               {nil, nil, true, ""},
		"what it grants is held":      {[]string{"get pods/log"}, []string{"logs"}, true, "bind peeringcapabilities logs, get pods/log"},
		"bind on it":                  {[]string{"bind peeringcapabilities logs"}, []string{"logs"}, true, "bind peeringcapabilities logs"},
		"bind on one, hold the other": {[]string{"bind peeringcapabilities pods", "get pods/log"}, []string{"logs", "pods"}, true, "bind peeringcapabilities logs, get pods/log, bind peeringcapabilities pods"},
		"bind on one of two":          {[]string{"bind peeringcapabilities logs"}, []string{"logs", "pods"}, false, "bind peeringcapabilities logs, bind peeringcapabilities pods, get pods, get peeringcapabilities pods"},
		"escalate is for writing it":  {[]string{"escalate peeringcapabilities logs"}, []string{"logs"}, false, "bind peeringcapabilities logs, get pods/log, get peeringcapabilities logs"},
		"one without rules":           {nil, []string{"empty"}, true, "bind peeringcapabilities empty"},
		"one that is not there":       {[]string{"get pods", "get pods/log"}, []string{"absent"}, false, "bind peeringcapabilities absent, get peeringcapabilities absent"},
		"bind on what is not there":   {[]string{"bind peeringcapabilities absent"}, []string{"absent"}, true, "bind peeringcapabilities absent"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &rights{held: tt.held}
			err := peerGuard(t, r, stored()).Begin().Create(somebody(), peer(tt.names...))
			assert.Equal(t, tt.asked, strings.Join(r.asked, ", "))
			if tt.ok {
				assert.NoError(t, err)
				return
			}
			assert.True(t, apierrors.IsForbidden(err), "%v", err)
			assert.ErrorContains(t, err, `clusterpeers.peering.entente.dev "east" is forbidden: rule G2`)
		})
	}
}

// G2: naming a capability more is a question about that one; pointing a ClusterPeer
// elsewhere, or asking for another string, one about all that it names then; a change of
// anything else, and a capability less, none.
func TestG2UpdatePeer(t *testing.T) {
	const renew = "peering.entente.dev/renew"
	set := func(value string) func(*peering.ClusterPeer) {
		return func(p *peering.ClusterPeer) { p.Annotations[renew] = value }
	}
	for name, tt := range map[string]struct {
		old    func(*peering.ClusterPeer)
		change func(*peering.ClusterPeer)
		unseen []string
		asked  string // the capabilities
	}{
		"nothing": {},
		"metadata": {change: func(p *peering.ClusterPeer) {
			p.Labels, p.Annotations["a"], p.Finalizers = map[string]string{"x": "y"}, "c", nil
		}},
		"the status":                {change: func(p *peering.ClusterPeer) { p.Status.Phase = peering.ClusterPeerPhaseActive }},
		"a capability less":         {change: func(p *peering.ClusterPeer) { p.Spec.Capabilities = []string{"logs"} }},
		"another order":             {change: func(p *peering.ClusterPeer) { p.Spec.Capabilities = []string{"pods", "logs"} }},
		"a capability more":         {change: func(p *peering.ClusterPeer) { p.Spec.Capabilities = []string{"logs", "absent", "pods"} }, asked: "absent"},
		"one for another":           {change: func(p *peering.ClusterPeer) { p.Spec.Capabilities = []string{"absent", "pods"} }, asked: "absent"},
		"the connection string":     {change: func(p *peering.ClusterPeer) { p.Spec.Join.ConnectionString = "other" }, asked: "logs pods"},
		"no connection string":      {change: func(p *peering.ClusterPeer) { p.Spec.Join.ConnectionString = "" }, asked: "logs pods"},
		"the UUID":                  {change: func(p *peering.ClusterPeer) { p.Spec.Join.ExpectedClusterUUID = "" }, asked: "logs pods"},
		"no join":                   {change: func(p *peering.ClusterPeer) { p.Spec.Join = nil }, asked: "logs pods"},
		"a join":                    {old: func(p *peering.ClusterPeer) { p.Spec.Join = nil }, asked: "logs pods"},
		"an invite":                 {change: func(p *peering.ClusterPeer) { p.Spec.Invite = &peering.InviteSpec{} }, asked: "logs pods"},
		"the type":                  {change: func(p *peering.ClusterPeer) { p.Spec.Type = peering.ClusterPeerTypeInvite }, asked: "logs pods"},
		"a project more":            {change: func(p *peering.ClusterPeer) { p.Spec.Projects = []string{"one", "two"} }, asked: "logs pods"},
		"all projects":              {change: func(p *peering.ClusterPeer) { p.Spec.Projects = nil }, asked: "logs pods"},
		"a project less":            {old: func(p *peering.ClusterPeer) { p.Spec.Projects = []string{"one", "two"} }, asked: "logs pods"},
		"no projects, said anew":    {old: func(p *peering.ClusterPeer) { p.Spec.Projects = nil }, change: func(p *peering.ClusterPeer) { p.Spec.Projects = []string{} }},
		"both":                      {change: func(p *peering.ClusterPeer) { p.Spec.Projects, p.Spec.Capabilities = nil, []string{"absent", "pods"} }, asked: "absent pods"},
		"all capabilities go":       {change: func(p *peering.ClusterPeer) { p.Spec.Projects, p.Spec.Capabilities = nil, nil }},
		"a renewal":                 {change: set("id"), asked: "logs pods"},
		"another renewal":           {old: set("before"), change: set("id"), asked: "logs pods"},
		"the same renewal":          {old: set("id"), change: set("id")},
		"a renewal less":            {old: set("id"), change: func(p *peering.ClusterPeer) { delete(p.Annotations, renew) }},
		"an empty renewal":          {old: set("id"), change: set("")},
		"a guess of the string":     {unseen: []string{"spec.join.connectionString"}, asked: "logs pods"},
		"a value for the status":    {unseen: []string{"status.invite.connectionString"}},
		"a guess, and one for both": {unseen: []string{"status.invite.connectionString", "spec.join.connectionString"}, asked: "logs pods"},
	} {
		t.Run(name, func(t *testing.T) {
			old, changed := peer("logs", "pods"), peer("logs", "pods")
			if tt.old != nil {
				tt.old(old)
			}
			if tt.change != nil {
				tt.change(changed)
			}
			names := strings.Fields(tt.asked)
			var binds []string
			for _, name := range names {
				binds = append(binds, "bind peeringcapabilities "+name)
			}
			r := &rights{held: binds}
			assert.NoError(t, peerGuard(t, r, stored()).Begin().Update(somebody(), changed, old, tt.unseen))
			assert.Equal(t, binds, r.asked)

			// Without the verb on one of them it is refused, and for nothing else.
			for _, name := range names {
				r = &rights{held: slices.DeleteFunc(slices.Clone(binds), func(held string) bool { return strings.HasSuffix(held, name) })}
				err := peerGuard(t, r, stored()).Begin().Update(somebody(), changed, old, tt.unseen)
				assert.True(t, apierrors.IsForbidden(err), "%v", err)
				assert.ErrorContains(t, err, `"bind" on peeringcapabilities "`+name+`"`)
			}
			r = &rights{}
			err := peerGuard(t, r, stored()).Begin().Update(somebody(), changed, old, tt.unseen)
			assert.Equal(t, len(names) > 0, err != nil, "%v", err)
		})
	}
}

// G2: what a capability grants is read, or nothing is granted; and how it could not be read
// is not said.
func TestG2RulesThatCannotBeRead(t *testing.T) {
	for name, get := range map[string]getter{
		"an error":     func() (runtime.Object, error) { return nil, assert.AnError },
		"another kind": func() (runtime.Object, error) { return &peering.ClusterPeer{}, nil },
		"nothing":      func() (runtime.Object, error) { return nil, nil },
	} {
		g, err := NewPeerGuard(&rights{held: []string{"get pods/log"}}, get)
		assert.NoError(t, err)
		err = g.Begin().Create(somebody(), peer("logs"))
		assert.True(t, apierrors.IsServiceUnavailable(err), "%s: %v", name, err)
		assert.NotContains(t, err.Error(), assert.AnError.Error())

		g, err = NewPeerGuard(&rights{held: []string{"bind peeringcapabilities logs"}}, get)
		assert.NoError(t, err)
		assert.NoError(t, g.Begin().Create(somebody(), peer("logs")), "with the verb nobody reads them")
	}
}
