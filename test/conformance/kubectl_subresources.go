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
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
)

// R9, R5: get, patch and replace of /sensitive.
func (k *kubectlSuite) testSensitive(t *testing.T) {
	const name = "guarded"
	k.create(t, name, "tier: one")
	at := func(verb, name string, args ...string) []string {
		return append([]string{verb, "cpeer", name, "--subresource=sensitive"}, args...)
	}
	assert.Contains(t, k.must(t, k.Admin, "", at("get", name, "-o", "yaml")...), Value(name))
	assert.Contains(t, k.must(t, Keyholder, "", at("get", held, "-o", "yaml")...), Value(held))
	assert.Contains(t, k.must(t, k.Admin, "", at("get", name)...), "InvalidConnectionString")
	for user, name := range map[string]string{k.Operator: name, k.Viewer: name, lister: name, writer: name, Keyholder: name} {
		k.refused(t, user, "", at("get", name, "-o", "yaml"), []string{"Forbidden", `cannot get resource "clusterpeers/sensitive"`})
	}

	for i, kind := range []string{"merge", "strategic", "json"} {
		value := Value(fmt.Sprintf("sensitive-%d", i))
		patch := `{"metadata":{"labels":{"tier":"two"}},"spec":{"capabilities":["sneaked"],"join":{"connectionString":"` + value + `"}}}`
		if kind == "json" {
			patch = `[{"op":"add","path":"/metadata/labels/tier","value":"two"},{"op":"replace","path":"/spec/join/connectionString","value":"` + value + `"}]`
		}
		before := k.peer(t, name)
		assert.Contains(t, k.must(t, k.Admin, "", at("patch", name, "--type="+kind, "-p", patch, "-o", "yaml")...), value, kind)
		got := k.peer(t, name)
		assert.Equal(t, value, got.Spec.Join.ConnectionString, kind)
		assert.Equal(t, before.Generation+1, got.Generation, kind)
		assert.Equal(t, "one", got.Labels["tier"], "R9: nothing but the value changes")
		assert.Empty(t, got.Spec.Capabilities, "R9: nothing but the value changes")
	}
	// R5: patch without get is answered redacted. kubectl can do that with apply; its
	// patch reads first.
	answer := k.must(t, writer, Manifest(name, Value(name), "tier: two"), "apply", "--server-side", "--force-conflicts", "--subresource=sensitive", "-f", "-", "-o", "yaml")
	assert.Contains(t, answer, "connectionString: <omitted>")
	assert.Equal(t, Value(name), k.value(t, name))
	k.refused(t, writer, "", at("patch", name, "--type=merge", "-p", `{}`), []string{`cannot get resource "clusterpeers/sensitive"`})
	k.refused(t, k.Operator, "", at("patch", name, "--type=merge", "-p", `{}`), []string{"Forbidden"})
	k.refused(t, Keyholder, "", at("patch", name, "--type=merge", "-p", `{}`), []string{"Forbidden"})
	k.refused(t, k.Admin, "", at("patch", "nobody", "--type=merge", "-p", `{"spec":{"type":"Join"}}`), []string{"NotFound"})
	k.refused(t, writer, Manifest("guarded-2", Value("x"), ""), []string{"apply", "--server-side", "--subresource=sensitive", "-f", "-"}, []string{"NotFound"})

	before := k.peer(t, name)
	read := k.must(t, k.Admin, "", at("get", name, "-o", "yaml")...)
	k.must(t, k.Admin, read, "replace", "--subresource=sensitive", "-f", "-")
	assert.Equal(t, before.ResourceVersion, k.peer(t, name).ResourceVersion, "what was read, put back, changes nothing")
	replaced := strings.NewReplacer(Value(name), Value("put"), "tier: one", "tier: two").Replace(read)
	k.must(t, k.Admin, replaced, "replace", "--subresource=sensitive", "-f", "-")
	got := k.peer(t, name)
	assert.Equal(t, Value("put"), got.Spec.Join.ConnectionString)
	assert.Equal(t, "one", got.Labels["tier"])
	// The placeholder keeps the value here as well (R11).
	k.must(t, k.Admin, Manifest(name, "<omitted>", ""), "replace", "--subresource=sensitive", "-f", "-")
	assert.Equal(t, Value("put"), k.value(t, name))
	k.refused(t, k.Admin, Manifest("guarded-2", Value("x"), ""), []string{"replace", "--subresource=sensitive", "-f", "-"}, []string{"NotFound"})
	k.refused(t, k.Operator, Manifest(name, Value("x"), ""), []string{"replace", "--subresource=sensitive", "-f", "-"}, []string{"Forbidden"})
}

// R9: kubectl edit --subresource=sensitive, by a holder of the right to one name.
func (k *kubectlSuite) testSensitiveEdit(t *testing.T) {
	k.must(t, k.Admin, "", "label", "cpeer", held, "tier=one")
	result, shown := k.edit(t, Keyholder, "s/"+Canary+"-held.x/"+Canary+"-held.y/;s/tier: one/tier: two/", "cpeer", held, "--subresource=sensitive")
	// The value that the Keyholder wrote is not the one that check leaves out.
	require.Zero(t, result.Code, result.Output())
	assert.Contains(t, shown, Value(held))
	got := k.peer(t, held)
	assert.Equal(t, "entente1."+Canary+"-held.y", got.Spec.Join.ConnectionString)
	assert.Equal(t, "one", got.Labels["tier"], "R9: nothing but the value changes")
	k.must(t, k.Admin, "", "patch", "cpeer", held, "--type=merge", "-p", `{"spec":{"join":{"connectionString":"`+Value(held)+`"}}}`)
	for user, name := range map[string]string{k.Operator: held, k.Viewer: held, Keyholder: "plain"} {
		result, _ = k.edit(t, user, "s/x/x/", "cpeer", name, "--subresource=sensitive")
		assert.NotZero(t, result.Code, user)
		assert.Contains(t, result.Output(), "Forbidden", user)
	}
}

