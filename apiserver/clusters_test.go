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
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/apiserver/options"
	"entente.dev/entente/test/harness"
)

// clusterKind and releaseKind are the two kinds as the tests of plain kinds ask for them.
func clusterKind() plainKind { return plainKinds()[3] }
func releaseKind() plainKind { return plainKinds()[4] }

// served are the resources of a group in its discovery document.
func served(t *testing.T, s *api, group string) (lines []string) {
	t.Helper()
	var list struct {
		Resources []struct {
			Name, SingularName, Kind string
			Namespaced               bool
			Verbs                    []string
			ShortNames, Categories   []string
		}
	}
	require.NoError(t, json.Unmarshal(s.do(t, harness.Viewer, http.MethodGet, group, "").want(t, 200).body, &list))
	for _, r := range list.Resources {
		slices.Sort(r.Verbs)
		lines = append(lines, fmt.Sprint(r.Name, " ", r.SingularName, " ", r.Kind, " ", r.Namespaced, " ", r.ShortNames, " ", r.Categories, " ", r.Verbs))
	}
	return lines
}

// K1, K2: what is served of the two kinds is pinned, so that no verb is lost or gained
// unseen.
func TestK2ClusterDiscovery(t *testing.T) {
	s := startAlone(t, harness.WithClusters())
	assert.ElementsMatch(t, []string{
		"clusters cluster Cluster true [] [entente] [create delete deletecollection get list patch update watch]",
		"clusters/status  Cluster true [] [] [get patch update]",
		"releases release Release true [] [entente] [create delete deletecollection get list patch update watch]",
		"releases/status  Release true [] [] [get patch update]",
	}, served(t, s, convoy))
	for _, k := range []plainKind{clusterKind(), releaseKind()} {
		s.do(t, harness.Operator, http.MethodPost, k.collection, encode(t, k.object("a"))).want(t, 201)
		for _, r := range [][2]string{{"POST", k.path("a")}, {"PUT", k.collection}, {"PATCH", k.collection}, {"POST", k.path("a") + "/status"}, {"DELETE", k.path("a") + "/status"}} {
			assert.Equal(t, 405, s.do(t, harness.Admin, r[0], r[1], encode(t, k.object("a"))).code, "%v", r)
		}
		for _, below := range []string{"sensitive", "proxy", "proxy/x", "scale", "token"} {
			assert.Equal(t, 404, s.do(t, harness.Admin, http.MethodGet, k.path("a")+"/"+below, "").code, below)
		}
	}
}

// K4, R17: the two kinds are served where somebody asks for them, and nowhere else. What is
// stored of them stays as it is, and encrypted, while nobody does.
func TestK4ServedWhenAskedFor(t *testing.T) {
	kinds := []plainKind{clusterKind(), releaseKind()}
	s := startAlone(t, harness.WithClusters())
	require.Len(t, served(t, s, groupVersion), 10)
	before := map[string]map[string]any{}
	for _, k := range kinds {
		s.do(t, harness.Operator, http.MethodPost, k.collection, encode(t, k.object("kept", "canary-of-the-other-group"))).want(t, 201)
		before[k.kind] = s.do(t, harness.Operator, http.MethodPatch, k.path("kept")+"/status", `{"status":`+k.status+`}`, as(mergePat)).want(t, 200).object(t)
	}
	require.NoError(t, s.Stop())

	without := startAlone(t, harness.InDir(s.Dir))
	for _, path := range []string{"/apis/core.convoy.kumodo.io", convoy, convoy + "/clusters", fleet + "/clusters", fleet + "/clusters/kept", fleet + "/clusters/kept/status", convoy + "/releases", fleet + "/releases/kept"} {
		for _, user := range []string{harness.Admin, harness.Viewer} {
			assert.Equal(t, 404, without.do(t, user, http.MethodGet, path, "").code, "%s as %s", path, user)
		}
	}
	for _, k := range kinds {
		without.do(t, harness.Admin, http.MethodPost, k.collection, encode(t, k.object("new"))).want(t, 404)
	}
	for path, media := range map[string]string{"/apis": jsonType, "/apis?aggregated": "application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList", "/openapi/v2": jsonType, "/openapi/v3": jsonType} {
		a := without.do(t, harness.Admin, http.MethodGet, path, "", accept(media)).want(t, 200)
		for _, text := range []string{"/apis/core.convoy", "ClusterAuthSpec", `"name":"core.convoy`} {
			assert.NotContains(t, string(a.body), text, path)
		}
		assert.Contains(t, string(a.body), "peering.entente.dev", path)
	}
	assert.Len(t, served(t, without, groupVersion), 10)
	without.do(t, harness.Operator, http.MethodPost, "", encode(t, joinPeer("meanwhile", ""))).want(t, 201)
	require.NoError(t, without.Stop())
	assert.Empty(t, search(t, s.Dir, "canary-of-the-other-group"))

	again := startAlone(t, harness.InDir(s.Dir), harness.WithClusters())
	for _, k := range kinds {
		assert.Equal(t, before[k.kind], again.do(t, harness.Viewer, http.MethodGet, k.path("kept"), "").want(t, 200).object(t))
	}
}

