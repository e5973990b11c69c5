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

package conformance

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/test/process"
)

// K2, K3: short name, category, every verb of an ordinary kind.
func (k *kubectlSuite) testDiscovery(t *testing.T) {
	const verbs = "create,delete,deletecollection,get,list,patch,update,watch"
	for _, user := range []string{k.Admin, k.Operator, k.Viewer, lister} {
		var got [][]string
		for line := range strings.Lines(k.must(t, user, "", "api-resources", "--api-group=peering.entente.dev", "--no-headers", "-o", "wide", "--sort-by=name")) {
			got = append(got, strings.Fields(line))
		}
		assert.Equal(t, [][]string{
			{"clusterpeers", "cpeer", "peering.entente.dev/v1alpha1", "false", "ClusterPeer", verbs, "entente"},
			{"peeringcapabilities", "peercap", "peering.entente.dev/v1alpha1", "false", "PeeringCapability", verbs, "entente"},
			{"projectpeers", "peering.entente.dev/v1alpha1", "true", "ProjectPeer", verbs, "entente"},
			{"tokenexchangeproviders", "peering.entente.dev/v1alpha1", "false", "TokenExchangeProvider", verbs, "entente"},
		}, got, user)
	}
	assert.Equal(t, "clusterpeers.peering.entente.dev\npeeringcapabilities.peering.entente.dev\nprojectpeers.peering.entente.dev\ntokenexchangeproviders.peering.entente.dev\n",
		k.must(t, k.Viewer, "", "api-resources", "--categories=entente", "-o", "name", "--sort-by=name"))
	assert.Contains(t, k.must(t, k.Viewer, "", "api-versions"), "peering.entente.dev/v1alpha1\n")
	for _, name := range []string{"cpeer", "clusterpeer", "clusterpeers", "ClusterPeer", "clusterpeers.peering.entente.dev", "clusterpeers.v1alpha1.peering.entente.dev", "entente"} {
		assert.Contains(t, k.must(t, k.Viewer, "", "get", name, "-o", "name"), "clusterpeer.peering.entente.dev/plain\n", name)
	}
}

// K1: every field is in kubectl explain, once, with its enum where it has one and
// its limit in words (kubectl prints no other limits).
func (k *kubectlSuite) testExplain(t *testing.T) {
	for name, kind := range map[string]reflect.Type{
		"cpeer":       reflect.TypeFor[peeringv1alpha1.ClusterPeer](),
		"peercap":     reflect.TypeFor[peeringv1alpha1.PeeringCapability](),
		"projectpeer": reflect.TypeFor[peeringv1alpha1.ProjectPeer](),

		"tokenexchangeprovider": reflect.TypeFor[peeringv1alpha1.TokenExchangeProvider](),
	} {
		k.explains(t, name, kind)
	}
	for field, texts := range map[string][]string{
		"cpeer":                                      {"GROUP:      peering.entente.dev", "KIND:       ClusterPeer", "VERSION:    v1alpha1"},
		"cpeer.spec":                                 {"<ClusterPeerSpec>", "-required-"},
		"cpeer.spec.type":                            {"<string>", "ENUM:\n    Invite\n    Join\n", "It cannot be changed"},
		"cpeer.spec.capabilities":                    {"<[]string>", "at most 63 characters"},
		"cpeer.spec.invite.tokenTTL":                 {"<string>", "from 1m to 24h"},
		"cpeer.spec.join.connectionString":           {"<string>", "at most 4096 characters", "`<omitted>`"},
		"cpeer.status.invite.connectionString":       {"<string>", "at most 4096 characters", "`<omitted>`"},
		"cpeer.status.phase":                         {"<string>", "ENUM:\n    Active\n    Error\n    Pending\n"},
		"cpeer.status.conditions.reason":             {"FIELD: reason <string>"},
		"clusterpeers.status.grants":                 {"<[]Grant>", "capability\t<string> -required-"},
		"clusterpeers.status.observedGeneration":     {"<integer>"},
		"peercap":                                    {"KIND:       PeeringCapability", "at most 63 characters"},
		"peercap.spec":                               {"<PeeringCapabilitySpec>", "version\t<string> -required-"},
		"peercap.spec.version":                       {"<string>", "at most 64 letters"},
		"peercap.spec.consumers.kind":                {"<string>", "ENUM:\n    ServiceAccount\n"},
		"peercap.spec.consumers.name":                {"<string>", "at most 253 characters"},
		"peercap.spec.rules":                         {"<[]CapabilityRule>", "at most 253 characters"},
		"tokenexchangeproviders.spec.usernamePrefix": {"<string>", "64 characters"},
		"projectpeers.status.state":                  {"<string>", "ENUM:\n    Paired\n    PeerUnreachable\n"},
	} {
		output := k.must(t, k.Viewer, "", "explain", field)
		for _, text := range texts {
			assert.Contains(t, output, text, "explain %s", field)
		}
		assert.NotContains(t, output, "<empty>", "explain %s: no description", field)
	}
	k.refused(t, k.Viewer, "", []string{"explain", "cpeer.spec.bogus"}, []string{`field "bogus" does not exist`})
}

