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

package apiserver_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/test/harness"
)

// kubectlCanary is in every sensitive value of these tests, and nowhere else.
const kubectlCanary = "entente1.kubectl-canary-b37f0c51a9e24d68"

// kubectlValue is the sensitive value of an object.
func kubectlValue(name string) string { return kubectlCanary + "-" + name + ".x" }

// kubectlPeer is a manifest of type Join, with a value unless it is empty.
func kubectlPeer(name, value, labels string) string {
	manifest := fmt.Sprintf("---\napiVersion: peering.entente.dev/v1alpha1\nkind: ClusterPeer\nmetadata:\n  name: %s\n  labels: {%s}\nspec:\n  type: Join\n", name, labels)
	if value != "" {
		manifest += fmt.Sprintf("  join:\n    connectionString: %q\n", value)
	}
	return manifest
}

// Users with narrower permissions than those that every standalone server has.
const (
	kubectlLister    = "kubectl-lister"    // may list, and nothing else
	kubectlKeyholder = "kubectl-keyholder" // may see the value of kubectlHeld, and of no other
	kubectlWriter    = "kubectl-writer"    // may write values through /sensitive, and see none
)

// kubectlHeld is the object whose value kubectlKeyholder may see.
const kubectlHeld = "held"

// kubectlFixture is one server for all that a person types. Each test has objects
// of its own, and cleans up none of them.
type kubectlFixture struct {
	*harness.Server
}

// Issue 2, item 6: what a person types, with real kubectl, as the three users and
// as users with narrower permissions. After each command: no output of a user
// without the right holds a value (R1, R5), and no value is lost.
func TestKubectl(t *testing.T) {
	k := &kubectlFixture{harness.Start(t)}
	all := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	k.AddUser(t, kubectlLister, harness.Rule([]string{"list"}, []string{"clusterpeers"}))
	k.AddUser(t, kubectlKeyholder,
		harness.Rule(all, []string{"clusterpeers", "clusterpeers/status"}),
		harness.Rule([]string{"get", "list", "watch", "update", "patch"}, []string{"clusterpeers/sensitive"}, kubectlHeld))
	k.AddUser(t, kubectlWriter,
		harness.Rule([]string{"get", "list"}, []string{"clusterpeers"}),
		harness.Rule([]string{"update", "patch"}, []string{"clusterpeers/sensitive"}))
	k.create(t, kubectlHeld, "set: seed")
	k.create(t, "plain", "set: seed")
	k.must(t, harness.Admin, kubectlPeer("bare", "", "set: seed"), "create", "-f", "-")

	t.Run("Each", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T){
			"Discovery":         k.testDiscovery,
			"Explain":           k.testExplain,
			"Get":               k.testGet,
			"GetOne":            k.testGetOne,
			"Selectors":         k.testSelectors,
			"Chunks":            k.testChunks,
			"Watch":             k.testWatch,
			"DescribeAndEvents": k.testDescribeAndEvents,
			"Create":            k.testCreate,
			"ApplyClientSide":   k.testApplyClientSide,
			"ApplyServerSide":   k.testApplyServerSide,
			"Diff":              k.testDiff,
			"Edit":              k.testEdit,
			"LabelAndAnnotate":  k.testLabelAndAnnotate,
			"Patch":             k.testPatch,
			"Replace":           k.testReplace,
			"ReplaceForce":      k.testReplaceForce,
			"Wait":              k.testWait,
			"Sensitive":         k.testSensitive,
			"Status":            k.testStatus,
			"Auth":              k.testAuth,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
	})
	// These change what the others read.
	t.Run("SensitiveEdit", k.testSensitiveEdit)
	t.Run("Delete", k.testDelete)
}

// run runs kubectl, and holds its output to what the user may see.
func (k *kubectlFixture) run(t *testing.T, user, stdin string, args ...string) harness.Result {
	t.Helper()
	result := k.Kubectl(t, user, stdin, args...)
	k.check(t, user, strings.Join(args, " "), result.Output())
	return result
}

func (k *kubectlFixture) check(t *testing.T, user, command, output string) {
	t.Helper()
	for _, trace := range []string{"panic:", "goroutine ", "runtime error"} {
		assert.NotContains(t, output, trace, "kubectl %s as %s", command, user)
	}
	switch user {
	case harness.Admin:
		return
	case kubectlKeyholder:
		output = strings.ReplaceAll(output, kubectlValue(kubectlHeld), "")
	}
	assert.NotContains(t, output, kubectlCanary, "kubectl %s as %s", command, user)
}

// must is run, of a command that has to succeed.
func (k *kubectlFixture) must(t *testing.T, user, stdin string, args ...string) string {
	t.Helper()
	result := k.run(t, user, stdin, args...)
	require.Zero(t, result.Code, "kubectl %s as %s: %s", strings.Join(args, " "), user, result.Output())
	return result.Stdout
}

// refused is run, of a command that has to fail with all of these texts.
func (k *kubectlFixture) refused(t *testing.T, user, stdin string, args, texts []string) {
	t.Helper()
	result := k.run(t, user, stdin, args...)
	assert.NotZero(t, result.Code, "kubectl %s as %s: %s", strings.Join(args, " "), user, result.Output())
	for _, text := range texts {
		assert.Contains(t, result.Stderr, text, "kubectl %s as %s", strings.Join(args, " "), user)
	}
}

// create makes an object with its value.
func (k *kubectlFixture) create(t *testing.T, name, labels string) {
	t.Helper()
	k.must(t, harness.Admin, kubectlPeer(name, kubectlValue(name), labels), "create", "-f", "-")
}

// peer is the stored object, with its value, once the controller has nothing left
// to write to it.
func (k *kubectlFixture) peer(t *testing.T, name string) *peeringv1alpha1.ClusterPeer {
	t.Helper()
	return lifecyclePeer(t, k.Server, name)
}

// value is the stored value of an object.
func (k *kubectlFixture) value(t *testing.T, name string) string {
	t.Helper()
	peer := k.peer(t, name)
	if peer.Spec.Join == nil {
		return ""
	}
	return peer.Spec.Join.ConnectionString
}

func (k *kubectlFixture) names(t *testing.T, selector string) []string {
	t.Helper()
	list, err := k.Client(t, harness.Admin).PeeringV1alpha1().ClusterPeers().List(t.Context(), metav1.ListOptions{LabelSelector: selector})
	require.NoError(t, err)
	var names []string
	for _, peer := range list.Items {
		names = append(names, peer.Name)
	}
	return names
}

// K2, K3: short name, category, every verb of an ordinary kind.
func (k *kubectlFixture) testDiscovery(t *testing.T) {
	for _, user := range []string{harness.Admin, harness.Operator, harness.Viewer, kubectlLister} {
		lines := strings.Split(strings.TrimSpace(k.must(t, user, "", "api-resources", "--api-group=peering.entente.dev", "--no-headers", "-o", "wide")), "\n")
		require.Len(t, lines, 1)
		assert.Equal(t, []string{
			"clusterpeers", "cpeer", "peering.entente.dev/v1alpha1", "false", "ClusterPeer",
			"create,delete,deletecollection,get,list,patch,update,watch", "entente",
		}, strings.Fields(lines[0]), user)
	}
	assert.Equal(t, "clusterpeers.peering.entente.dev\n", k.must(t, harness.Viewer, "", "api-resources", "--categories=entente", "-o", "name"))
	assert.Contains(t, k.must(t, harness.Viewer, "", "api-versions"), "peering.entente.dev/v1alpha1\n")
	for _, name := range []string{"cpeer", "clusterpeer", "clusterpeers", "ClusterPeer", "clusterpeers.peering.entente.dev", "clusterpeers.v1alpha1.peering.entente.dev", "entente"} {
		assert.Contains(t, k.must(t, harness.Viewer, "", "get", name, "-o", "name"), "clusterpeer.peering.entente.dev/plain\n", name)
	}
}