// C1, C4: a Cluster and a Release that are deleted stay until their controllers have seen to
// it, also if whoever made or applied them said nothing of finalizers, or others.
func TestC1FinalizersFromTheStart(t *testing.T) {
	s := startAPI(t, harness.WithClusters(), harness.WithoutControllers()) // nobody sees to it
	for _, k := range []plainKind{clusterKind(), releaseKind()} {
		s.do(t, harness.Operator, http.MethodPost, k.collection, encode(t, k.object("made"))).want(t, 201)
		s.do(t, harness.Operator, http.MethodPost, k.collection, encode(t, set(t, k.object("with-another"), []any{"test.entente.dev/wait"}, "metadata", "finalizers"))).want(t, 201)
		s.do(t, harness.Operator, http.MethodPost, k.collection, encode(t, set(t, k.object("with-ours"), []any{k.finalizer}, "metadata", "finalizers"))).want(t, 201)
		s.do(t, harness.Operator, http.MethodPatch, k.path("applied")+"?fieldManager=c1", encode(t, k.object("applied")), as(applyPat)).want(t, 201)
		for name, want := range map[string][]string{
			"made": {k.finalizer}, "with-another": {"test.entente.dev/wait", k.finalizer}, "with-ours": {k.finalizer}, "applied": {k.finalizer},
		} {
			assert.ElementsMatch(t, want, finalizers(s.do(t, harness.Viewer, http.MethodGet, k.path(name), "").want(t, 200).object(t)), "%s %s", k.kind, name)
			deleted := s.do(t, harness.Operator, http.MethodDelete, k.path(name), "").want(t, 200).object(t)
			assert.NotEmpty(t, field(deleted, "metadata", "deletionTimestamp"))
			assert.EqualValues(t, 2, generation(t, deleted), "K2: it moves when deletion starts")
			s.do(t, harness.Viewer, http.MethodGet, k.path(name), "").want(t, 200)
			s.do(t, harness.Operator, http.MethodPatch, k.path(name), `{"metadata":{"finalizers":["example.org/late"]}}`, as(mergePat)).want(t, 422)
			s.do(t, harness.Operator, http.MethodPatch, k.path(name), `{"metadata":{"finalizers":null}}`, as(mergePat)).want(t, 200)
			s.do(t, harness.Viewer, http.MethodGet, k.path(name), "").want(t, 404)
		}
		// A collection is no way round it.
		s.do(t, harness.Operator, http.MethodPost, k.collection, encode(t, k.object("one-of-many"))).want(t, 201)
		s.do(t, harness.Operator, http.MethodDelete, k.collection, "").want(t, 200)
		assert.Equal(t, []string{"one-of-many"}, k.list(t, s, ""))
	}
}

// write is a way to store an object.
type write struct {
	what, method, path, contentType, body string
}

