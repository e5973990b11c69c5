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
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/test/harness"
)

const inputCanary = "entente1.input-canary-9f2b66d0.x"

const inputPath = "/apis/peering.entente.dev/v1alpha1/clusterpeers"

const (
	inputJSON      = "application/json"
	inputYAML      = "application/yaml"
	inputMerge     = "application/merge-patch+json"
	inputStrategic = "application/strategic-merge-patch+json"
	inputJSONPatch = "application/json-patch+json"
	inputApply     = "application/apply-patch+yaml"
)

// inputPeer is the body of a request, with more in its spec.
func inputPeer(name, spec string) string {
	return `{"apiVersion":"peering.entente.dev/v1alpha1","kind":"ClusterPeer","metadata":{"name":"` + name + `"},"spec":{` + spec + `}}`
}

// inputAnswer is what a request got.
type inputAnswer struct {
	code   int
	header http.Header
	body   string
	status metav1.Status
}

func inputDo(t *testing.T, client *http.Client, method, url, contentType string, body io.Reader) inputAnswer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	require.NoError(t, err)
	req.Header.Set("Content-Type", contentType)
	resp, err := client.Do(req)
	require.NoError(t, err)
	content, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	answer := inputAnswer{code: resp.StatusCode, header: resp.Header, body: string(content)}
	_ = json.Unmarshal(content, &answer.status) // Tests look at the status where there is one.
	return answer
}

// inputStored is everything that is stored.
func inputStored(t *testing.T, s *harness.Server) []peeringv1alpha1.ClusterPeer {
	t.Helper()
	list, err := s.Client(t, harness.Admin).PeeringV1alpha1().ClusterPeers().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	return list.Items
}