// K1: every field is in kubectl explain, once, with its enum where it has one and
// its limit in words (kubectl prints no other limits).
func (k *kubectlFixture) testExplain(t *testing.T) {
	var want []string
	kubectlFields(reflect.TypeFor[peeringv1alpha1.ClusterPeerSpec](), "spec", &want)
	kubectlFields(reflect.TypeFor[peeringv1alpha1.ClusterPeerStatus](), "status", &want)

	var got []string
	_, fields, found := strings.Cut(k.must(t, harness.Viewer, "", "explain", "cpeer", "--recursive"), "FIELDS:\n")
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
			got = append(got, strings.Join(path, "."))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	assert.Equal(t, want, got, "fields of the types, and of kubectl explain --recursive")

	for field, texts := range map[string][]string{
		"cpeer":                                  {"GROUP:      peering.entente.dev", "KIND:       ClusterPeer", "VERSION:    v1alpha1"},
		"cpeer.spec":                             {"<ClusterPeerSpec>", "-required-"},
		"cpeer.spec.type":                        {"<string>", "ENUM:\n    Invite\n    Join\n", "It cannot be changed"},
		"cpeer.spec.capabilities":                {"<[]string>", "at most 63 characters"},
		"cpeer.spec.invite.tokenTTL":             {"<string>", "from 1m to 24h"},
		"cpeer.spec.join.connectionString":       {"<string>", "at most 4096 characters", "`<omitted>`"},
		"cpeer.status.invite.connectionString":   {"<string>", "at most 4096 characters", "`<omitted>`"},
		"cpeer.status.phase":                     {"<string>", "ENUM:\n    Active\n    Error\n    Pending\n"},
		"cpeer.status.conditions.reason":         {"FIELD: reason <string>"},
		"clusterpeers.status.grants":             {"<[]Grant>", "capability\t<string> -required-"},
		"clusterpeers.status.observedGeneration": {"<integer>"},
	} {
		output := k.must(t, harness.Viewer, "", "explain", field)
		for _, text := range texts {
			assert.Contains(t, output, text, "explain %s", field)
		}
		assert.NotContains(t, output, "<empty>", "explain %s: no description", field)
	}
	k.refused(t, harness.Viewer, "", []string{"explain", "cpeer.spec.bogus"}, []string{`field "bogus" does not exist`})
}

// kubectlFields appends the paths of all fields below a type.
func kubectlFields(of reflect.Type, path string, out *[]string) {
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		*out = append(*out, path+"."+name)
		inner := field.Type
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && inner != reflect.TypeFor[metav1.Time]() {
			kubectlFields(inner, path+"."+name, out)
		}
	}
}

// R1, R5, R6, K3: a list in every form that kubectl asks for.
func (k *kubectlFixture) testGet(t *testing.T) {
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
			users := []string{harness.Admin, harness.Viewer}
			if test.all {
				users = append(users, harness.Operator, kubectlLister, kubectlKeyholder)
			}
			for _, user := range users {
				result := k.run(t, user, "", append([]string{"get", "cpeer", "-l", "set=seed"}, test.args...)...)
				require.Zero(t, result.Code, "%s: %s", user, result.Output())
				for _, text := range test.has {
					assert.Contains(t, result.Output(), text, user)
				}
				if user == kubectlKeyholder {
					// The right to one name is no right to a list of all (R1).
					assert.NotContains(t, result.Output(), kubectlCanary)
				}
				if test.shows && user == harness.Admin {
					assert.Contains(t, result.Stdout, kubectlValue(kubectlHeld))
				} else if test.shows {
					assert.Contains(t, strings.ReplaceAll(result.Stdout, `\u003c`, "<"), "<omitted", user)
				}
			}
		})
	}
	// R6: an unset value is not a hidden one.
	for _, user := range []string{harness.Admin, harness.Viewer} {
		assert.Equal(t, "||", k.must(t, user, "", "get", "cpeer", "bare", "-o", "jsonpath=|{.spec.join.connectionString}|"))
	}
	assert.Equal(t, "<omitted> <omitted>", k.must(t, harness.Viewer, "", "get", "cpeer", "-l", "set=seed", "-o", values))
}

// R1: one object, whose name counts.
func (k *kubectlFixture) testGetOne(t *testing.T) {
	for _, form := range []string{"yaml", "json", "jsonpath={.spec.join.connectionString}"} {
		for user, shown := range map[string]string{
			harness.Admin:    kubectlValue(kubectlHeld),
			kubectlKeyholder: kubectlValue(kubectlHeld),
			harness.Operator: "omitted",
			harness.Viewer:   "omitted",
			kubectlWriter:    "omitted",
		} {
			output := k.must(t, user, "", "get", "cpeer", kubectlHeld, "-o", form)
			assert.Contains(t, output, shown, "%s as %s", form, user)
			assert.Equal(t, shown == "omitted", strings.Contains(output, "omitted"), "%s as %s", form, user)
		}
		assert.Contains(t, k.must(t, kubectlKeyholder, "", "get", "cpeer", "plain", "-o", form), "omitted", form)
	}
	for _, user := range []string{harness.Admin, harness.Viewer} {
		output := k.must(t, user, "", "get", "cpeer", kubectlHeld, "-o", "wide")
		assert.NotContains(t, output, kubectlCanary, user)
		assert.Contains(t, output, "InvalidConnectionString", user)
	}
	k.refused(t, kubectlLister, "", []string{"get", "cpeer", kubectlHeld}, []string{"Forbidden", kubectlLister})
	k.refused(t, harness.Viewer, "", []string{"get", "cpeer", "nobody"}, []string{"NotFound", `"nobody" not found`})
}

// K2: names and labels select, other fields do not; R1: a selector of one name is
// a name.
func (k *kubectlFixture) testSelectors(t *testing.T) {
	selected := func(user string, args ...string) string {
		return k.must(t, user, "", append([]string{"get", "cpeer", "-o", "jsonpath={.items[*]['metadata.name', 'spec.join.connectionString']}"}, args...)...)
	}
	byName := "--field-selector=metadata.name=" + kubectlHeld
	assert.Equal(t, kubectlHeld+" "+kubectlValue(kubectlHeld), selected(kubectlKeyholder, byName))
	assert.Equal(t, kubectlHeld+" <omitted>", selected(harness.Viewer, byName))
	assert.Equal(t, "plain <omitted>", selected(kubectlKeyholder, "--field-selector=metadata.name=plain"))
	assert.Equal(t, "bare", selected(harness.Viewer, "-l", "set=seed", "--field-selector=metadata.name=bare"))
	assert.Empty(t, selected(harness.Viewer, "-l", "set=nothing"))
	// A selector on the value would tell whether a guess is right.
	for _, field := range []string{"spec.type=Join", "spec.join.connectionString=" + kubectlValue(kubectlHeld)} {
		name, _, _ := strings.Cut(field, "=")
		result := k.Kubectl(t, harness.Viewer, "", "get", "cpeer", "--field-selector="+field)
		assert.NotZero(t, result.Code)
		assert.Contains(t, result.Stderr, fmt.Sprintf("%q is not a known field selector", name))
	}
}