// writesOf are all ways to store an object that is there, and to create one, each dry and
// not. The dry ones come first: the others may change what they are about.
func (k plainKind) writesOf(t *testing.T, there string, change map[string]any) (all []write) {
	t.Helper()
	whole := func(name string) string {
		obj := k.object(name)
		spec, _ := obj["spec"].(map[string]any)
		for key, value := range change {
			spec[key] = value
		}
		return encode(t, obj)
	}
	patch := encode(t, map[string]any{"spec": change})
	var operations []map[string]any
	for key, value := range change {
		operations = append(operations, map[string]any{"op": "add", "path": "/spec/" + key, "value": value})
	}
	for _, dry := range []string{"dryRun=All", ""} {
		all = append(all,
			write{"create", http.MethodPost, k.collection + "?" + dry, jsonType, whole("created")},
			write{"create by apply", http.MethodPatch, k.path("applied") + "?fieldManager=guard&" + dry, applyPat, whole("applied")},
			write{"update", http.MethodPut, k.path(there) + "?" + dry, jsonType, whole(there)},
			write{"merge patch", http.MethodPatch, k.path(there) + "?" + dry, mergePat, patch},
			write{"strategic merge patch", http.MethodPatch, k.path(there) + "?" + dry, smPatch, patch},
			write{"JSON patch", http.MethodPatch, k.path(there) + "?" + dry, jsonPatch, encode(t, operations)},
			write{"apply", http.MethodPatch, k.path(there) + "?fieldManager=guard&force=true&" + dry, applyPat, whole(there)},
		)
	}
	return all
}