// Issue 2, "What bad input gets": a typed Status that names the field (R15: and
// never the value), nothing stored, nothing lost.
func TestInput(t *testing.T) {
	s := harness.Start(t)
	s.SetRules(t, harness.Operator, bindRule())
	client := s.HTTP(t, harness.Operator)
	created := inputDo(t, client, http.MethodPost, s.Base+inputPath, inputJSON,
		strings.NewReader(inputPeer("east", `"type":"Join","capabilities":["one"],"join":{"connectionString":"`+inputCanary+`"}`)))
	require.Equal(t, http.StatusCreated, created.code, created.body)
	lifecyclePeer(t, s, "east")
	before := inputStored(t, s)

	value := `"join":{"connectionString":"` + inputCanary + `"}`
	east := inputPath + "/east"
	strict := "?fieldValidation=Strict"
	apply := "?fieldManager=input&fieldValidation=Strict&force=true"
	tests := []struct {
		name              string
		method, path      string
		contentType, body string
		code              int
		reason            metav1.StatusReason
		// names are texts in the message, the paths of the fields above all.
		names []string
	}{
		{"unknown field on create", http.MethodPost, inputPath + strict, inputJSON, inputPeer("new", `"type":"Join","bogus":1,`+value), 400, metav1.StatusReasonBadRequest, []string{`unknown field "spec.bogus"`}},
		{"unknown field on create in YAML", http.MethodPost, inputPath + strict, inputYAML, "apiVersion: peering.entente.dev/v1alpha1\nkind: ClusterPeer\nmetadata: {name: new}\nspec: {type: Join, bogus: 1}\n", 400, metav1.StatusReasonBadRequest, []string{`unknown field "spec.bogus"`}},
		{"two unknown fields on create", http.MethodPost, inputPath + strict, inputJSON, inputPeer("new", `"type":"Join","bogus":1,"join":{"conectionString":"`+inputCanary+`"}`), 400, metav1.StatusReasonBadRequest, []string{"spec.bogus", "spec.join.conectionString"}},
		{"field given twice", http.MethodPost, inputPath + strict, inputJSON, inputPeer("new", `"type":"Join","type":"Join"`), 400, metav1.StatusReasonBadRequest, []string{`duplicate field "spec.type"`}},
		{"unknown field on update", http.MethodPut, east + strict, inputJSON, inputPeer("east", `"type":"Join","bogus":1,`+value), 400, metav1.StatusReasonBadRequest, []string{"spec.bogus"}},
		{"unknown field in a merge patch", http.MethodPatch, east + strict, inputMerge, `{"spec":{"bogus":1}}`, 422, metav1.StatusReasonInvalid, []string{"spec.bogus"}},
		{"unknown field in a strategic patch", http.MethodPatch, east + strict, inputStrategic, `{"spec":{"bogus":1}}`, 422, metav1.StatusReasonInvalid, []string{"spec.bogus"}},
		{"unknown field in a JSON patch", http.MethodPatch, east + strict, inputJSONPatch, `[{"op":"add","path":"/spec/bogus","value":1}]`, 422, metav1.StatusReasonInvalid, []string{"spec.bogus"}},
		{"unknown field in an apply", http.MethodPatch, east + apply, inputApply, inputPeer("east", `"type":"Join","bogus":1`), 0, "", []string{"spec.bogus"}},
		{"unknown field on /status", http.MethodPut, east + "/status" + strict, inputJSON, inputPeer("east", `"type":"Join","bogus":1`), 400, metav1.StatusReasonBadRequest, []string{"spec.bogus"}},

		{"wrong type of the value", http.MethodPost, inputPath, inputJSON, inputPeer("new", `"type":"Join","join":{"connectionString":5}`), 400, metav1.StatusReasonBadRequest, []string{"spec.join.connectionString"}},
		{"value in place of its parent", http.MethodPost, inputPath, inputJSON, inputPeer("new", `"type":"Join","join":"`+inputCanary+`"`), 400, metav1.StatusReasonBadRequest, []string{"spec.join"}},
		{"value in a list", http.MethodPut, east, inputJSON, inputPeer("east", `"type":"Join","join":{"connectionString":["`+inputCanary+`"]}`), 400, metav1.StatusReasonBadRequest, []string{"spec.join.connectionString"}},
		{"text for a list", http.MethodPost, inputPath, inputJSON, inputPeer("new", `"type":"Join","capabilities":"one",`+value), 400, metav1.StatusReasonBadRequest, []string{"spec.capabilities"}},
		{"number for a name", http.MethodPost, inputPath, inputJSON, `{"apiVersion":"peering.entente.dev/v1alpha1","kind":"ClusterPeer","metadata":{"name":5},"spec":{"type":"Join"}}`, 400, metav1.StatusReasonBadRequest, []string{"metadata.name"}},
		{"wrong type in a merge patch", http.MethodPatch, east, inputMerge, `{"spec":{"join":"` + inputCanary + `"}}`, 422, metav1.StatusReasonInvalid, []string{"spec.join"}},
		// The library says no path here.
		{"wrong type in a strategic patch", http.MethodPatch, east, inputStrategic, `{"spec":{"capabilities":{"a":"` + inputCanary + `"}}}`, 422, metav1.StatusReasonInvalid, []string{"patch"}},
		{"wrong type in a JSON patch", http.MethodPatch, east, inputJSONPatch, `[{"op":"replace","path":"/spec/join","value":"` + inputCanary + `"}]`, 422, metav1.StatusReasonInvalid, []string{"spec.join"}},
		{"wrong type in an apply", http.MethodPatch, east + apply, inputApply, inputPeer("east", `"type":"Join","join":"`+inputCanary+`"`), 422, metav1.StatusReasonInvalid, []string{"spec.join"}},

		{"placeholder on create", http.MethodPost, inputPath, inputJSON, inputPeer("new", `"type":"Join","join":{"connectionString":"<omitted>"}`), 422, metav1.StatusReasonInvalid, []string{"spec.join.connectionString"}},
		{"placeholder on create by apply", http.MethodPatch, inputPath + "/new" + apply, inputApply, inputPeer("new", `"type":"Join","join":{"connectionString":"<omitted>"}`), 422, metav1.StatusReasonInvalid, []string{"spec.join.connectionString"}},
		{"placeholder in a dry run", http.MethodPost, inputPath + "?dryRun=All", inputJSON, inputPeer("new", `"type":"Join","join":{"connectionString":"<omitted>"}`), 422, metav1.StatusReasonInvalid, []string{"spec.join.connectionString"}},

		{"every fault at once", http.MethodPost, inputPath, inputJSON, inputPeer("New!", `"type":"Friend","capabilities":["a","a","B!"],"invite":{"tokenTTL":"9s","expectedClusterUUID":"x"}`), 422, metav1.StatusReasonInvalid, []string{"metadata.name", "spec.type", "spec.capabilities[1]", "spec.capabilities[2]", "spec.invite.tokenTTL", "spec.invite.expectedClusterUUID"}},
		{"no type", http.MethodPost, inputPath, inputJSON, inputPeer("new", value), 422, metav1.StatusReasonInvalid, []string{"spec.type"}},
		{"another type", http.MethodPut, east, inputJSON, inputPeer("east", `"type":"Invite"`), 422, metav1.StatusReasonInvalid, []string{"spec.type"}},
		{"join with Invite", http.MethodPost, inputPath, inputJSON, inputPeer("new", `"type":"Invite",`+value), 422, metav1.StatusReasonInvalid, []string{"spec.join"}},
		{"value too long", http.MethodPost, inputPath, inputJSON, inputPeer("new", `"type":"Join","join":{"connectionString":"`+inputCanary+strings.Repeat("x", 4097)+`"}`), 422, metav1.StatusReasonInvalid, []string{"spec.join.connectionString", "4096"}},

		{"no JSON", http.MethodPost, inputPath, inputJSON, `{"spec":{` + value, 400, metav1.StatusReasonBadRequest, []string{"JSON"}},
		{"no YAML", http.MethodPost, inputPath, inputYAML, "spec: [" + inputCanary, 400, metav1.StatusReasonBadRequest, nil},
		{"nothing", http.MethodPost, inputPath, inputJSON, "", 400, metav1.StatusReasonBadRequest, nil},
		{"no patch", http.MethodPatch, east, inputMerge, inputCanary, 400, metav1.StatusReasonBadRequest, nil},
		{"no JSON patch", http.MethodPatch, east, inputJSONPatch, `{"spec":{` + value + `}}`, 400, metav1.StatusReasonBadRequest, nil},
		{"no apply patch", http.MethodPatch, east + apply, inputApply, "spec: [" + inputCanary, 400, metav1.StatusReasonBadRequest, []string{"YAML"}},
		{"apply without a manager", http.MethodPatch, east, inputApply, inputPeer("east", `"type":"Join"`), 422, metav1.StatusReasonInvalid, []string{"fieldManager"}},
		{"another kind", http.MethodPost, inputPath, inputJSON, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"new"},"data":{"a":"` + inputCanary + `"}}`, 400, metav1.StatusReasonBadRequest, nil},
		{"another version", http.MethodPost, inputPath, inputJSON, `{"apiVersion":"peering.entente.dev/v9","kind":"ClusterPeer","metadata":{"name":"new"},"spec":{` + value + `}}`, 400, metav1.StatusReasonBadRequest, nil},
		{"another name", http.MethodPut, east, inputJSON, inputPeer("west", `"type":"Join",`+value), 400, metav1.StatusReasonBadRequest, []string{"name"}},
		{"no such object", http.MethodPut, inputPath + "/west", inputJSON, inputPeer("west", `"type":"Join",`+value), 404, metav1.StatusReasonNotFound, []string{"west"}},
		{"unknown encoding", http.MethodPost, inputPath, "text/csv", inputCanary, 415, metav1.StatusReasonUnsupportedMediaType, nil},
		{"unknown kind of patch", http.MethodPatch, east, inputJSON, `{"spec":{` + value + `}}`, 415, metav1.StatusReasonUnsupportedMediaType, nil},
		{"unknown validation", http.MethodPost, inputPath + "?fieldValidation=Rigid", inputJSON, inputPeer("new", `"type":"Join",`+value), 422, metav1.StatusReasonInvalid, []string{"fieldValidation"}},
		{"unknown dry run", http.MethodPost, inputPath + "?dryRun=Some", inputJSON, inputPeer("new", `"type":"Join",`+value), 422, metav1.StatusReasonInvalid, []string{"dryRun"}},
		{"broken continue token", http.MethodGet, inputPath + "?limit=1&continue=x", inputJSON, "", 400, metav1.StatusReasonBadRequest, []string{"continue"}},
		{"broken resourceVersion", http.MethodGet, inputPath + "?resourceVersion=x", inputJSON, "", 400, metav1.StatusReasonBadRequest, nil},
		{"broken label selector", http.MethodGet, inputPath + "?labelSelector=a%3D%3D%3Db", inputJSON, "", 400, metav1.StatusReasonBadRequest, nil},
		{"create at a name", http.MethodPost, east, inputJSON, inputPeer("east", `"type":"Join",`+value), 405, metav1.StatusReasonMethodNotAllowed, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := inputDo(t, client, test.method, s.Base+test.path, test.contentType, strings.NewReader(test.body))
			require.Equal(t, "Status", got.status.Kind, got.body)
			require.Equal(t, metav1.StatusFailure, got.status.Status, got.body)
			if test.code == 0 {
				// The library has two answers for it, by where it notices.
				assert.Contains(t, []int{400, 422}, got.code, got.body)
			} else {
				assert.Equal(t, test.code, got.code, got.body)
				assert.Equal(t, test.reason, got.status.Reason, got.body)
			}
			assert.NotEmpty(t, got.status.Message)
			for _, name := range test.names {
				assert.Contains(t, got.status.Message, name)
			}
			if got.code == http.StatusUnprocessableEntity && len(test.names) > 1 {
				assert.GreaterOrEqual(t, len(got.status.Details.Causes), 1)
			}
			assert.NotContains(t, got.body, "input-canary", "R15")
			assert.NotContains(t, strings.Join(got.header.Values("Warning"), "\n"), "input-canary", "R15")
		})
	}
	assert.Equal(t, before, inputStored(t, s), "nothing stored, nothing lost")
}

// Issue 2: a body over the limit is 413, by every method that has one, and the
// connection and the server stay usable.
func TestInputBodyLimit(t *testing.T) {
	s := harness.Start(t)
	client := s.HTTP(t, harness.Operator)
	require.Equal(t, http.StatusCreated, inputDo(t, client, http.MethodPost, s.Base+inputPath, inputJSON,
		strings.NewReader(inputPeer("east", `"type":"Join","join":{"connectionString":"`+inputCanary+`"}`))).code)
	lifecyclePeer(t, s, "east")
	before := inputStored(t, s)
	const limit = 3 << 20 // of k8s.io/apiserver
	filler := strings.Repeat("x", limit)
	huge := `{"apiVersion":"peering.entente.dev/v1alpha1","kind":"ClusterPeer","metadata":{"name":"east","annotations":{"a":"` + filler + `"}},"spec":{"type":"Join","join":{"connectionString":"` + inputCanary + `"}}}`
	tests := []struct{ name, method, path, contentType, body string }{
		{"create", http.MethodPost, "", inputJSON, huge},
		{"create in YAML", http.MethodPost, "", inputYAML, huge},
		{"update", http.MethodPut, "/east", inputJSON, huge},
		{"update of the status", http.MethodPut, "/east/status", inputJSON, huge},
		{"merge patch", http.MethodPatch, "/east", inputMerge, huge},
		{"strategic patch", http.MethodPatch, "/east", inputStrategic, huge},
		{"JSON patch", http.MethodPatch, "/east", inputJSONPatch, `[{"op":"add","path":"/metadata/annotations","value":{"a":"` + filler + `"}}]`},
		{"apply", http.MethodPatch, "/east?fieldManager=input", inputApply, huge},
		{"delete", http.MethodDelete, "/east", inputJSON, `{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"` + filler + `"}}`},
		{"delete of all", http.MethodDelete, "", inputJSON, `{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"` + filler + `"}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := inputDo(t, client, test.method, s.Base+inputPath+test.path, test.contentType, strings.NewReader(test.body))
			assert.Equal(t, http.StatusRequestEntityTooLarge, got.code, inputStart(got.body))
			assert.Equal(t, metav1.StatusReasonRequestEntityTooLarge, got.status.Reason, inputStart(got.body))
			assert.Contains(t, got.status.Message, strconv.Itoa(limit))
			assert.NotContains(t, got.body, "input-canary", "R15")
		})
	}
	// Under the limit of a body, but too large to store.
	t.Run("object", func(t *testing.T) {
		large := strings.Replace(huge, filler, strings.Repeat("x", 200<<10), 1)
		got := inputDo(t, client, http.MethodPut, s.Base+inputPath+"/east", inputJSON, strings.NewReader(large))
		assert.NotContains(t, got.body, "input-canary", "R15")
		assert.Equal(t, http.StatusOK, got.code, inputStart(got.body))
		large = strings.Replace(huge, filler, strings.Repeat("x", 2<<20), 1)
		got = inputDo(t, client, http.MethodPut, s.Base+inputPath+"/east", inputJSON, strings.NewReader(large))
		assert.NotContains(t, got.body, "input-canary", "R15")
		assert.Contains(t, got.status.Message, "metadata.annotations")
		assert.Equal(t, metav1.StatusReasonInvalid, got.status.Reason)
		inputDo(t, client, http.MethodPatch, s.Base+inputPath+"/east", inputMerge, strings.NewReader(`{"metadata":{"annotations":null}}`))
	})
	after := inputStored(t, s)
	require.Len(t, after, 1)
	assert.Equal(t, before[0].Spec, after[0].Spec)
	assert.Empty(t, after[0].Annotations)
}