// K2: chunked lists.
func (k *kubectlFixture) testChunks(t *testing.T) {
	const count = 7
	var manifests strings.Builder
	var want []string
	for i := range count {
		name := fmt.Sprintf("chunk-%d", i)
		manifests.WriteString(kubectlPeer(name, kubectlValue(name), "set: chunk"))
		want = append(want, name)
	}
	k.must(t, harness.Operator, manifests.String(), "create", "-f", "-")
	for user, forms := range map[string][]string{harness.Viewer: {"name", "yaml"}, kubectlLister: {"wide"}} {
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
	result := k.run(t, harness.Viewer, "", "get", "cpeer", "--chunk-size=2", "-l", "set=chunk", "-o", "jsonpath={.items[*].metadata.name}")
	assert.Equal(t, strings.Join(want, " "), result.Stdout)
}

// R5, K2: each event of a watch, as a table, in full and for a single name.
func (k *kubectlFixture) testWatch(t *testing.T) {
	const name = "watched"
	streams := map[*harness.Stream]string{}
	for _, user := range []string{harness.Admin, harness.Viewer, kubectlKeyholder} {
		for _, form := range []string{"wide", "json"} {
			streams[k.StartKubectl(t, user, "get", "cpeer", "-l", "set="+name, "-w", "--output-watch-events", "-o", form)] = user
		}
	}
	streams[k.StartKubectl(t, harness.Viewer, "get", "cpeer", "-w", "--output-watch-events", "-o", "json", "--field-selector=metadata.name="+name)] = harness.Viewer
	seen := func(event string) {
		t.Helper()
		for stream, user := range streams {
			harness.Eventually(t, event+" is seen by "+user, func(context.Context) bool {
				output := stream.Output()
				return strings.Contains(output, event) && strings.Contains(output, name)
			})
		}
	}
	k.create(t, name, "set: "+name)
	seen("ADDED")
	k.must(t, harness.Operator, "", "label", "cpeer", name, "step=two")
	seen("MODIFIED")
	k.must(t, harness.Operator, "", "delete", "cpeer", name)
	seen("DELETED")
	sawValue := false
	for stream, user := range streams {
		stream.Stop()
		k.check(t, user, "get -w", stream.Output())
		sawValue = sawValue || strings.Contains(stream.Output(), kubectlValue(name))
	}
	assert.True(t, sawValue, "an admin sees the value")
	// A list-only user is told so, and not left waiting.
	k.refused(t, kubectlLister, "", []string{"get", "cpeer", "-w", "--request-timeout=5s"}, []string{"cannot watch resource"})
}

// Without a host cluster there is no core group: what would be Events are log
// lines (design, section 3). kubectl says that there are none, or why it cannot
// show any.
func (k *kubectlFixture) testDescribeAndEvents(t *testing.T) {
	for user, shown := range map[string]string{harness.Admin: kubectlValue(kubectlHeld), kubectlKeyholder: kubectlValue(kubectlHeld), harness.Viewer: "<omitted>", harness.Operator: "<omitted>"} {
		output := k.must(t, user, "", "describe", "cpeer", kubectlHeld)
		assert.Contains(t, output, "Connection String:  "+shown, user)
		assert.Contains(t, output, "InvalidConnectionString", user)
		assert.Contains(t, output, "Events:", user)
	}
	output := k.must(t, harness.Viewer, "", "describe", "cpeer", "-l", "set=seed")
	assert.Equal(t, 2, strings.Count(output, "<omitted>"))
	for _, args := range [][]string{{"events"}, {"events", "--for", "clusterpeer.peering.entente.dev/held"}, {"get", "events"}} {
		for user, text := range map[string]string{
			harness.Admin:  `could not find the requested resource|doesn't have a resource type "events"`,
			harness.Viewer: `cannot list resource "events"|doesn't have a resource type "events"`,
		} {
			result := k.run(t, user, "", args...)
			assert.NotZero(t, result.Code, result.Output())
			assert.Regexp(t, text, result.Stderr)
		}
	}
}

// R12, R5: who may not read a value may write it; the answer is redacted.
// R11: the placeholder is no value to begin with.
func (k *kubectlFixture) testCreate(t *testing.T) {
	manifest := kubectlPeer("created", kubectlValue("created"), "")
	dry := k.must(t, harness.Operator, manifest, "create", "-f", "-", "--dry-run=server", "-o", "yaml")
	assert.Contains(t, dry, "connectionString: <omitted>")
	assert.NotContains(t, k.names(t, ""), "created", "a dry run creates nothing")
	answer := k.must(t, harness.Operator, manifest, "create", "-f", "-", "-o", "json", "--show-managed-fields", "--save-config")
	assert.Contains(t, answer, `"connectionString": "\u003comitted\u003e"`)
	assert.Equal(t, kubectlValue("created"), k.value(t, "created"))
	assert.NotContains(t, fmt.Sprint(k.peer(t, "created").Annotations), kubectlCanary, "R14")

	k.refused(t, harness.Operator, kubectlPeer("created", kubectlValue("other"), ""), []string{"create", "-f", "-"}, []string{"AlreadyExists"})
	assert.Equal(t, kubectlValue("created"), k.value(t, "created"))
	k.refused(t, harness.Viewer, kubectlPeer("created-2", kubectlValue("x"), ""), []string{"create", "-f", "-"}, []string{"Forbidden", "cannot create resource"})
	for _, user := range []string{harness.Admin, harness.Operator} {
		k.refused(t, user, kubectlPeer("created-3", "<omitted>", ""), []string{"create", "-f", "-"}, []string{"Invalid", "spec.join.connectionString"})
	}
	k.refused(t, harness.Operator, kubectlPeer("created-4", kubectlValue("x"), "")+"  bogus: 1\n", []string{"create", "-f", "-"}, []string{"strict decoding error", `unknown field "spec.bogus"`})
	assert.NotContains(t, k.names(t, ""), "created-3")
	assert.NotContains(t, k.names(t, ""), "created-4")
}

// R11, R12, R14 under client-side apply; k/k#23564: it keeps a copy of the whole
// manifest in an annotation.
func (k *kubectlFixture) testApplyClientSide(t *testing.T) {
	const name = "applied"
	manifest := kubectlPeer(name, kubectlValue(name), "tier: one")
	apply := func(user, manifest string, args ...string) string {
		t.Helper()
		return k.must(t, user, manifest, append([]string{"apply", "-f", "-"}, args...)...)
	}
	apply(harness.Operator, manifest, "--dry-run=server")
	assert.NotContains(t, k.names(t, ""), name, "a dry run creates nothing")
	assert.Contains(t, apply(harness.Operator, manifest), "created")
	stored := k.peer(t, name)
	assert.Equal(t, kubectlValue(name), stored.Spec.Join.ConnectionString)
	assert.NotContains(t, fmt.Sprint(stored.Annotations), kubectlCanary)

	for _, step := range []struct{ name, user, manifest string }{
		{"the value again", harness.Operator, manifest},
		{"the value, by a holder of the right", harness.Admin, manifest},
		{"the placeholder", harness.Operator, kubectlPeer(name, "<omitted>", "tier: one")},
		{"the placeholder, by a holder of the right", harness.Admin, kubectlPeer(name, "<omitted>", "tier: one")},
	} {
		apply(step.user, step.manifest)
		got := k.peer(t, name)
		assert.Equal(t, kubectlValue(name), got.Spec.Join.ConnectionString, step.name)
		assert.Equal(t, stored.Generation, got.Generation, step.name)
		assert.Equal(t, stored.ResourceVersion, got.ResourceVersion, step.name)
	}

	apply(harness.Operator, kubectlPeer(name, kubectlValue("dry"), "tier: two"), "--dry-run=server", "-o", "yaml")
	assert.Equal(t, stored.ResourceVersion, k.peer(t, name).ResourceVersion, "a dry run changes nothing")

	apply(harness.Operator, kubectlPeer(name, kubectlValue(name), "tier: two")+"  capabilities: [one, two]\n")
	apply(harness.Operator, kubectlPeer(name, kubectlValue(name), "")+"  capabilities: [two]\n")
	got := k.peer(t, name)
	assert.Empty(t, got.Labels, "what left the manifest leaves the object")
	assert.Equal(t, []string{"two"}, got.Spec.Capabilities)
	assert.Equal(t, kubectlValue(name), got.Spec.Join.ConnectionString)

	assert.NotContains(t, apply(harness.Operator, kubectlPeer(name, kubectlValue("rotated"), ""), "-o", "json"), kubectlCanary)
	assert.Equal(t, kubectlValue("rotated"), k.value(t, name), "R12: a new value is stored")
	apply(harness.Operator, kubectlPeer(name, "", ""))
	assert.Empty(t, k.value(t, name), "R12: a field left out is removed")
	// kubectl prints the patch that was refused: the manifest, not what is stored.
	k.refused(t, harness.Viewer, kubectlPeer(name, "entente1.guess.x", ""), []string{"apply", "-f", "-"}, []string{"Forbidden", "cannot patch resource"})
	k.refused(t, harness.Operator, kubectlPeer("applied-2", "<omitted>", ""), []string{"apply", "-f", "-"}, []string{"spec.join.connectionString"})
	k.refused(t, harness.Operator, kubectlPeer(name, "<omitted>", ""), []string{"apply", "-f", "-"}, []string{"spec.join.connectionString"})
}

// R10–R12 under server-side apply.
func (k *kubectlFixture) testApplyServerSide(t *testing.T) {
	const name = "ssapplied"
	apply := []string{"apply", "--server-side", "-f", "-", "--field-manager"}
	by := func(manager string, args ...string) []string {
		return append(append(slices.Clone(apply), manager), args...)
	}
	manifest := kubectlPeer(name, kubectlValue(name), "tier: one")

	k.must(t, harness.Operator, manifest, by("one", "--dry-run=server")...)
	assert.NotContains(t, k.names(t, ""), name, "a dry run creates nothing")
	k.must(t, harness.Operator, manifest, by("one")...)
	stored := k.peer(t, name)
	assert.Equal(t, kubectlValue(name), stored.Spec.Join.ConnectionString)

	k.refused(t, harness.Operator, kubectlPeer(name, kubectlValue("other"), "tier: two"), by("two"),
		[]string{"conflict", ".spec.join.connectionString", ".metadata.labels.tier", `"one"`})
	got := k.peer(t, name)
	assert.Equal(t, stored.ResourceVersion, got.ResourceVersion, "a conflict changes nothing")

	dry := k.must(t, harness.Operator, kubectlPeer(name, kubectlValue("other"), "tier: two"), by("two", "--force-conflicts", "--dry-run=server", "-o", "yaml", "--show-managed-fields")...)
	assert.Contains(t, dry, "tier: two")
	assert.Equal(t, stored.ResourceVersion, k.peer(t, name).ResourceVersion, "a dry run changes nothing")

	k.must(t, harness.Operator, kubectlPeer(name, kubectlValue("other"), "tier: two"), by("two", "--force-conflicts")...)
	got = k.peer(t, name)
	assert.Equal(t, kubectlValue("other"), got.Spec.Join.ConnectionString)
	assert.Equal(t, "two", got.Labels["tier"])

	// The placeholder claims nothing and takes nothing.
	k.must(t, harness.Operator, kubectlPeer(name, "<omitted>", ""), by("three")...)
	assert.Equal(t, kubectlValue("other"), k.value(t, name))
	k.refused(t, harness.Operator, kubectlPeer("ssapplied-2", "<omitted>", ""), by("one"), []string{"spec.join.connectionString"})
	k.refused(t, harness.Operator, manifest+"  bogus: 1\n", by("one"), []string{"spec.bogus"})
	k.refused(t, harness.Viewer, manifest, by("one"), []string{"Forbidden"})
	assert.NotContains(t, k.names(t, ""), "ssapplied-2")

	// R9: through /sensitive too, where apply changes the value and nothing else.
	k.must(t, harness.Admin, kubectlPeer(name, kubectlValue("third"), "tier: three"), by("four", "--force-conflicts", "--subresource=sensitive")...)
	got = k.peer(t, name)
	assert.Equal(t, kubectlValue("third"), got.Spec.Join.ConnectionString)
	assert.Equal(t, "two", got.Labels["tier"])
}

// R10: kubectl diff compares what the server would answer, so that it shows a
// value to nobody who may not see it, and no drift where there is none
// (redpanda-operator#194).
func (k *kubectlFixture) testDiff(t *testing.T) {
	const name = "diffed"
	manifest := kubectlPeer(name, kubectlValue(name), "tier: one")
	k.must(t, harness.Operator, manifest, "apply", "-f", "-")
	before := k.peer(t, name)
	for _, mode := range [][]string{nil, {"--server-side", "--force-conflicts"}} {
		diff := func(user, manifest string) harness.Result {
			t.Helper()
			return k.run(t, user, manifest, append([]string{"diff", "-f", "-"}, mode...)...)
		}
		if mode == nil {
			for _, value := range []string{kubectlValue(name), "<omitted>"} {
				result := diff(harness.Operator, kubectlPeer(name, value, "tier: one"))
				assert.Zero(t, result.Code, "no drift: %s", result.Output())
			}
		}
		result := diff(harness.Operator, kubectlPeer(name, kubectlValue(name), "tier: two"))
		assert.Equal(t, 1, result.Code, result.Output())
		assert.Contains(t, result.Stdout, "+    tier: two")
		result = diff(harness.Operator, kubectlPeer(name, kubectlValue("new"), "tier: one"))
		assert.LessOrEqual(t, result.Code, 1, result.Output())
		result = diff(harness.Admin, kubectlPeer(name, kubectlValue("new"), "tier: one"))
		assert.Equal(t, 1, result.Code, result.Output())
		assert.Contains(t, result.Stdout, "-    connectionString: "+kubectlValue(name))
		result = diff(harness.Operator, kubectlPeer("diffed-new", kubectlValue("x"), ""))
		assert.Equal(t, 1, result.Code, result.Output())
		assert.Contains(t, result.Stdout, "+    connectionString: <omitted>")
		result = diff(harness.Viewer, kubectlPeer(name, kubectlValue(name), "tier: two"))
		assert.Greater(t, result.Code, 1, "a viewer may not try a patch: %s", result.Output())
	}
	assert.Equal(t, before.ResourceVersion, k.peer(t, name).ResourceVersion, "a diff changes nothing")
	assert.NotContains(t, k.names(t, ""), "diffed-new")
}

// edit runs kubectl edit with an editor that is a sed script, and returns also
// what the editor was shown.
func (k *kubectlFixture) edit(t *testing.T, user, script string, args ...string) (result harness.Result, shown string) {
	t.Helper()
	dir := t.TempDir()
	editor := filepath.Join(dir, "editor")
	require.NoError(t, os.WriteFile(editor, fmt.Appendf(nil, "#!/bin/sh\ncp \"$1\" %[1]s/shown\nsed '%[2]s' \"$1\" > %[1]s/edited && cat %[1]s/edited > \"$1\"\n", dir, script), 0o700))
	cmd := k.KubectlCommand(t.Context(), t, user, append([]string{"edit"}, args...)...)
	cmd.Env = append(cmd.Env, "KUBE_EDITOR="+editor, "TMPDIR="+dir)
	result = harness.Run(t, cmd)
	content, err := os.ReadFile(filepath.Join(dir, "shown"))
	if err != nil {
		require.ErrorIs(t, err, os.ErrNotExist)
	}
	k.check(t, user, "edit "+strings.Join(args, " "), result.Output()+string(content))
	return result, string(content)
}

// R11, R12: whoever edits what was shown to him loses nothing.
func (k *kubectlFixture) testEdit(t *testing.T) {
	const name = "edited"
	k.create(t, name, "tier: one")
	before := k.peer(t, name)

	result, shown := k.edit(t, harness.Operator, "s/tier: one/tier: two/", "cpeer", name)
	require.Zero(t, result.Code, result.Output())
	assert.Contains(t, shown, "connectionString: <omitted>")
	got := k.peer(t, name)
	assert.Equal(t, "two", got.Labels["tier"])
	assert.Equal(t, kubectlValue(name), got.Spec.Join.ConnectionString)
	assert.Equal(t, before.Generation, got.Generation)

	result, _ = k.edit(t, harness.Operator, "s/nothing/nothing/", "cpeer", name)
	require.Zero(t, result.Code, result.Output())
	assert.Contains(t, result.Output(), "no changes made")

	result, _ = k.edit(t, harness.Operator, "s/connectionString: .*/connectionString: "+kubectlValue("edited-2")+"/", "cpeer", name)
	require.Zero(t, result.Code, result.Output())
	assert.Equal(t, kubectlValue("edited-2"), k.value(t, name))

	// What is not valid is said, in the editor's second round, and changes nothing.
	rv := k.peer(t, name).ResourceVersion
	result, shown = k.edit(t, harness.Operator, "s/type: Join/type: Invite/", "cpeer", name)
	assert.NotZero(t, result.Code)
	assert.Contains(t, result.Output(), "is invalid")
	assert.Contains(t, shown, "spec.type")
	result, shown = k.edit(t, harness.Operator, "s/^  type: Join/  type: Join\\n  bogus: 1/", "cpeer", name)
	assert.NotZero(t, result.Code)
	assert.Contains(t, result.Output()+shown, "spec.bogus")
	result, _ = k.edit(t, harness.Viewer, "s/tier: two/tier: three/", "cpeer", name)
	assert.NotZero(t, result.Code)
	assert.Contains(t, result.Output(), "cannot patch resource")
	assert.Equal(t, rv, k.peer(t, name).ResourceVersion)

	result, shown = k.edit(t, harness.Admin, "s/tier: two/tier: three/", "cpeer", name)
	require.Zero(t, result.Code, result.Output())
	assert.Contains(t, shown, kubectlValue("edited-2"))
	assert.Equal(t, kubectlValue("edited-2"), k.value(t, name))
}

// R11, K2: metadata moves without the generation; R14: an annotation keeps no value.
func (k *kubectlFixture) testLabelAndAnnotate(t *testing.T) {
	const name = "marked"
	k.create(t, name, "")
	before := k.peer(t, name)
	for _, args := range [][]string{
		{"label", "cpeer", name, "tier=one"},
		{"label", "cpeer", name, "tier=two", "--overwrite"},
		{"label", "cpeer", name, "dry=run", "--dry-run=server"},
		{"annotate", "cpeer", name, "note=one", "other=<omitted>"},
		{"annotate", "cpeer", name, "note=two", "--overwrite", "-o", "yaml"},
		{"annotate", "cpeer", name, "gone=soon"},
		{"annotate", "cpeer", name, "gone-"},
	} {
		k.must(t, harness.Operator, "", args...)
	}
	got := k.peer(t, name)
	assert.Equal(t, map[string]string{"tier": "two"}, got.Labels)
	assert.Equal(t, map[string]string{"note": "two", "other": "<omitted>"}, got.Annotations, "the placeholder is data elsewhere")
	assert.Equal(t, before.Generation, got.Generation)
	assert.Equal(t, kubectlValue(name), got.Spec.Join.ConnectionString)
	k.refused(t, harness.Operator, "", []string{"label", "cpeer", name, "tier=three"}, []string{"already has a value"})
	k.refused(t, harness.Viewer, "", []string{"label", "cpeer", name, "tier=three", "--overwrite"}, []string{"cannot patch resource"})
	k.refused(t, harness.Operator, "", []string{"label", "cpeer", name, "bad=not/a/label"}, []string{"invalid label value"})
}

// R10, R11: patches of the three kinds that kubectl makes.
func (k *kubectlFixture) testPatch(t *testing.T) {
	const name = "patched"
	k.create(t, name, "")
	tests := []struct {
		kind, patch, label string
		value              string
	}{
		{"merge", `{"metadata":{"labels":{"by":"merge"}}}`, "merge", name},
		{"strategic", `{"metadata":{"labels":{"by":"strategic"}}}`, "strategic", name},
		{"json", `[{"op":"replace","path":"/metadata/labels/by","value":"json"}]`, "json", name},
		{"merge", `{"spec":{"join":{"connectionString":"<omitted>"}},"metadata":{"labels":{"by":"2"}}}`, "2", name},
		{"strategic", `{"spec":{"join":{"connectionString":"<omitted>"}},"metadata":{"labels":{"by":"3"}}}`, "3", name},
		{"json", `[{"op":"test","path":"/spec/join/connectionString","value":"<omitted>"},{"op":"replace","path":"/metadata/labels/by","value":"4"}]`, "4", name},
		{"json", `[{"op":"copy","from":"/spec/join/connectionString","path":"/metadata/annotations"}]`, "4", name},
		{"merge", `{"spec":{"join":{"connectionString":"` + kubectlValue("merge") + `"}}}`, "4", "merge"},
		{"strategic", `{"spec":{"join":{"connectionString":"` + kubectlValue("strategic") + `"}}}`, "4", "strategic"},
		{"json", `[{"op":"replace","path":"/spec/join/connectionString","value":"` + kubectlValue("json") + `"}]`, "4", "json"},
		{"json", `[{"op":"test","path":"/spec/join/connectionString","value":"` + kubectlValue("json") + `"},{"op":"replace","path":"/metadata/labels/by","value":"guessed"}]`, "4", "json"},
	}
	for _, test := range tests {
		dry := k.run(t, harness.Operator, "", "patch", "cpeer", name, "--type="+test.kind, "-p", test.patch, "--dry-run=server", "-o", "yaml")
		answer := k.run(t, harness.Operator, "", "patch", "cpeer", name, "--type="+test.kind, "-p", test.patch, "-o", "json", "--show-managed-fields")
		assert.Equal(t, dry.Code, answer.Code, test.patch)
		got := k.peer(t, name)
		assert.Equal(t, test.label, got.Labels["by"], "%s: %s", test.patch, answer.Output())
		assert.Equal(t, kubectlValue(test.value), got.Spec.Join.ConnectionString, test.patch)
		assert.NotContains(t, fmt.Sprint(got.Annotations), kubectlCanary, test.patch)
	}
	rv := k.peer(t, name).ResourceVersion
	for kind, patch := range map[string]string{"merge": `{"spec":{"type":7}}`, "strategic": `{"spec":{"capabilities":"x"}}`, "json": `[{"op":"remove","path":"/spec/none"}]`} {
		k.refused(t, harness.Operator, "", []string{"patch", "cpeer", name, "--type=" + kind, "-p", patch}, []string{"invalid"})
	}
	// kubectl patch has no strict validation to ask for.
	warned := k.run(t, harness.Operator, "", "patch", "cpeer", name, "--type=merge", "-p", `{"spec":{"bogus":1}}`)
	assert.Contains(t, warned.Stderr, `Warning: unknown field "spec.bogus"`)
	k.refused(t, harness.Viewer, "", []string{"patch", "cpeer", name, "--type=merge", "-p", `{}`}, []string{"cannot patch resource"})
	assert.Equal(t, rv, k.peer(t, name).ResourceVersion)
}

// R11: what was read can be put back.
func (k *kubectlFixture) testReplace(t *testing.T) {
	const name = "replaced"
	k.create(t, name, "tier: one")
	before := k.peer(t, name)
	for _, user := range []string{harness.Operator, harness.Admin, kubectlKeyholder} {
		read := k.must(t, user, "", "get", "cpeer", name, "-o", "yaml")
		answer := k.must(t, user, read, "replace", "-f", "-", "-o", "yaml")
		if user != harness.Admin {
			assert.Contains(t, answer, "connectionString: <omitted>", user)
		}
		got := k.peer(t, name)
		assert.Equal(t, before.ResourceVersion, got.ResourceVersion, user)
		assert.Equal(t, kubectlValue(name), got.Spec.Join.ConnectionString, user)
	}
	read := k.must(t, harness.Operator, "", "get", "cpeer", name, "-o", "json")
	k.must(t, harness.Operator, strings.Replace(read, `"one"`, `"two"`, 1), "replace", "-f", "-")
	got := k.peer(t, name)
	assert.Equal(t, "two", got.Labels["tier"])
	assert.Equal(t, kubectlValue(name), got.Spec.Join.ConnectionString)
	assert.Equal(t, before.Generation, got.Generation)

	k.refused(t, harness.Operator, read, []string{"replace", "-f", "-"}, []string{"Conflict"})
	k.refused(t, harness.Operator, kubectlPeer("replaced-2", kubectlValue("x"), ""), []string{"replace", "-f", "-"}, []string{"NotFound"})
	k.refused(t, harness.Viewer, k.must(t, harness.Viewer, "", "get", "cpeer", name, "-o", "yaml"), []string{"replace", "-f", "-"}, []string{"cannot update resource"})
	// A manifest that never had a resourceVersion replaces whatever is there.
	k.must(t, harness.Operator, kubectlPeer(name, "<omitted>", "tier: three"), "replace", "-f", "-")
	assert.Equal(t, kubectlValue(name), k.value(t, name))
	k.must(t, harness.Operator, kubectlPeer(name, kubectlValue("new"), ""), "replace", "-f", "-")
	assert.Equal(t, kubectlValue("new"), k.value(t, name))
}

// kubectl replace --force deletes and then creates, in two requests, and the
// server sees no more than that: from what was read without the right there is
// nothing to create with. The server names the field (R11); that the object is
// gone by then is kubectl's doing, and written down in docs/redaction.md.
func (k *kubectlFixture) testReplaceForce(t *testing.T) {
	const name = "forced"
	k.create(t, name, "")
	uid := k.peer(t, name).UID
	k.must(t, harness.Operator, kubectlPeer(name, kubectlValue("forced-2"), ""), "replace", "--force", "-f", "-")
	got := k.peer(t, name)
	assert.NotEqual(t, uid, got.UID)
	assert.Equal(t, kubectlValue("forced-2"), got.Spec.Join.ConnectionString)

	whole := k.must(t, harness.Admin, "", "get", "cpeer", name, "-o", "yaml")
	k.refused(t, harness.Operator, k.must(t, harness.Operator, "", "get", "cpeer", name, "-o", "yaml"), []string{"replace", "--force", "-f", "-"}, []string{"Invalid", "spec.join.connectionString"})
	assert.NotContains(t, k.names(t, ""), name)
	k.must(t, harness.Admin, whole, "replace", "--force", "-f", "-")
	assert.Equal(t, kubectlValue("forced-2"), k.value(t, name), "what was read with the right can be put back")
}

// Conditions, and fields by path, for whoever waits.
func (k *kubectlFixture) testWait(t *testing.T) {
	const name = "awaited"
	created := k.StartKubectl(t, harness.Viewer, "wait", "--for=create", "cpeer/"+name, "--timeout=30s")
	k.create(t, name, "")
	<-created.Ended()
	assert.Contains(t, created.Output(), "condition met")
	for _, condition := range []string{"condition=Ready=false", "jsonpath={.status.phase}=Error", "jsonpath={.status.observedGeneration}=1", "jsonpath={.spec.join.connectionString}=<omitted>"} {
		assert.Contains(t, k.must(t, harness.Viewer, "", "wait", "--for="+condition, "cpeer", name, "--timeout=30s"), "condition met", condition)
	}
	// To wait for a guess tells nothing.
	k.refused(t, harness.Viewer, "", []string{"wait", "--for=jsonpath={.spec.join.connectionString}=" + kubectlValue(name), "cpeer", name, "--timeout=1s"}, []string{"timed out"})
	k.refused(t, kubectlLister, "", []string{"wait", "--for=condition=Ready=false", "cpeer", name, "--timeout=1s"}, []string{"cannot get resource"})
	deleted := k.StartKubectl(t, harness.Viewer, "wait", "--for=delete", "cpeer/"+name, "--timeout=30s")
	k.must(t, harness.Operator, "", "delete", "cpeer", name)
	<-deleted.Ended()
	assert.NotContains(t, deleted.Output(), "error")
}

// R9, R5: get, patch and replace of /sensitive.
func (k *kubectlFixture) testSensitive(t *testing.T) {
	const name = "guarded"
	k.create(t, name, "tier: one")
	at := func(verb, name string, args ...string) []string {
		return append([]string{verb, "cpeer", name, "--subresource=sensitive"}, args...)
	}
	assert.Contains(t, k.must(t, harness.Admin, "", at("get", name, "-o", "yaml")...), kubectlValue(name))
	assert.Contains(t, k.must(t, kubectlKeyholder, "", at("get", kubectlHeld, "-o", "yaml")...), kubectlValue(kubectlHeld))
	assert.Contains(t, k.must(t, harness.Admin, "", at("get", name)...), "InvalidConnectionString")
	for user, name := range map[string]string{harness.Operator: name, harness.Viewer: name, kubectlLister: name, kubectlWriter: name, kubectlKeyholder: name} {
		k.refused(t, user, "", at("get", name, "-o", "yaml"), []string{"Forbidden", `cannot get resource "clusterpeers/sensitive"`})
	}

	for i, kind := range []string{"merge", "strategic", "json"} {
		value := kubectlValue(fmt.Sprintf("sensitive-%d", i))
		patch := `{"metadata":{"labels":{"tier":"two"}},"spec":{"capabilities":["sneaked"],"join":{"connectionString":"` + value + `"}}}`
		if kind == "json" {
			patch = `[{"op":"add","path":"/metadata/labels/tier","value":"two"},{"op":"replace","path":"/spec/join/connectionString","value":"` + value + `"}]`
		}
		before := k.peer(t, name)
		assert.Contains(t, k.must(t, harness.Admin, "", at("patch", name, "--type="+kind, "-p", patch, "-o", "yaml")...), value, kind)
		got := k.peer(t, name)
		assert.Equal(t, value, got.Spec.Join.ConnectionString, kind)
		assert.Equal(t, before.Generation+1, got.Generation, kind)
		assert.Equal(t, "one", got.Labels["tier"], "R9: nothing but the value changes")
		assert.Empty(t, got.Spec.Capabilities, "R9: nothing but the value changes")
	}
	// R5: patch without get is answered redacted. kubectl can do that with apply; its
	// patch reads first.
	answer := k.must(t, kubectlWriter, kubectlPeer(name, kubectlValue(name), "tier: two"), "apply", "--server-side", "--force-conflicts", "--subresource=sensitive", "-f", "-", "-o", "yaml")
	assert.Contains(t, answer, "connectionString: <omitted>")
	assert.Equal(t, kubectlValue(name), k.value(t, name))
	k.refused(t, kubectlWriter, "", at("patch", name, "--type=merge", "-p", `{}`), []string{`cannot get resource "clusterpeers/sensitive"`})
	k.refused(t, harness.Operator, "", at("patch", name, "--type=merge", "-p", `{}`), []string{"Forbidden"})
	k.refused(t, kubectlKeyholder, "", at("patch", name, "--type=merge", "-p", `{}`), []string{"Forbidden"})
	k.refused(t, harness.Admin, "", at("patch", "nobody", "--type=merge", "-p", `{"spec":{"type":"Join"}}`), []string{"NotFound"})
	k.refused(t, kubectlWriter, kubectlPeer("guarded-2", kubectlValue("x"), ""), []string{"apply", "--server-side", "--subresource=sensitive", "-f", "-"}, []string{"NotFound"})

	before := k.peer(t, name)
	read := k.must(t, harness.Admin, "", at("get", name, "-o", "yaml")...)
	k.must(t, harness.Admin, read, "replace", "--subresource=sensitive", "-f", "-")
	assert.Equal(t, before.ResourceVersion, k.peer(t, name).ResourceVersion, "what was read, put back, changes nothing")
	replaced := strings.NewReplacer(kubectlValue(name), kubectlValue("put"), "tier: one", "tier: two").Replace(read)
	k.must(t, harness.Admin, replaced, "replace", "--subresource=sensitive", "-f", "-")
	got := k.peer(t, name)
	assert.Equal(t, kubectlValue("put"), got.Spec.Join.ConnectionString)
	assert.Equal(t, "one", got.Labels["tier"])
	// The placeholder keeps the value here as well (R11).
	k.must(t, harness.Admin, kubectlPeer(name, "<omitted>", ""), "replace", "--subresource=sensitive", "-f", "-")
	assert.Equal(t, kubectlValue("put"), k.value(t, name))
	k.refused(t, harness.Admin, kubectlPeer("guarded-2", kubectlValue("x"), ""), []string{"replace", "--subresource=sensitive", "-f", "-"}, []string{"NotFound"})
	k.refused(t, harness.Operator, kubectlPeer(name, kubectlValue("x"), ""), []string{"replace", "--subresource=sensitive", "-f", "-"}, []string{"Forbidden"})
}

// R9: kubectl edit --subresource=sensitive, by a holder of the right to one name.
func (k *kubectlFixture) testSensitiveEdit(t *testing.T) {
	k.must(t, harness.Admin, "", "label", "cpeer", kubectlHeld, "tier=one")
	result, shown := k.edit(t, kubectlKeyholder, "s/"+kubectlCanary+"-held.x/"+kubectlCanary+"-held.y/;s/tier: one/tier: two/", "cpeer", kubectlHeld, "--subresource=sensitive")
	// The value that the keyholder wrote is not the one that check leaves out.
	require.Zero(t, result.Code, result.Output())
	assert.Contains(t, shown, kubectlValue(kubectlHeld))
	got := k.peer(t, kubectlHeld)
	assert.Equal(t, kubectlCanary+"-held.y", got.Spec.Join.ConnectionString)
	assert.Equal(t, "one", got.Labels["tier"], "R9: nothing but the value changes")
	k.must(t, harness.Admin, "", "patch", "cpeer", kubectlHeld, "--type=merge", "-p", `{"spec":{"join":{"connectionString":"`+kubectlValue(kubectlHeld)+`"}}}`)
	for user, name := range map[string]string{harness.Operator: kubectlHeld, harness.Viewer: kubectlHeld, kubectlKeyholder: "plain"} {
		result, _ = k.edit(t, user, "s/x/x/", "cpeer", name, "--subresource=sensitive")
		assert.NotZero(t, result.Code, user)
		assert.Contains(t, result.Output(), "Forbidden", user)
	}
}

// K2, R5, R11: get, edit, patch and replace of /status, whose own value is hidden too.
func (k *kubectlFixture) testStatus(t *testing.T) {
	const name = "reported"
	k.must(t, harness.Admin, "apiVersion: peering.entente.dev/v1alpha1\nkind: ClusterPeer\nmetadata: {name: reported}\nspec: {type: Invite}\n", "create", "-f", "-")
	k.peer(t, name)
	status := func(verb string, args ...string) []string {
		return append([]string{verb, "cpeer", name, "--subresource=status"}, args...)
	}
	issued := func() string {
		t.Helper()
		invite := k.peer(t, name).Status.Invite
		require.NotNil(t, invite)
		return invite.ConnectionString
	}
	k.refused(t, harness.Operator, "", status("patch", "--type=merge", "-p", `{"status":{"invite":{"used":false,"connectionString":"<omitted>"}}}`), []string{"status.invite.connectionString"})
	answer := k.must(t, harness.Operator, "", status("patch", "--type=merge", "-o", "yaml", "-p",
		`{"metadata":{"labels":{"sneaked":"in"}},"spec":{"capabilities":["sneaked"]},"status":{"peer":{"alias":"westward"},"invite":{"used":false,"connectionString":"`+kubectlValue(name)+`"}}}`)...)
	assert.Contains(t, answer, "connectionString: <omitted>")
	got := k.peer(t, name)
	assert.Equal(t, kubectlValue(name), issued())
	assert.Empty(t, got.Labels)
	assert.Empty(t, got.Spec.Capabilities)
	assert.EqualValues(t, 1, got.Generation)

	for user, shown := range map[string]string{harness.Admin: kubectlValue(name), harness.Operator: "<omitted>", harness.Viewer: "<omitted>"} {
		assert.Equal(t, shown, k.must(t, user, "", status("get", "-o", "jsonpath={.status.invite.connectionString}")...), user)
		assert.Equal(t, shown, k.must(t, user, "", "get", "cpeer", name, "-o", "jsonpath={.status.invite.connectionString}"), user)
		assert.Contains(t, k.must(t, user, "", status("get")...), "westward", user)
	}

	read := k.must(t, harness.Operator, "", status("get", "-o", "yaml")...)
	k.must(t, harness.Operator, read, "replace", "--subresource=status", "-f", "-")
	assert.Equal(t, got.ResourceVersion, k.peer(t, name).ResourceVersion, "what was read, put back, changes nothing")
	k.must(t, harness.Operator, strings.Replace(read, "westward", "eastward", 1), "replace", "--subresource=status", "-f", "-")
	assert.Equal(t, "eastward", k.peer(t, name).Status.Peer.Alias)
	assert.Equal(t, kubectlValue(name), issued())

	result, shown := k.edit(t, harness.Operator, "s/eastward/northward/", "cpeer", name, "--subresource=status")
	require.Zero(t, result.Code, result.Output())
	assert.Contains(t, shown, "connectionString: <omitted>")
	assert.Equal(t, "northward", k.peer(t, name).Status.Peer.Alias)
	assert.Equal(t, kubectlValue(name), issued())
	k.refused(t, harness.Viewer, "", status("patch", "--type=merge", "-p", `{"status":{"peer":{"alias":"x"}}}`), []string{`cannot patch resource "clusterpeers/status"`})
	// A write to the main resource leaves the status, and its value, alone.
	k.must(t, harness.Operator, "", "annotate", "cpeer", name, "note=x")
	assert.Equal(t, kubectlValue(name), issued())
}

// Standalone mode answers reviews itself, by the local manifests.
func (k *kubectlFixture) testAuth(t *testing.T) {
	tests := []struct {
		user string
		args []string
		want string
	}{
		{harness.Admin, []string{"get", "clusterpeers", "--subresource=sensitive"}, "yes"},
		{harness.Admin, []string{"*", "*"}, "yes"},
		{harness.Admin, []string{"get", "/metrics"}, "yes"},
		{harness.Operator, []string{"create", "cpeer"}, "yes"},
		{harness.Operator, []string{"deletecollection", "clusterpeers.peering.entente.dev"}, "yes"},
		{harness.Operator, []string{"patch", "clusterpeers", "--subresource=status"}, "yes"},
		{harness.Operator, []string{"get", "clusterpeers", "--subresource=sensitive"}, "no"},
		{harness.Operator, []string{"patch", "clusterpeers", "--subresource=sensitive"}, "no"},
		{harness.Operator, []string{"*", "clusterpeers"}, "no"},
		{harness.Operator, []string{"get", "/metrics"}, "no"},
		{harness.Viewer, []string{"watch", "cpeer"}, "yes"},
		{harness.Viewer, []string{"delete", "cpeer"}, "no"},
		{harness.Viewer, []string{"get", "cpeer/held", "--subresource=sensitive"}, "no"},
		{kubectlLister, []string{"list", "cpeer"}, "yes"},
		{kubectlLister, []string{"get", "cpeer"}, "no"},
		{kubectlKeyholder, []string{"get", "cpeer/held", "--subresource=sensitive"}, "yes"},
		{kubectlKeyholder, []string{"get", "cpeer/plain", "--subresource=sensitive"}, "no"},
		{kubectlKeyholder, []string{"get", "cpeer", "--subresource=sensitive"}, "no"},
		{kubectlWriter, []string{"patch", "cpeer", "--subresource=sensitive"}, "yes"},
	}
	for _, test := range tests {
		result := k.run(t, test.user, "", append([]string{"auth", "can-i"}, test.args...)...)
		assert.Equal(t, test.want, strings.TrimSpace(result.Stdout), "%s: can-i %v: %s", test.user, test.args, result.Stderr)
		assert.Equal(t, test.want == "no", result.Code == 1, "%s: can-i %v", test.user, test.args)
	}
	list := k.must(t, harness.Operator, "", "auth", "can-i", "--list")
	assert.Regexp(t, `(?m)^clusterpeers\.peering\.entente\.dev +\[\] +\[\] +\[get list watch create update patch delete deletecollection\]`, list)
	assert.NotContains(t, list, "sensitive")
	assert.Regexp(t, `(?m)^clusterpeers\.peering\.entente\.dev/sensitive +\[\] +\[held\] +\[get list watch update patch\]`, k.must(t, kubectlKeyholder, "", "auth", "can-i", "--list"))

	for user, group := range map[string]string{harness.Admin: "entente:admins", harness.Operator: "entente:operators", harness.Viewer: "entente:viewers"} {
		output := k.must(t, user, "", "auth", "whoami")
		assert.Regexp(t, `Username +`+user+"\n", output)
		assert.Contains(t, output, group)
	}
}

// R5: what a delete returns; K2: dry run. It is the last of these tests: nothing
// is left after it.
func (k *kubectlFixture) testDelete(t *testing.T) {
	before := k.names(t, "")
	k.must(t, harness.Operator, "", "delete", "cpeer", "plain", "--dry-run=server")
	k.must(t, harness.Operator, "", "delete", "cpeer", "--all", "--dry-run=server", "-v=9")
	k.refused(t, harness.Viewer, "", []string{"delete", "cpeer", "plain"}, []string{"cannot delete resource"})
	k.refused(t, kubectlLister, "", []string{"delete", "cpeer", "--all"}, []string{"cannot delete resource"})
	k.refused(t, harness.Operator, "", []string{"delete", "cpeer", "nobody"}, []string{"NotFound"})
	assert.Equal(t, before, k.names(t, ""), "nothing is deleted so far")

	// -v=9 prints the answer, which holds the object.
	result := k.run(t, harness.Operator, "", "delete", "cpeer", "plain", "-v=9")
	require.Zero(t, result.Code, result.Stderr)
	assert.Contains(t, result.Stderr, `omitted`)
	assert.Equal(t, slices.DeleteFunc(slices.Clone(before), func(name string) bool { return name == "plain" }), k.names(t, ""))

	k.must(t, harness.Operator, kubectlPeer("doomed", kubectlValue("doomed"), ""), "delete", "-f", "-", "--ignore-not-found")
	output := k.must(t, harness.Operator, "", "delete", "cpeer", "--all", "-o", "name")
	assert.Len(t, strings.Fields(output), len(before)-1)
	assert.Empty(t, k.names(t, ""))
	assert.Contains(t, k.run(t, kubectlLister, "", "get", "cpeer").Stderr, "No resources found")

	// deletecollection, which kubectl reaches by path only, answers with a list.
	k.create(t, "collected", "set: collected")
	require.Equal(t, []string{"collected"}, k.names(t, "set=collected"))
	result = k.run(t, harness.Operator, "", "delete", "--raw", "/apis/peering.entente.dev/v1alpha1/clusterpeers?labelSelector=set%3Dcollected")
	require.Zero(t, result.Code, result.Stderr)
	assert.Contains(t, result.Stdout, "omitted")
	assert.Empty(t, k.names(t, ""))
}
