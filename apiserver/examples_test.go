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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/rules"
	"entente.dev/entente/test/harness"
)

// examples are the objects of our kinds in artifacts/examples.
func examples(t *testing.T) (objects []unstructured.Unstructured) {
	t.Helper()
	for _, pattern := range []string{"*.yaml", "capabilities/*.yaml", "clusters/*.yaml"} {
		files, err := filepath.Glob("../artifacts/examples/" + pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			content, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, document := range strings.Split(string(content), "\n---\n") {
				object := unstructured.Unstructured{}
				require.NoError(t, yaml.UnmarshalStrict([]byte(document), &object.Object), file)
				if ours := []string{peeringVersion, convoyVersion}; slices.Contains(ours, object.GetAPIVersion()) {
					objects = append(objects, object)
				} // else it is what a host cluster needs beside
			}
		}
	}
	return objects
}

func collectionOf(t *testing.T, kind, namespace string) string {
	t.Helper()
	switch kind {
	case "ClusterPeer":
		return collection
	case "PeeringCapability":
		return groupVersion + "/peeringcapabilities"
	case "ProjectPeer":
		return groupVersion + "/namespaces/" + namespace + "/projectpeers"
	case "TokenExchangeProvider":
		return groupVersion + "/tokenexchangeproviders"
	case "Cluster", "Release":
		return convoy + "/namespaces/" + namespace + "/" + strings.ToLower(kind) + "s"
	}
	require.FailNow(t, "no kind of ours", kind)
	return ""
}

// K1: every example is accepted as it stands, created or applied.
func TestK1Examples(t *testing.T) {
	s := startAlone(t, harness.WithClusters())
	kinds := map[string]bool{}
	for _, object := range examples(t) {
		at, body := collectionOf(t, object.GetKind(), object.GetNamespace()), encode(t, object.Object)
		s.do(t, harness.Admin, http.MethodPatch, at+"/"+object.GetName()+"?fieldManager=k1&fieldValidation=Strict&dryRun=All", body, as(applyPat), revealing()).want(t, 201)
		s.do(t, harness.Admin, http.MethodPost, at+"?fieldValidation=Strict", body, revealing()).want(t, 201)
		kinds[object.GetKind()] = true
	}
	assert.Equal(t, map[string]bool{"ClusterPeer": true, "PeeringCapability": true, "Cluster": true, "Release": true}, kinds)
}

// aHost has the resources that the examples are about.
type aHost struct{}

func (aHost) Failed(string) bool { return false }

func (aHost) Scope(group, resource string) (namespaced, found bool) {
	namespaced, found = map[string]bool{
		"/pods": true, "/pods/log": true, "/secrets": true, "/nodes": false, "/namespaces": false, "storage.k8s.io/storageclasses": false,
	}[group+"/"+resource]
	return namespaced, found
}

// G1: the capabilities among the examples are valid, and apply where they say; what the
// ClusterPeers among them name is there.
func TestG1Examples(t *testing.T) {
	scopes, named := map[string][]peeringv1alpha1.CapabilityScope{}, []string{}
	for _, object := range examples(t) {
		names, _, err := unstructured.NestedStringSlice(object.Object, "spec", "capabilities")
		require.NoError(t, err)
		named = append(named, names...)
		if object.GetKind() != "PeeringCapability" {
			continue
		}
		var capability peeringv1alpha1.PeeringCapability
		require.NoError(t, json.Unmarshal([]byte(encode(t, object.Object)), &capability))
		verdict := rules.Judge(&capability.Spec, aHost{})
		assert.Equal(t, metav1.ConditionTrue, verdict.Status, "%s: %s", capability.Name, verdict.Message)
		scopes[capability.Name] = verdict.Scope
	}
	assert.Equal(t, map[string][]peeringv1alpha1.CapabilityScope{
		"logs": {peeringv1alpha1.CapabilityScopeProject}, "inventory": {peeringv1alpha1.CapabilityScopeCluster}, "backup": nil,
	}, scopes)
	for _, name := range named {
		assert.Contains(t, scopes, name)
	}
}

// K1: a manifest with every field of the reference is accepted unchanged.
func TestK1ReferenceManifests(t *testing.T) {
	s := startAlone(t)
	conditions := `"conditions":[{"lastTransitionTime":"2026-01-01T00:00:00Z","message":"m","observedGeneration":1,"reason":"R","status":"True","type":"Valid"}]`
	for i, manifest := range []string{
		`{"kind":"PeeringCapability","spec":{"version":"1","consumers":[{"kind":"ServiceAccount","name":"a","namespace":"b"}],
			"rules":[{"apiGroups":["apps"],"resources":["deployments"],"resourceNames":["c"],"verbs":["get"]},{"nonResourceURLs":["/version"],"verbs":["get"]}]},
			"status":{"observedGeneration":1,` + conditions + `}}`,
		`{"kind":"PeeringCapability","spec":{"version":"1"}}`,
		`{"kind":"ProjectPeer","status":{"capabilities":[{"name":"a","scope":["project","cluster"],"version":"1"}],"clusterUUID":"u","message":"m","reason":"R","remoteNamespaces":["n"],"state":"PeerUnreachable"}}`,
		`{"kind":"ProjectPeer"}`,
		`{"kind":"TokenExchangeProvider","spec":{"issuer":{"url":"https://east.example","jwks":"{\"keys\":[]}"},"audiences":["peering.entente.dev:u:logs"],"usernamePrefix":"peer:u:"},"status":{"observedGeneration":1,` + conditions + `}}`,
	} {
		var object map[string]any
		require.NoError(t, json.Unmarshal([]byte(manifest), &object))
		name := fmt.Sprintf("reference-%d", i)
		set(t, set(t, object, "peering.entente.dev/v1alpha1", "apiVersion"), name, "metadata", "name")
		at := collectionOf(t, fmt.Sprint(object["kind"]), "default")
		created := s.do(t, harness.Admin, http.MethodPost, at+"?fieldValidation=Strict", encode(t, object)).want(t, 201).object(t)
		assert.Equal(t, object["spec"], created["spec"])
		if object["status"] == nil {
			continue
		}
		written := s.do(t, harness.Admin, http.MethodPut, at+"/"+name+"/status?fieldValidation=Strict", encode(t, object)).want(t, 200).object(t)
		assert.Equal(t, object["status"], written["status"])
	}
}