// inputStart keeps a failure readable.
func inputStart(body string) string { return body[:min(len(body), 500)] }

// inputClean holds output of the binary to what a user may be shown for a mistake
// of his.
func inputClean(t *testing.T, output string) {
	t.Helper()
	output = strings.ReplaceAll(output, "panicked: false", "") // what the library says of each time-out
	for _, trace := range []string{"panic:", "panicked", "goroutine ", "runtime error", "SIGSEGV"} {
		assert.NotContains(t, output, trace)
	}
	assert.NotRegexp(t, regexp.MustCompile(`\.go:\d+ \+0x`), output, "a stack trace")
}

// Issue 2: a wrong command line or data folder is refused, in words.
func TestInputProcess(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	_, taken, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)

	folder := func(t *testing.T, files map[string]string) string {
		dir := t.TempDir()
		require.NoError(t, os.Chmod(dir, 0o700))
		for name, content := range files {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
		}
		return dir
	}
	// on is the usual command line on a folder.
	on := func(dir string, more ...string) []string {
		return append([]string{"--standalone", "--data-dir", dir, "--secure-port", "0"}, more...)
	}
	tests := []struct {
		name string
		args func(t *testing.T) []string
		// says are texts in what it prints.
		says []string
	}{
		{"no --data-dir", func(*testing.T) []string { return []string{"--standalone"} }, []string{"--data-dir is needed"}},
		{"nothing", func(*testing.T) []string { return nil }, []string{"--data-dir is needed, or --etcd-servers"}},
		{"no host cluster", func(t *testing.T) []string { return []string{"--data-dir", t.TempDir()} }, []string{"--kubeconfig is not given", "--standalone"}},
		{"a host cluster and none", func(t *testing.T) []string { return on(t.TempDir(), "--kubeconfig", "x") }, []string{"--kubeconfig and --standalone exclude each other"}},
		{"kubeconfig of the host that is not there", func(t *testing.T) []string {
			return []string{"--data-dir", t.TempDir(), "--kubeconfig", "/nowhere.kubeconfig"}
		}, []string{"--kubeconfig", "/nowhere.kubeconfig"}},
		{"kubeconfig of the host that is none", func(t *testing.T) []string {
			return []string{"--data-dir", t.TempDir(), "--kubeconfig", harness.File(t, "kubeconfig", "users: {"+inputCanary+": 1}")}
		}, []string{"--kubeconfig", "it is not a kubeconfig"}},
		{"no namespace", func(t *testing.T) []string { return []string{"--data-dir", t.TempDir(), "--namespace", "A_B"} }, []string{"--namespace: "}},
		{"unknown flag", func(t *testing.T) []string { return on(t.TempDir(), "--bogus") }, []string{"unknown flag: --bogus"}},
		{"argument", func(t *testing.T) []string { return on(t.TempDir(), "bogus") }, []string{"bogus"}},
		{"no port", func(t *testing.T) []string { return on(t.TempDir(), "--secure-port", "99999") }, []string{"99999"}},
		{"no number", func(t *testing.T) []string { return on(t.TempDir(), "--secure-port", "https") }, []string{"--secure-port"}},
		{"port in use", func(t *testing.T) []string { return on(t.TempDir(), "--secure-port", taken) }, []string{"--secure-port", taken, "address already in use"}},
		{"address of another machine", func(t *testing.T) []string { return on(t.TempDir(), "--bind-address", "192.0.2.1") }, []string{"--bind-address", "192.0.2.1"}},
		{"flag of the library without a meaning here", func(t *testing.T) []string { return on(t.TempDir(), "--feature-gates", "Bogus=true") }, []string{"--feature-gates"}},
		{"small quota", func(t *testing.T) []string { return on(t.TempDir(), "--etcd-quota-backend-bytes", "5") }, []string{"quota"}},
		{"encryption", func(t *testing.T) []string { return on(t.TempDir(), "--encryption-provider-config", "x") }, []string{"--encryption-provider-config"}},
		{"certificate that is not there", func(t *testing.T) []string {
			return on(t.TempDir(), "--tls-cert-file", "/nowhere.crt", "--tls-private-key-file", "/nowhere.key")
		}, []string{"/nowhere.crt"}},
		{"audit policy that is not there", func(t *testing.T) []string { return on(t.TempDir(), "--audit-policy-file", "/nowhere.yaml") }, []string{"/nowhere.yaml"}},

		{"data folder is a file", func(t *testing.T) []string { return on(harness.File(t, "data", "x")) }, []string{"--data-dir", "it is a file"}},
		{"data folder below a file", func(t *testing.T) []string { return on(filepath.Join(harness.File(t, "data", "x"), "below")) }, []string{"--data-dir", "not a directory"}},
		{"data folder for everyone", func(t *testing.T) []string {
			dir := t.TempDir()
			require.NoError(t, os.Chmod(dir, 0o777))
			return on(dir)
		}, []string{"--data-dir", "0777", "must not be writable", "chmod go-w"}},
		{"data folder of a newer version", func(t *testing.T) []string { return on(folder(t, map[string]string{"version": "99\n"})) }, []string{"--data-dir", "newer version of Entente", "99"}},
		{"data folder of no version", func(t *testing.T) []string { return on(folder(t, map[string]string{"version": "x\n"})) }, []string{"version does not hold a format number"}},
		{"damaged database", func(t *testing.T) []string {
			return on(folder(t, map[string]string{"etcd/member/snap/db": strings.Repeat("garbage\n", 4096), "etcd/member/wal/0.tmp": ""}))
		}, []string{"embedded store", "damaged"}},
		{"authority without a key", func(t *testing.T) []string {
			return on(folder(t, map[string]string{"keys/client-ca.crt": "x"}))
		}, []string{"client-ca.crt", "restore it, or delete"}},
		{"key that is none", func(t *testing.T) []string {
			return on(folder(t, map[string]string{"keys/server.key": inputCanary}))
		}, []string{"server.key", "not a PEM file"}},
		{"kubeconfig that is none", func(t *testing.T) []string {
			return on(folder(t, map[string]string{"admin.kubeconfig": inputCanary}))
		}, []string{"admin.kubeconfig is not a kubeconfig"}},
		{"cluster UUID that is none", func(t *testing.T) []string {
			return on(folder(t, map[string]string{"cluster-uuid": "x"}))
		}, []string{"cluster-uuid does not hold a UUID"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			result := harness.RunBinary(t, test.args(t)...)
			assert.NotZero(t, result.Code)
			for _, text := range test.says {
				assert.Contains(t, result.Output(), text)
			}
			inputClean(t, result.Output())
			assert.NotContains(t, result.Output(), "input-canary", "R15")
		})
	}
}