// C2: who creates a Cluster that names Secrets or ConfigMaps, or changes what it is connected
// to, needs get on each of them, by whatever way he writes it, dry runs too. Everything else
// of it takes no more than the verb itself.
func TestC2WhoNamesASecretMayReadIt(t *testing.T) {
	s := startAlone(t, harness.WithClusters())
	k := clusterKind()
	every := harness.ClusterRule([]string{"create", "get", "list", "update", "patch", "delete"}, []string{"clusters", "clusters/status"})
	use := harness.ClusterRule([]string{"use"}, []string{"clusters"})
	s.AddUser(t, "unread", every, use, harness.ClusterRule([]string{"deletecollection"}, []string{"releases"}))
	s.AddUser(t, "other-secret", every, use, harness.SecretRule("secrets", "west"), harness.SecretRule("configmaps"))
	s.AddUser(t, "reader", every, use, harness.SecretRule("secrets", "east"))
	s.do(t, harness.Admin, http.MethodPost, k.collection, encode(t, k.object("there"))).want(t, 201)
	here := map[string]any{"server": "https://mine.example:6443", "auth": field(k.spec, "agentless", "auth")}
	changes := map[string]map[string]any{
		"a server of his own": {"agentless": here},
		"a CA of his own": {"agentless": map[string]any{
			"server": field(k.spec, "agentless", "server"), "auth": field(k.spec, "agentless", "auth"), "caPublicCertRef": map[string]any{"name": "ca", "key": "ca.crt"},
		}},
	}
	for what, change := range changes {
		for _, w := range k.writesOf(t, "there", change) {
			for user, names := range map[string]string{"unread": "", "other-secret": "the verb get on Secret east"} {
				a := s.do(t, user, w.method, w.path, w.body, as(w.contentType)).want(t, 403)
				assert.Regexp(t, "rule C2: this takes the verb get on (Secret east|ConfigMap ca)$", a.status(t).Message, "%s as %s: %s", what, user, w.what)
				assert.Contains(t, a.status(t).Message, names, "%s as %s: %s", what, user, w.what)
			}
		}
	}
	s.do(t, harness.Viewer, http.MethodGet, k.path("created"), "").want(t, 404)
	s.do(t, harness.Viewer, http.MethodGet, k.path("applied"), "").want(t, 404)
	assert.Equal(t, k.spec, field(s.do(t, harness.Viewer, http.MethodGet, k.path("there"), "").want(t, 200).object(t), "spec"), "it is as it was")

	for _, w := range k.writesOf(t, "there", changes["a server of his own"]) {
		a := s.do(t, "reader", w.method, w.path, w.body, as(w.contentType))
		assert.Contains(t, []int{200, 201}, a.code, "%s: %s", w.what, a.body)
	}
	a := s.do(t, "reader", http.MethodPatch, k.path("there"), encode(t, map[string]any{"spec": changes["a CA of his own"]}), as(mergePat)).want(t, 403)
	assert.Contains(t, a.status(t).Message, "the verb get on ConfigMap ca")
	a = s.do(t, "reader", http.MethodPatch, k.path("there"), `{"spec":{"agentless":{"auth":{"kubeconfig":{"secretRef":{"name":"west"}}}}}}`, as(mergePat)).want(t, 403)
	assert.Contains(t, a.status(t).Message, "the verb get on Secret west")

	// What it is connected to stays: anybody with the verb.
	for _, body := range []string{
		`{"metadata":{"labels":{"a":"b"}}}`, `{"spec":{"metadata":{"region":"east"}}}`, `{"spec":{"deletionPolicy":{"pruneReleases":true}}}`, `{"spec":{"capabilities":{"serverSideApply":true}}}`,
	} {
		s.do(t, "unread", http.MethodPatch, k.path("there"), body, as(mergePat)).want(t, 200)
	}
	s.do(t, "unread", http.MethodPatch, k.path("there")+"/status", `{"status":`+k.status+`}`, as(mergePat)).want(t, 200)
	s.do(t, "unread", http.MethodPatch, k.path("there")+"/status", encode(t, map[string]any{"spec": changes["a CA of his own"]}), as(mergePat)).want(t, 200)
	assert.Nil(t, field(s.do(t, harness.Viewer, http.MethodGet, k.path("there"), "").object(t), "spec", "agentless", "caPublicCertRef"), "S1")
	s.do(t, "unread", http.MethodPost, k.collection, `{"apiVersion":"`+convoyVersion+`","kind":"Cluster","metadata":{"name":"names-none"},"spec":{"connectionMode":"inCluster"}}`).want(t, 201)
	a = s.do(t, "unread", http.MethodPatch, k.path("names-none"), `{"spec":`+encode(t, k.spec)+`}`, as(mergePat)).want(t, 403)
	assert.Contains(t, a.status(t).Message, "the verb get on Secret east")
	s.do(t, "unread", http.MethodDelete, k.path("there"), "").want(t, 200)
	// The operator of a standalone server may name every file.
	s.do(t, harness.Operator, http.MethodPost, k.collection, encode(t, k.object("of-the-operator"))).want(t, 201)
}