// K2, R5, R11: get, edit, patch and replace of /status, whose own value is hidden too:
// that is a connection string if this cluster can be joined, and there is none if not.
func (k *kubectlSuite) testStatus(t *testing.T) {
	const name = "reported"
	k.must(t, k.Admin, "apiVersion: peering.entente.dev/v1alpha1\nkind: ClusterPeer\nmetadata: {name: reported}\nspec: {type: Invite}\n", "create", "-f", "-")
	status := func(verb string, args ...string) []string {
		return append([]string{verb, "cpeer", name, "--subresource=status"}, args...)
	}
	issued := func() string {
		t.Helper()
		if invite := k.peer(t, name).Status.Invite; invite != nil {
			return invite.ConnectionString
		}
		return ""
	}
	value, hidden := issued(), ""
	switch ready := meta.FindStatusCondition(k.peer(t, name).Status.Conditions, "Ready"); ready.Reason {
	case "NoGatewayEndpoint":
		require.Empty(t, value)
	default:
		require.Equal(t, "WaitingForPeer", ready.Reason)
		eventually(t, "a connection string is issued", func() bool { value = issued(); return value != "" })
		require.Regexp(t, `^entente1\.`, value)
		hidden = "<omitted>"
	}
	// All else in the status is the controllers', and does not stay (S1).
	reason := func() string {
		t.Helper()
		if condition := meta.FindStatusCondition(k.peer(t, name).Status.Conditions, "Reviewed"); condition != nil {
			return condition.Reason
		}
		return ""
	}
	answer := k.must(t, k.Operator, "", status("patch", "--type=strategic", "-o", "yaml", "-p",
		`{"metadata":{"labels":{"sneaked":"in"}},"spec":{"capabilities":["sneaked"]},"status":{"conditions":[
			{"type":"Reviewed","status":"True","reason":"First","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)...)
	assert.Equal(t, hidden != "", strings.Contains(answer, "connectionString: <omitted>"), answer)
	assert.Equal(t, "First", reason())
	got := k.peer(t, name)
	assert.Equal(t, value, issued())
	assert.Empty(t, got.Labels)
	assert.Empty(t, got.Spec.Capabilities)
	assert.EqualValues(t, 1, got.Generation)

	for user, shown := range map[string]string{k.Admin: value, k.Operator: hidden, k.Viewer: hidden} {
		assert.Equal(t, shown, k.must(t, user, "", status("get", "-o", "jsonpath={.status.invite.connectionString}")...), user)
		assert.Equal(t, shown, k.must(t, user, "", "get", "cpeer", name, "-o", "jsonpath={.status.invite.connectionString}"), user)
		assert.Equal(t, "First", k.must(t, user, "", status("get", "-o", `jsonpath={.status.conditions[?(@.type=="Reviewed")].reason}`)...), user)
		assert.Regexp(t, `(?m)^reported +Invite `, k.must(t, user, "", status("get")...), user)
	}

	// The controllers write at their own times.
	eventually(t, "what was read, put back, changes nothing", func() bool {
		before := k.peer(t, name).ResourceVersion
		read := k.run(t, k.Operator, "", status("get", "-o", "yaml")...)
		put := k.run(t, k.Operator, read.Stdout, "replace", "--subresource=status", "-f", "-")
		return read.Code == 0 && put.Code == 0 && k.peer(t, name).ResourceVersion == before
	})
	read := k.must(t, k.Operator, "", status("get", "-o", "yaml")...)
	k.must(t, k.Operator, strings.Replace(read, "reason: First", "reason: Second", 1), "replace", "--subresource=status", "-f", "-")
	assert.Equal(t, "Second", reason())
	assert.Equal(t, value, issued())

	result, shown := k.edit(t, k.Operator, "s/reason: Second/reason: Third/", "cpeer", name, "--subresource=status")
	require.Zero(t, result.Code, result.Output())
	assert.Equal(t, hidden != "", strings.Contains(shown, "connectionString: <omitted>"), shown)
	assert.Equal(t, "Third", reason())
	assert.Equal(t, value, issued())
	k.refused(t, k.Viewer, "", status("patch", "--type=merge", "-p", `{"status":{"pairedProjectsCount":1}}`), []string{`cannot patch resource "clusterpeers/status"`})
	// A write to the main resource leaves the status, and its value, alone.
	k.must(t, k.Operator, "", "annotate", "cpeer", name, "note=x")
	assert.Equal(t, value, issued())

	// S1: nobody puts another connection string in the place of ours.
	k.must(t, k.Operator, "", status("patch", "--type=merge", "-o", "yaml", "-p", `{"status":{"invite":{"used":false,"connectionString":"`+Value(name)+`"}}}`)...)
	eventually(t, "what somebody else wrote is not what is shown", func() bool { return issued() != Value(name) })
}
