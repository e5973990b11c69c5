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

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// G3, G4, G5: whatever changes, on either side, the grants follow, those of a project or
// all of them. Each step begins with what the one before has left.
func (g *granting) comesAndGoes(t *testing.T) {
	both := in("b1", "b2", "c1")
	none := grants{}
	for _, step := range []struct {
		what  string
		do    func()
		limit time.Duration
		want  grants
		told  string // the reason of an Event that says why
	}{
		{"G4 narrowed to one project", func() { g.east.spec(t, platform, "cpeer", "west", `{"projects":["b"]}`) }, soon, in("b1", "b2"), ""},
		{"G4 listed, and not there", func() { g.east.spec(t, platform, "cpeer", "west", `{"projects":["a","b","c","x"]}`) }, soon, both, ""},
		{"G4 not narrowed", func() { g.east.spec(t, platform, "cpeer", "west", `{"projects":null}`) }, soon, both, ""},
		{"G4 a namespace leaves, by somebody who may not pair", func() { g.east.label(t, writer, "c1", "") }, soon, in("b1", "b2"), ""},
		{"G4 and comes back", func() { g.east.label(t, platform, "c1", "c") }, soon, both, ""},
		{"G4 a new one", func() { g.east.project(t, platform, "b", "b3") }, soon, in("b1", "b2", "b3", "c1"), ""},
		{"G4 moves to a project that is not paired", func() { g.east.label(t, platform, "b3", "a") }, soon, both, ""},
		{"G4 and to one that is", func() { g.east.label(t, platform, "b3", "c") }, soon, in("b1", "b2", "b3", "c1"), ""},
		{"G4 is deleted", func() { g.east.MustKubectl(t, writer, "", "delete", "namespace", "b3") }, soon, both, ""},
		{"G4 the other cluster has the project no more", func() { g.west.label(t, writer, "c9", "") }, later, in("b1", "b2"), ""},
		{"G4 and has it again", func() { g.west.label(t, platform, "c9", "c") }, later, both, ""},
		{"G4 the other cluster claims one more", func() { g.west.project(t, platform, "a", "a9") }, later, in("a1", "b1", "b2", "c1"), ""},
		{"G4 which it was not to have", func() { g.east.spec(t, platform, "cpeer", "west", `{"projects":["b","c"]}`) }, soon, both, ""},

		{"G5 withdrawn", func() { g.east.spec(t, platform, "cpeer", "west", `{"capabilities":null}`) }, soon, none, ""},
		{"G5 granted again", func() { g.east.spec(t, platform, "cpeer", "west", `{"capabilities":["logs"]}`) }, soon, both, ""},
		{"G3 the other cluster withdraws it", func() { g.west.spec(t, platform, "cpeer", "east", `{"capabilities":null}`) }, later, none, "CapabilityNotOffered"},
		{"G3 and offers it again", func() { g.west.spec(t, platform, "cpeer", "east", `{"capabilities":["logs"]}`) }, later, both, ""},
		{"G3 another major version", func() { g.west.spec(t, platform, "peercap", "logs", `{"version":"2.0.0"}`) }, later, none, "CapabilityVersionMismatch"},
		{"G3 and the same again", func() { g.west.spec(t, platform, "peercap", "logs", `{"version":"v1.0.0-rc.1"}`) }, later, both, ""},
		{"G1 not valid any more", func() {
			g.east.spec(t, author, "peercap", "logs", `{"consumers":[{"namespace":"Not","name":"valid"}]}`)
		}, soon, none, "CapabilityNotValid"},
		{"G1 valid again", func() { g.east.MustKubectl(t, platform, eastLogs, "apply", "-f", "-") }, soon, both, ""},
		{"G5 deleted", func() { g.east.MustKubectl(t, platform, "", "delete", "peercap", "logs") }, soon, none, "CapabilityNotFound"},
		{"G5 made again", func() { g.east.MustKubectl(t, platform, eastLogs, "create", "-f", "-") }, soon, both, ""},
	} {
		step.do()
		g.await(t, step.what, step.limit, step.want)
		if step.told != "" {
			eventually(t, "an Event says "+step.told, func(context.Context) error { return g.tells(t, step.told) })
		}
	}
	g.east.awaitProjectPeers(t, soon, "b1", "b2", "c1")
	g.contents(t, "configmaps", g.consumer)
	g.changed(t)
}