// Issue 2: a data folder that cannot be written. Root may write everywhere, so
// that the server runs as nobody then.
func TestInputUnwritableFolder(t *testing.T) {
	dir := t.TempDir()
	// The parents of a temporary folder are closed to others.
	for parent := dir; strings.HasPrefix(parent, os.TempDir()+"/"); parent = filepath.Dir(parent) {
		require.NoError(t, os.Chmod(parent, 0o755))
	}
	require.NoError(t, os.Chmod(dir, 0o555))
	for _, data := range []string{dir, filepath.Join(dir, "new")} {
		ctx, cancel := context.WithCancel(t.Context())
		cmd := exec.CommandContext(ctx, harness.Binary(t), "--standalone", "--secure-port", "0", "--data-dir", data)
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		result := harness.Run(t, cmd)
		cancel()
		assert.NotZero(t, result.Code)
		assert.Contains(t, result.Output(), "--data-dir "+data)
		assert.Contains(t, result.Output(), "permission denied")
		inputClean(t, result.Output())
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

// Issue 2, item 4: --version, and --help with its flags in groups.
func TestInputHelp(t *testing.T) {
	for _, flag := range []string{"--version", "--version=true"} {
		result := harness.RunBinary(t, flag)
		assert.Zero(t, result.Code)
		assert.Regexp(t, `^entente-apiserver version v\d+\.\d+\.\d+`, result.Stdout)
		assert.Empty(t, result.Stderr)
	}
	for _, flag := range []string{"--help", "-h"} {
		result := harness.RunBinary(t, flag)
		assert.Zero(t, result.Code)
		for _, group := range []string{"Entente", "Generic", "Etcd", "Secure serving", "Auditing", "Features", "Logs", "Global"} {
			assert.Contains(t, result.Stdout, "\n"+group+" flags:\n")
		}
		for _, flag := range []string{"--standalone", "--data-dir", "--etcd-servers", "--etcd-quota-backend-bytes", "--encryption-provider-config", "--secure-port", "--bind-address", "--audit-policy-file", "--profiling", "--v", "--version", "--help"} {
			assert.Regexp(t, regexp.MustCompile(`(?m)^ +(-\w, )?`+flag+`\b`), result.Stdout)
		}
		inputClean(t, result.Output())
	}
}

// Issue 2: an RBAC file that does not parse grants nothing, the log says so, and
// the server starts.
func TestInputBrokenManifest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	p := harness.StartReadyProcess(t, dir)
	client := p.HTTP(t, harness.Viewer)
	require.Equal(t, http.StatusForbidden, inputDo(t, client, http.MethodGet, p.Base+"/metrics", inputJSON, nil).code)
	p.Signal(t, syscall.SIGTERM)
	require.Zero(t, p.WaitEnd(t))

	// The first document would make everybody an admin.
	broken := "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: everybody}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: 'entente:admin'}\nsubjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: 'system:authenticated'}]\n---\nkind: [\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rbac", "broken.yaml"), []byte(broken), 0o600))
	p = harness.StartReadyProcess(t, dir)
	client = p.HTTP(t, harness.Viewer)
	assert.Equal(t, http.StatusForbidden, inputDo(t, client, http.MethodGet, p.Base+"/metrics", inputJSON, nil).code)
	assert.Equal(t, http.StatusForbidden, inputDo(t, client, http.MethodDelete, p.Base+inputPath+"/x", inputJSON, nil).code)
	assert.Equal(t, http.StatusOK, inputDo(t, client, http.MethodGet, p.Base+inputPath, inputJSON, nil).code, "the other files count")
	assert.Contains(t, p.Output(), "broken.yaml")
	assert.Contains(t, p.Output(), "the whole file grants nothing")

	// Mended while the server runs, it counts.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rbac", "broken.yaml"), []byte(strings.Split(broken, "---")[0]), 0o600))
	harness.Eventually(t, "the mended file counts", func(context.Context) bool {
		return inputDo(t, client, http.MethodGet, p.Base+"/metrics", inputJSON, nil).code == http.StatusOK
	})
	inputClean(t, p.Output())
}