// explains holds the fields of a type to those that kubectl explain lists.
func (k *kubectlSuite) explains(t *testing.T, name string, kind reflect.Type) {
	t.Helper()
	var want []string
	for _, block := range []string{"Spec", "Status"} {
		if field, ok := kind.FieldByName(block); ok {
			fieldPaths(field.Type, strings.ToLower(block), &want)
		}
	}
	got := k.explained(t, name)
	slices.Sort(want)
	slices.Sort(got)
	assert.Equal(t, want, got, "fields of the types, and of kubectl explain %s --recursive", name)
}

// explained are the paths of the fields that kubectl explain lists below spec and status.
func (k *kubectlSuite) explained(t *testing.T, kind string) (paths []string) {
	t.Helper()
	_, fields, found := strings.Cut(k.must(t, k.Viewer, "", "explain", kind, "--recursive"), "FIELDS:\n")
	require.True(t, found)
	var path []string
	for line := range strings.Lines(fields) {
		name, _, ok := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		if !ok {
			continue // a blank line, or the enum of the field above
		}
		depth := (len(name) - len(strings.TrimLeft(name, " "))) / 2
		path = append(path[:depth-1], strings.TrimSpace(name))
		if depth > 1 && path[0] != "metadata" {
			paths = append(paths, strings.Join(path, "."))
		}
	}
	return paths
}

// fieldPaths appends the paths of all fields below a type.
func fieldPaths(of reflect.Type, path string, out *[]string) {
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		*out = append(*out, path+"."+name)
		inner := field.Type
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		// These are a text, or whatever somebody puts there.
		closed := []reflect.Type{reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.Duration](), reflect.TypeFor[runtime.RawExtension]()}
		if inner.Kind() == reflect.Struct && !slices.Contains(closed, inner) {
			fieldPaths(inner, path+"."+name, out)
		}
	}
}

// R1, R5, R6, K3: a list in every form that kubectl asks for.
func (k *kubectlSuite) testGet(t *testing.T) {
	const values = "jsonpath={.items[*].spec.join.connectionString}"
	tests := []struct {
		name string
		args []string
		// shows says that an admin sees values in this form.
		shows bool
		has   []string
		// all says that every user tries, not just who has the right and who has not.
		all bool
	}{
		{"table", nil, false, []string{"NAME", "TYPE", "PHASE", "READY", "REASON", "ALIAS", "PROJECTS", "LAST SYNC", "AGE", "InvalidConnectionString"}, true},
		{"wide", []string{"-o", "wide"}, false, []string{"UUID", "ENDPOINT", "CAPABILITIES", "EXPIRY"}, false},
		{"name", []string{"-o", "name"}, false, []string{"clusterpeer.peering.entente.dev/held\n"}, false},
		{"columns with labels", []string{"--show-labels", "-L", "set", "--sort-by=.metadata.name"}, false, []string{"LABELS", "set=seed"}, false},
		{"yaml", []string{"-o", "yaml"}, true, []string{"connectionString:"}, true},
		{"yaml with owners", []string{"-o", "yaml", "--show-managed-fields"}, true, []string{"f:connectionString:"}, false},
		{"json", []string{"-o", "json"}, true, []string{`"connectionString":`}, true},
		{"jsonpath", []string{"-o", values}, true, nil, false},
		{"template", []string{"-o", "go-template={{range .items}}{{.spec}}{{end}}"}, true, nil, false},
		{"custom columns", []string{"-o", "custom-columns=VALUE:.spec.join.connectionString"}, true, []string{"VALUE", "<none>"}, false},
		{"sorted by the value", []string{"--sort-by=.spec.join.connectionString"}, false, []string{"held"}, false},
		{"with bodies logged", []string{"-v=9"}, false, []string{"Response Body"}, false},
		{"table from the client", []string{"--server-print=false"}, false, []string{"NAME", "AGE", "held"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			users := []string{k.Admin, k.Viewer}
			if test.all {
				users = append(users, k.Operator, lister, Keyholder)
			}
			for _, user := range users {
				result := k.run(t, user, "", append([]string{"get", "cpeer", "-l", "set=seed"}, test.args...)...)
				require.Zero(t, result.Code, "%s: %s", user, result.Output())
				for _, text := range test.has {
					assert.Contains(t, result.Output(), text, user)
				}
				if user == Keyholder {
					// The right to one name is no right to a list of all (R1).
					assert.NotContains(t, result.Output(), Canary)
				}
				if test.shows && user == k.Admin {
					assert.Contains(t, result.Stdout, Value(held))
				} else if test.shows {
					assert.Contains(t, strings.ReplaceAll(result.Stdout, `\u003c`, "<"), "<omitted", user)
				}
			}
		})
	}
	// R6: an unset value is not a hidden one.
	for _, user := range []string{k.Admin, k.Viewer} {
		assert.Equal(t, "||", k.must(t, user, "", "get", "cpeer", "bare", "-o", "jsonpath=|{.spec.join.connectionString}|"))
	}
	assert.Equal(t, "<omitted> <omitted>", k.must(t, k.Viewer, "", "get", "cpeer", "-l", "set=seed", "-o", values))
}