// C1, C4: a Cluster decides where its Releases go, what their mutations come to, and whether
// they are deleted with it. Who says so needs the verb use on it, or may delete them himself.
func TestC1C4WhoMovesReleasesMayUseTheCluster(t *testing.T) {
	s := startAlone(t, harness.WithClusters())
	k := clusterKind()
	every := harness.ClusterRule([]string{"create", "get", "list", "update", "patch", "delete"}, []string{"clusters", "clusters/status"})
	secrets := harness.SecretRule("secrets")
	s.AddUser(t, "no-use", every, secrets, harness.ClusterRule([]string{"use"}, []string{"clusters"}, "other"))
	s.AddUser(t, "use", every, secrets, harness.ClusterRule([]string{"use"}, []string{"clusters"}), harness.ClusterRule([]string{"delete"}, []string{"releases"}))
	s.do(t, harness.Admin, http.MethodPost, k.collection, encode(t, k.object("there"))).want(t, 201)
	for what, change := range map[string]map[string]any{
		"another server": {"agentless": map[string]any{"server": "https://mine.example:6443", "auth": field(k.spec, "agentless", "auth")}},
		"other metadata": {"metadata": map[string]any{"region": "mine"}},
	} {
		for _, w := range k.writesOf(t, "there", change) {
			a := s.do(t, "no-use", w.method, w.path, w.body, as(w.contentType)).want(t, 403)
			assert.Regexp(t, "rule C4: this takes the verb use on Cluster (there|created|applied)$", a.status(t).Message, "%s: %s", what, w.what)
		}
	}
	for _, w := range k.writesOf(t, "there", map[string]any{"deletionPolicy": map[string]any{"pruneReleases": true}}) {
		a := s.do(t, "use", w.method, w.path, w.body, as(w.contentType)).want(t, 403)
		assert.Contains(t, a.status(t).Message, "rule C1: this takes the verb deletecollection on the Releases of the namespace", w.what)
	}
	assert.Equal(t, []string{"there"}, k.list(t, s, ""))
	assert.Equal(t, k.spec, field(s.do(t, harness.Viewer, http.MethodGet, k.path("there"), "").want(t, 200).object(t), "spec"), "it is as it was")
	s.do(t, "no-use", http.MethodPatch, k.path("there"), `{"metadata":{"labels":{"a":"b"}},"spec":{"deletionPolicy":{"pruneReleases":false}}}`, as(mergePat)).want(t, 200)
	s.do(t, "use", http.MethodPatch, k.path("there"), `{"spec":{"metadata":{"region":"mine"}}}`, as(mergePat)).want(t, 200)
	s.do(t, harness.Operator, http.MethodPatch, k.path("there"), `{"spec":{"deletionPolicy":{"pruneReleases":true}}}`, as(mergePat)).want(t, 200)
	// Not to take it back takes nothing more.
	s.do(t, "use", http.MethodPatch, k.path("there"), `{"spec":{"metadata":{"region":"other"}}}`, as(mergePat)).want(t, 200)
}

// C4: who writes a Release needs the verb use on its Cluster, by whatever way he writes it, dry
// runs too. Whether the Cluster is there is not told to who may not.
func TestC4WhoWritesAReleaseMayUseItsCluster(t *testing.T) {
	s := startAlone(t, harness.WithClusters())
	k := releaseKind()
	every := harness.ClusterRule([]string{"create", "get", "list", "update", "patch", "delete"}, []string{"releases", "releases/status"})
	s.AddUser(t, "stranger", every, harness.ClusterRule([]string{"get", "list", "watch", "create", "update", "patch", "delete"}, []string{"clusters"}))
	s.AddUser(t, "user-of-west", every, harness.ClusterRule([]string{"use"}, []string{"clusters"}, "west"))
	s.AddUser(t, "user-of-east", every, harness.ClusterRule([]string{"use"}, []string{"clusters"}, "east"))
	cluster := clusterKind()
	s.do(t, harness.Admin, http.MethodPost, k.collection, encode(t, k.object("there"))).want(t, 201)
	change := map[string]any{"mutations": []any{map[string]any{"target": map[string]any{"kind": "ConfigMap"}, "path": "/data/text", "expression": "cluster.name"}}}
	for _, exists := range []bool{false, true} {
		if exists {
			s.do(t, harness.Admin, http.MethodPost, cluster.collection, encode(t, cluster.object("east"))).want(t, 201)
		}
		for _, user := range []string{"stranger", "user-of-west"} {
			for _, w := range k.writesOf(t, "there", change) {
				a := s.do(t, user, w.method, w.path, w.body, as(w.contentType)).want(t, 403)
				assert.True(t, strings.HasSuffix(a.status(t).Message, "rule C4: this takes the verb use on Cluster east"), "%s: %s", w.what, a.body)
			}
		}
	}
	s.do(t, harness.Viewer, http.MethodGet, k.path("created"), "").want(t, 404)
	s.do(t, harness.Viewer, http.MethodGet, k.path("applied"), "").want(t, 404)
	assert.Nil(t, field(s.do(t, harness.Viewer, http.MethodGet, k.path("there"), "").want(t, 200).object(t), "spec", "mutations"), "it is as it was")
	for _, w := range k.writesOf(t, "there", change) {
		a := s.do(t, "user-of-east", w.method, w.path, w.body, as(w.contentType))
		assert.Contains(t, []int{200, 201}, a.code, "%s: %s", w.what, a.body)
	}
	// It cannot be moved to another Cluster, not even by who may use both.
	a := s.do(t, harness.Operator, http.MethodPatch, k.path("there"), `{"spec":{"clusterRef":{"name":"west"}}}`, as(mergePat)).want(t, 422)
	assert.Equal(t, []string{"spec.clusterRef.name"}, a.causes(t))

	s.do(t, "stranger", http.MethodPatch, k.path("there"), `{"metadata":{"labels":{"a":"b"}}}`, as(mergePat)).want(t, 200)
	s.do(t, "stranger", http.MethodPatch, k.path("there")+"/status", `{"spec":{"mutations":[]},"status":`+k.status+`}`, as(mergePat)).want(t, 200)
	assert.NotNil(t, field(s.do(t, harness.Viewer, http.MethodGet, k.path("there"), "").object(t), "spec", "mutations"), "S1")
	s.do(t, "stranger", http.MethodDelete, k.path("there"), "").want(t, 200)
}