// Issue 2, llmtrace#275: a second process on the same folder is refused, and does
// not disturb the first.
func TestInputSecondProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	first := harness.StartReadyProcess(t, dir)
	create := func(name string) {
		got := inputDo(t, first.HTTP(t, harness.Operator), http.MethodPost, first.Base+inputPath, inputJSON, strings.NewReader(inputPeer(name, `"type":"Join","join":{"connectionString":"`+inputCanary+`"}`)))
		require.Equal(t, http.StatusCreated, got.code, got.body)
	}
	create("before")
	kubeconfig, err := os.ReadFile(first.Kubeconfig(harness.Admin))
	require.NoError(t, err)
	for range 2 {
		second := harness.RunBinary(t, "--standalone", "--data-dir", dir, "--secure-port", "0")
		assert.NotZero(t, second.Code)
		assert.Contains(t, second.Output(), "--data-dir "+dir)
		assert.Contains(t, second.Output(), "in use by process "+strconv.Itoa(first.PID()))
		inputClean(t, second.Output())
	}
	create("after")
	assert.Len(t, inputStored(t, first.Server), 2)
	unchanged, err := os.ReadFile(first.Kubeconfig(harness.Admin))
	require.NoError(t, err)
	assert.True(t, bytes.Equal(kubeconfig, unchanged), "the kubeconfigs still name the first one's port")
	first.Signal(t, syscall.SIGTERM)
	assert.Zero(t, first.WaitEnd(t))
	inputClean(t, first.Output())
}