func (g *granting) tells(t *testing.T, reason string) error {
	t.Helper()
	told := g.east.told(t, "west")
	for what := range told {
		if what.reason == reason {
			return nil
		}
	}
	return fmt.Errorf("there are %v", told)
}

// changed is other rules, and another consumer: the names are others, and what was is gone.
func (g *granting) changed(t *testing.T) {
	t.Helper()
	before := g.objects(t.Context(), t, logs)
	g.east.spec(t, platform, "peercap", "logs", `{"rules":[{"apiGroups":[""],"resources":["pods","nodes"],"verbs":["get","list"]},{"nonResourceURLs":["/metrics"],"verbs":["get"]}]}`)
	g.awaitOthers(t, before)
	g.contents(t, "pods", g.consumer)

	before = g.objects(t.Context(), t, logs)
	g.east.spec(t, platform, "peercap", "logs", `{"consumers":[{"namespace":"log-collector","name":"other"}]}`)
	g.awaitOthers(t, before)
	g.contents(t, "pods", g.stranger)

	before = g.objects(t.Context(), t, logs)
	g.east.MustKubectl(t, platform, eastLogs, "apply", "-f", "-")
	g.awaitOthers(t, before)
	g.contents(t, "configmaps", g.consumer)
}

// awaitOthers waits until the same is granted by objects of other names.
func (g *granting) awaitOthers(t *testing.T, before objects) {
	t.Helper()
	start := time.Now()
	eventuallyWithin(t, soon, "it is granted by others", func(ctx context.Context) error {
		after := g.objects(ctx, t, logs)
		found, err := after.grants()
		if err != nil {
			return err
		}
		if len(found.namespaces) != len(before.roles) || !found.cluster {
			return fmt.Errorf("it is granted in %v", found.namespaces)
		}
		for i := range after.roles {
			if after.roles[i].Name == before.roles[i].Name {
				return fmt.Errorf("that in %s is there yet", after.roles[i].Namespace)
			}
		}
		return nil
	})
	t.Logf("changed: after %v", time.Since(start).Round(10*time.Millisecond))
}

// left, and offered again: a peer that goes takes all with it, and may come back, whoever
// of the two deletes its ClusterPeer.
func (g *granting) leftAndOffered(t *testing.T) {
	g.west.MustKubectl(t, platform, "", "delete", "cpeer", "east", "--timeout=30s")
	g.await(t, "the other cluster has left", soon, grants{})
	g.east.says(t, "west", "PeerLeft")
	g.east.awaitProjectPeers(t, soon)
	g.west.awaitProjectPeers(t, soon)

	before := g.east.MustKubectl(t, platform, "", "get", "cpeer", "west", "-o", "jsonpath={.status.invite.tokenID}")
	g.east.MustKubectl(t, platform, "", "annotate", "cpeer", "west", "--overwrite", "peering.entente.dev/renew="+before)
	g.keep(g.east.issued(t, "west", before))
	g.west.MustKubectl(t, platform, "apiVersion: peering.entente.dev/v1alpha1\nkind: ClusterPeer\nmetadata: {name: east}\nspec: {type: Join, capabilities: [logs], join: {connectionString: "+g.text+"}}\n", "create", "-f", "-")
	g.east.says(t, "west", "Active")
	g.await(t, "it is back", later, in("b1", "b2", "c1"))

	g.east.MustKubectl(t, platform, "", "delete", "cpeer", "west", "--timeout=30s")
	g.await(t, "the ClusterPeer is gone", soon, grants{})
	g.east.awaitProjectPeers(t, soon)
	g.west.MustKubectl(t, platform, "", "delete", "cpeer", "east", "--timeout=30s")
	g.invited(t)
	g.await(t, "paired anew", later, in("a1", "b1", "b2", "c1"))
}