// R1: one object, whose name counts.
func (k *kubectlSuite) testGetOne(t *testing.T) {
	for _, form := range []string{"yaml", "json", "jsonpath={.spec.join.connectionString}"} {
		for user, shown := range map[string]string{
			k.Admin:    Value(held),
			Keyholder:  Value(held),
			k.Operator: "omitted",
			k.Viewer:   "omitted",
			writer:     "omitted",
		} {
			output := k.must(t, user, "", "get", "cpeer", held, "-o", form)
			assert.Contains(t, output, shown, "%s as %s", form, user)
			assert.Equal(t, shown == "omitted", strings.Contains(output, "omitted"), "%s as %s", form, user)
		}
		assert.Contains(t, k.must(t, Keyholder, "", "get", "cpeer", "plain", "-o", form), "omitted", form)
	}
	for _, user := range []string{k.Admin, k.Viewer} {
		output := k.must(t, user, "", "get", "cpeer", held, "-o", "wide")
		assert.NotContains(t, output, Canary, user)
		assert.Contains(t, output, "InvalidConnectionString", user)
	}
	k.refused(t, lister, "", []string{"get", "cpeer", held}, []string{"Forbidden", lister})
	k.refused(t, k.Viewer, "", []string{"get", "cpeer", "nobody"}, []string{"NotFound", `"nobody" not found`})
}

// K2: names and labels select, other fields do not; R1: a selector of one name is
// a name.
func (k *kubectlSuite) testSelectors(t *testing.T) {
	selected := func(user string, args ...string) string {
		return k.must(t, user, "", append([]string{"get", "cpeer", "-o", "jsonpath={.items[*]['metadata.name', 'spec.join.connectionString']}"}, args...)...)
	}
	byName := "--field-selector=metadata.name=" + held
	assert.Equal(t, held+" "+Value(held), selected(Keyholder, byName))
	assert.Equal(t, held+" <omitted>", selected(k.Viewer, byName))
	assert.Equal(t, "plain <omitted>", selected(Keyholder, "--field-selector=metadata.name=plain"))
	assert.Equal(t, "bare", selected(k.Viewer, "-l", "set=seed", "--field-selector=metadata.name=bare"))
	assert.Empty(t, selected(k.Viewer, "-l", "set=nothing"))
	// A selector on the value would tell whether a guess is right.
	for _, field := range []string{"spec.type=Join", "spec.join.connectionString=" + Value(held)} {
		name, _, _ := strings.Cut(field, "=")
		result := k.Kubectl(t, k.Viewer, "", "get", "cpeer", "--field-selector="+field)
		assert.NotZero(t, result.Code)
		assert.Contains(t, result.Stderr, fmt.Sprintf("%q is not a known field selector", name))
	}
}