// R15, R16: people put Secrets into Releases. No error quotes one, neither what somebody sends
// nor what is stored; audit has no bodies of them, at the highest level, and no log line has.
func TestR15R16ReleasesWithSecrets(t *testing.T) {
	log := filepath.Join(t.TempDir(), "audit.log")
	s := startAlone(t, harness.WithClusters(), harness.WithOptions(func(o *options.Options) {
		o.Audit.PolicyFile = harness.File(t, "policy.json", auditEverything)
		o.Audit.LogOptions.Path = log
	}))
	k := releaseKind()
	secret := s.secret()
	object := func(name string) map[string]any {
		return set(t, k.object(name), []any{map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "a"}, "stringData": map[string]any{"password": secret},
		}}, "spec", "resources")
	}
	whole := encode(t, object("new"))
	s.do(t, harness.Operator, http.MethodPost, k.collection, encode(t, object("there")), revealing()).want(t, 201)
	const first = "/spec/resources/0"
	for what, w := range map[string]struct{ method, path, contentType, body string }{
		"cut off":                      {http.MethodPost, k.collection, jsonType, whole[:len(whole)-2]},
		"cut off in the Secret":        {http.MethodPost, k.collection, jsonType, whole[:strings.Index(whole, secret)+len(secret)]},
		"something behind it":          {http.MethodPost, k.collection, jsonType, whole + "x"},
		"no YAML":                      {http.MethodPost, k.collection, yamlType, whole[:len(whole)-2]},
		"a list in YAML that is none":  {http.MethodPost, k.collection, yamlType, "kind: Release\nspec:\n  resources:\n  - data: " + secret + ": " + secret},
		"resources are an object":      {http.MethodPost, k.collection, jsonType, strings.NewReplacer("[", "", "]", "").Replace(whole)},
		"a resource is a text":         {http.MethodPost, k.collection, jsonType, encode(t, set(t, object("new"), []any{secret}, "spec", "resources"))},
		"a resource twice":             {http.MethodPost, k.collection, jsonType, encode(t, set(t, object("new"), []any{object("x")["spec"].(map[string]any)["resources"].([]any)[0], object("x")["spec"].(map[string]any)["resources"].([]any)[0]}, "spec", "resources"))},
		"its name is the Secret":       {http.MethodPost, k.collection, jsonType, strings.Replace(whole, `"name":"a"`, `"name":"`+secret+`/x"`, 1)},
		"its kind is the Secret":       {http.MethodPost, k.collection, jsonType, strings.Replace(whole, `"kind":"Secret"`, `"kind":"`+secret+`."`, 1)},
		"put: resources are a text":    {http.MethodPut, k.path("there"), jsonType, encode(t, set(t, object("there"), secret, "spec", "resources"))},
		"merge: a reference is a text": {http.MethodPatch, k.path("there"), mergePat, `{"spec":{"clusterRef":"x"}}`},
		"merge: resources are a text":  {http.MethodPatch, k.path("there"), mergePat, `{"spec":{"resources":` + quote(secret) + `}}`},
		"strategic: a reference":       {http.MethodPatch, k.path("there"), smPatch, `{"spec":{"clusterRef":` + quote(secret) + `}}`},
		"JSON: a reference is a text":  {http.MethodPatch, k.path("there"), jsonPatch, `[{"op":"replace","path":"/spec/clusterRef","value":"x"}]`},
		"JSON: a guess":                {http.MethodPatch, k.path("there"), jsonPatch, `[{"op":"test","path":"` + first + `/stringData/password","value":"x"}]`},
		"JSON: moved into the name":    {http.MethodPatch, k.path("there"), jsonPatch, `[{"op":"move","from":"` + first + `/stringData/password","path":"/metadata/name"}]`},
		"JSON: moved into the Cluster": {http.MethodPatch, k.path("there"), jsonPatch, `[{"op":"move","from":"` + first + `/stringData/password","path":"/spec/clusterRef/name"}]`},
		"JSON: copied over the kind":   {http.MethodPatch, k.path("there"), jsonPatch, `[{"op":"copy","from":"` + first + `/stringData","path":"` + first + `/kind"}]`},
		"JSON: no operation":           {http.MethodPatch, k.path("there"), jsonPatch, `[{"op":` + quote(secret) + `,"path":"/spec"}]`},
		"apply: a reference is a list": {http.MethodPatch, k.path("there") + "?fieldManager=r15", applyPat, `{"apiVersion":"` + convoyVersion + `","kind":"Release","spec":{"clusterRef":[` + quote(secret) + `]}}`},
		"apply: resources are a map":   {http.MethodPatch, k.path("there") + "?fieldManager=r15", applyPat, `{"apiVersion":"` + convoyVersion + `","kind":"Release","spec":{"resources":{"a":` + quote(secret) + `}}}`},
		"apply: a conflict":            {http.MethodPatch, k.path("there") + "?fieldManager=r15", applyPat, strings.ReplaceAll(whole, "new", "there")[:strings.LastIndex(whole, secret)] + `x` + whole[strings.LastIndex(whole, secret):]},
		"apply: cut off":               {http.MethodPatch, k.path("new") + "?fieldManager=r15", applyPat, whole[:len(whole)-2]},
	} {
		a := s.do(t, harness.Operator, w.method, w.path, w.body, as(w.contentType))
		assert.GreaterOrEqual(t, a.code, 400, "%s: %s", what, a.body)
		assert.Less(t, a.code, 500, "%s: %s", what, a.body)
	}
	s.do(t, harness.Viewer, http.MethodGet, k.path("there"), "", revealing()).want(t, 200)
	s.do(t, harness.Viewer, http.MethodGet, k.collection, "", revealing()).want(t, 200)
	s.do(t, harness.Operator, http.MethodPatch, k.path("there"), `{"spec":{"deletionPolicy":"Orphan"}}`, as(mergePat), revealing()).want(t, 200)
	cluster := clusterKind()
	s.do(t, harness.Operator, http.MethodPost, cluster.collection, encode(t, cluster.object("audited"))).want(t, 201)
	require.NoError(t, s.Stop())
	content, err := os.ReadFile(log)
	require.NoError(t, err)
	assert.Empty(t, s.leaks(content, nil))
	bodies := map[string]string{}
	for _, event := range auditEvents(t, content) {
		if event.Verb == "create" && event.ResponseStatus.Code == 201 {
			bodies[event.RequestURI] = string(event.RequestObject)
		}
	}
	assert.JSONEq(t, quote(placeholder), bodies[k.collection], "R16: a Release is audited without its body")
	assert.Contains(t, bodies[cluster.collection], "https://east.example:6443", "R16: a Cluster with it")
}