// K2: chunked lists.
func (k *kubectlSuite) testChunks(t *testing.T) {
	const count = 7
	var manifests strings.Builder
	var want []string
	for i := range count {
		name := fmt.Sprintf("chunk-%d", i)
		manifests.WriteString(Manifest(name, Value(name), "set: chunk"))
		want = append(want, name)
	}
	k.must(t, k.Operator, manifests.String(), "create", "-f", "-")
	for user, forms := range map[string][]string{k.Viewer: {"name", "yaml"}, lister: {"wide"}} {
		for _, form := range forms {
			result := k.run(t, user, "", "get", "cpeer", "-l", "set=chunk", "--chunk-size=2", "-o", form, "-v=6")
			require.Zero(t, result.Code, result.Stderr)
			for _, name := range want {
				assert.Contains(t, result.Stdout, name)
			}
			assert.Equal(t, (count+1)/2, strings.Count(result.Stderr, "limit=2"), "requests: %s", result.Stderr)
			assert.Equal(t, (count-1)/2, strings.Count(result.Stderr, "continue="), "requests: %s", result.Stderr)
		}
	}
	result := k.run(t, k.Viewer, "", "get", "cpeer", "--chunk-size=2", "-l", "set=chunk", "-o", "jsonpath={.items[*].metadata.name}")
	assert.Equal(t, strings.Join(want, " "), result.Stdout)
}

// R5, K2: each event of a watch, as a table, in full and for a single name.
func (k *kubectlSuite) testWatch(t *testing.T) {
	const name = "watched"
	streams := map[*process.Stream]string{}
	for _, user := range []string{k.Admin, k.Viewer, Keyholder} {
		for _, form := range []string{"wide", "json"} {
			streams[k.StartKubectl(t, user, "get", "cpeer", "-l", "set="+name, "-w", "--output-watch-events", "-o", form)] = user
		}
	}
	streams[k.StartKubectl(t, k.Viewer, "get", "cpeer", "-w", "--output-watch-events", "-o", "json", "--field-selector=metadata.name="+name)] = k.Viewer
	seen := func(event string) {
		t.Helper()
		for stream, user := range streams {
			eventually(t, event+" is seen by "+user, func() bool {
				output := stream.Output()
				return strings.Contains(output, event) && strings.Contains(output, name)
			})
		}
	}
	k.create(t, name, "set: "+name)
	seen("ADDED")
	k.must(t, k.Operator, "", "label", "cpeer", name, "step=two")
	seen("MODIFIED")
	k.must(t, k.Operator, "", "delete", "cpeer", name)
	seen("DELETED")
	sawValue := false
	for stream, user := range streams {
		stream.Stop()
		k.check(t, user, "get -w", stream.Output())
		sawValue = sawValue || strings.Contains(stream.Output(), Value(name))
	}
	assert.True(t, sawValue, "an admin sees the value")
	// A list-only user is told so, and not left waiting.
	k.refused(t, lister, "", []string{"get", "cpeer", "-w", "--request-timeout=5s"}, []string{"cannot watch resource"})
}

// Who may see the value sees it described.
func (k *kubectlSuite) testDescribe(t *testing.T) {
	for user, shown := range map[string]string{k.Admin: Value(held), Keyholder: Value(held), k.Viewer: "<omitted>", k.Operator: "<omitted>"} {
		output := k.must(t, user, "", "describe", "cpeer", held)
		assert.Contains(t, output, "Connection String:  "+shown, user)
		assert.Contains(t, output, "InvalidConnectionString", user)
		assert.Contains(t, output, "Events:", user)
	}
	output := k.must(t, k.Viewer, "", "describe", "cpeer", "-l", "set=seed")
	assert.Equal(t, 2, strings.Count(output, "<omitted>"))
}

// Conditions, and fields by path, for whoever waits.
func (k *kubectlSuite) testWait(t *testing.T) {
	const name = "awaited"
	created := k.StartKubectl(t, k.Viewer, "wait", "--for=create", "cpeer/"+name, "--timeout=30s")
	k.create(t, name, "")
	<-created.Ended()
	assert.Contains(t, created.Output(), "condition met")
	for _, condition := range []string{"condition=Ready=false", "jsonpath={.status.phase}=Error", "jsonpath={.status.observedGeneration}=1", "jsonpath={.spec.join.connectionString}=<omitted>"} {
		assert.Contains(t, k.must(t, k.Viewer, "", "wait", "--for="+condition, "cpeer", name, "--timeout=30s"), "condition met", condition)
	}
	// To wait for a guess tells nothing.
	k.refused(t, k.Viewer, "", []string{"wait", "--for=jsonpath={.spec.join.connectionString}=" + Value(name), "cpeer", name, "--timeout=1s"}, []string{"timed out"})
	k.refused(t, lister, "", []string{"wait", "--for=condition=Ready=false", "cpeer", name, "--timeout=1s"}, []string{"cannot get resource"})
	deleted := k.StartKubectl(t, k.Viewer, "wait", "--for=delete", "cpeer/"+name, "--timeout=30s")
	k.must(t, k.Operator, "", "delete", "cpeer", name)
	<-deleted.Ended()
	assert.NotContains(t, deleted.Output(), "error")
}
