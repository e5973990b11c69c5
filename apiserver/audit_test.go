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
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/apiserver/options"
	"entente.dev/entente/test/harness"
)

const auditEverything = `{"apiVersion":"audit.k8s.io/v1","kind":"Policy","rules":[{"level":"RequestResponse"}]}`

// auditWebhook is an HTTPS server that keeps what audit sends it.
type auditWebhook struct {
	mu       sync.Mutex
	received bytes.Buffer
	config   string
}

func startAuditWebhook(t *testing.T) *auditWebhook {
	t.Helper()
	w := &auditWebhook{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		assert.NoError(t, err)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.received.Write(append(body, '\n'))
	}))
	t.Cleanup(server.Close)
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	w.config = harness.File(t, "webhook.kubeconfig", fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
		"clusters":[{"name":"c","cluster":{"server":%q,"certificate-authority-data":%q}}],
		"users":[{"name":"u","user":{}}],"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}]}`, server.URL, ca))
	return w
}

func (w *auditWebhook) bytes() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bytes.Clone(w.received.Bytes())
}

// auditEvent is what the tests read of an event.
type auditEvent struct {
	AuditID, Stage, Level, Verb, RequestURI string
	RequestObject, ResponseObject           json.RawMessage
	ResponseStatus                          struct {
		Code            int
		Message, Reason string
	}
}

// auditEvents are the events in a log, or in what a webhook got, by their audit ID;
// those that say what came of the request.
func auditEvents(t *testing.T, content []byte) map[string]auditEvent {
	t.Helper()
	events := map[string]auditEvent{}
	for line := range bytes.Lines(content) {
		if len(bytes.TrimSpace(line)) == 0 || line[len(line)-1] != '\n' {
			continue // half of a line that is being written
		}
		var list struct {
			auditEvent
			Items []auditEvent
		}
		require.NoErrorf(t, json.Unmarshal(line, &list), "%s", line)
		for _, event := range append(list.Items, list.auditEvent) {
			if event.Stage == "ResponseComplete" {
				events[event.AuditID] = event
			}
		}
	}
	return events
}

// R16: neither the log nor the webhook gets a byte of a value, in whatever mode, from
// whatever request.
func TestR16Audit(t *testing.T) {
	for name, modes := range map[string]struct{ log, webhook, format string }{
		"log blocking, webhook batch": {"blocking", "batch", "json"},
		"log batch, webhook blocking": {"batch", "blocking-strict", "json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			webhook := startAuditWebhook(t)
			log := filepath.Join(t.TempDir(), "audit.log")
			s := startAlone(t, harness.WithOptions(func(o *options.Options) {
				o.Audit.PolicyFile = harness.File(t, "policy.yaml", auditEverything)
				o.Audit.LogOptions.Path, o.Audit.LogOptions.Format = log, modes.format
				o.Audit.LogOptions.BatchOptions.Mode = modes.log
				o.Audit.WebhookOptions.ConfigFile = webhook.config
				o.Audit.WebhookOptions.BatchOptions.Mode = modes.webhook
				o.Audit.WebhookOptions.BatchOptions.BatchConfig.MaxBatchWait = 100 * time.Millisecond
				o.Audit.WebhookOptions.BatchOptions.BatchConfig.ThrottleEnable = false
			}))
			sent, ids := auditedRequests(t, s)
			logged := func() []byte {
				content, err := os.ReadFile(log)
				require.NoError(t, err)
				return content
			}
			harness.Eventually(t, "every request is in the log and at the webhook", func(context.Context) bool {
				inLog, inWebhook := auditEvents(t, logged()), auditEvents(t, webhook.bytes())
				for id := range ids {
					if inLog[id].AuditID == "" || inWebhook[id].AuditID == "" {
						return false
					}
				}
				return true
			})
			require.NoError(t, s.Stop())

			for where, content := range map[string][]byte{"log": logged(), "webhook": webhook.bytes()} {
				events := auditEvents(t, content)
				for id, a := range ids {
					e := events[id]
					assert.Equal(t, a.code, e.ResponseStatus.Code, a.request)
					assert.Equal(t, "RequestResponse", e.Level)
					if a.code < 300 {
						assert.NotEmpty(t, e.ResponseObject, a.request)
						if !strings.HasPrefix(a.request, "GET") && !strings.HasPrefix(a.request, "DELETE") {
							assert.Containsf(t, string(e.RequestObject), `\u003comitted\u003e`, "%s: %s", where, a.request)
							assert.NotEqual(t, `"\u003comitted\u003e"`, string(e.RequestObject), "%s: %s", where, a.request)
						}
						assert.NotEqual(t, `"\u003comitted\u003e"`, string(e.ResponseObject), "%s: %s", where, a.request)
					}
				}
				for _, leak := range s.leaks(content, nil) {
					t.Errorf("%s leaks: %s", where, leak)
				}
				// The search can fail: it finds what was sent, among all this.
				unmasked := bytes.Replace(content, []byte(`\u003comitted\u003e`), []byte(sent), 1)
				assert.NotEmpty(t, s.leaks(unmasked, nil), where)
			}
		})
	}
}

// auditedRequests makes requests of every kind, and returns one of the values that they
// sent and what was answered, by audit ID.
func auditedRequests(t *testing.T, s *api) (sent string, ids map[string]answer) {
	t.Helper()
	ids = map[string]answer{}
	do := func(user, method, path, body string, code int, opts ...with) answer {
		t.Helper()
		a := s.do(t, user, method, path, body, append(opts, revealing())...).want(t, code)
		id := a.header.Get("Audit-Id")
		require.NotEmpty(t, id)
		ids[id] = a
		return a
	}
	for _, user := range []string{harness.Admin, harness.Operator} {
		n := "of-" + user
		spec, status := s.secret(), s.secret()
		sent = spec
		manifest := func(name, value string) map[string]any {
			obj := set(t, joinPeer(name, value), "a copy of "+value, "metadata", "annotations", "copy")
			return set(t, obj, encode(t, joinPeer(name, value)), "metadata", "annotations", lastApplied)
		}
		asYAML := func(name, value string) string {
			return "apiVersion: peering.entente.dev/v1alpha1\nkind: ClusterPeer\nmetadata: {name: " + name + "}\nspec:\n  type: Join\n  join: {connectionString: " + value + "}\n"
		}
		value := `{"connectionString":` + quote(spec) + `}`
		do(user, "POST", "", encode(t, manifest(n, spec)), 201)
		do(user, "POST", "", asYAML(n+"-yaml", spec), 201, as(yamlType), accept(yamlType))
		do(user, "POST", "?dryRun=All", encode(t, manifest(n+"-dry", spec)), 201)
		do(user, "PATCH", n+"/status", `{"status":{"invite":{"connectionString":`+quote(status)+`}}}`, 200, as(mergePat))
		do(user, "PATCH", n+"/status", `[{"op":"add","path":"/status/invite/connectionString","value":`+quote(status)+`}]`, 200, as(jsonPatch))
		do(user, "PATCH", n, `{"spec":{"join":`+value+`}}`, 200, as(mergePat))
		do(user, "PATCH", n, `{"spec":{"$patch":"merge","join":`+value+`}}`, 422, as(smPatch))
		do(user, "PATCH", n, `{"spec":{"join":`+value+`}}`, 200, as(smPatch))
		do(user, "PATCH", n, `[{"op":"replace","path":"/spec/join/connectionString","value":`+quote(spec)+`}]`, 200, as(jsonPatch))
		do(user, "PATCH", n, `[{"op":"add","path":"/spec/join","value":`+value+`}]`, 200, as(jsonPatch))
		do(user, "PATCH", n, `[{"op":"replace","path":"","value":`+encode(t, manifest(n, spec))+`}]`, 200, as(jsonPatch))
		do(user, "PATCH", n+"?fieldManager=audit&force=true", asYAML(n, spec), 200, as(applyPat))
		do(user, "PATCH", n+"?fieldManager=audit", encode(t, joinPeer(n, spec)), 200, as(applyPat))
		current := do(user, "GET", n, "", 200).object(t)
		do(user, "PUT", n, encode(t, set(t, current, spec, specField...)), 200)
		for _, format := range []string{jsonType, yamlType, tableType, metaType} {
			do(user, "GET", n+"?includeObject=Object", "", 200, accept(format))
		}
		for _, format := range []string{jsonType, yamlType, tableType, metasType} {
			do(user, "GET", "?includeObject=Object", "", 200, accept(format))
		}
		if user == harness.Admin {
			do(user, "GET", n+"/sensitive", "", 200)
			do(user, "PATCH", n+"/sensitive", `{"spec":{"join":`+value+`}}`, 200, as(mergePat))
			do(user, "PATCH", n+"/sensitive?fieldManager=audit&force=true", asYAML(n, spec), 200, as(applyPat))
		}

		// Failures.
		do(user, "POST", "", encode(t, manifest(n, spec)), 409)
		do(user, "POST", "", encode(t, manifest(n+"-cut", spec))[1:], 400)
		do(user, "POST", "", "spec: [\n"+spec+": }", 400, as(yamlType))
		do(user, "POST", "", encode(t, set(t, manifest(n+"-typed", spec), []any{spec}, "spec", "join", "connectionString")), 400)
		do(user, "POST", "?fieldValidation=Strict", encode(t, set(t, manifest(n+"-strict", spec), spec, "spec", "join", "connectionStrin")), 400)
		do(user, "POST", "", encode(t, set(t, manifest(n+"-long", strings.Repeat(spec, 1000)), "Jion", "spec", "type")), 422)
		do(user, "PUT", n, encode(t, set(t, manifest(n, spec), "1", "metadata", "resourceVersion")), 409)
		do(user, "PATCH", n, `{"spec":{"join":"`+spec+`"}}`, 422, as(mergePat))
		do(user, "PATCH", n, `{"spec":{"join":{"connectionString":["`+spec+`"]}}}`, 422, as(smPatch))
		do(user, "PATCH", n, quote(spec), 400, as(mergePat))
		do(user, "PATCH", n, `{"spec":"`+spec, 400, as(mergePat))
		do(user, "PATCH", n, `[{"op":"test","path":"/spec/join/connectionString","value":`+quote(spec)+`}]`, 422, as(jsonPatch))
		do(user, "PATCH", n, `[{"op":"copy","from":"/spec/join/connectionString","path":"/metadata/labels/copied"},{"op":"add","path":"/spec/join/connectionString/`+spec+`","value":`+quote(spec)+`}]`, 422, as(jsonPatch))
		do(user, "PATCH", n+"?fieldManager=other", asYAML(n, "another-"+spec), 409, as(applyPat))
		do(user, "PATCH", n+"?fieldManager=audit", asYAML(n, "["+spec+"]"), 422, as(applyPat))
		do(user, "PATCH", n+"?fieldManager=audit", asYAML(n, spec)+" :\t: [", 400, as(applyPat))
		do(user, "PATCH", n, encode(t, manifest(n, spec)), 415, as("application/x-"+spec[:4]))
		do(harness.Viewer, "PATCH", n, `{"spec":{"join":`+value+`}}`, 403, as(mergePat))
		do(user, "GET", "nobody", "", 404)

		do(user, "DELETE", n+"-yaml", `{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"}`, 200)
		do(user, "DELETE", "?labelSelector=no%3Dsuch", "", 200)
		do(user, "DELETE", "?fieldSelector=metadata.name%3D"+n, "", 200)
		w := s.watch(t, user, "?resourceVersion=0", revealing())
		require.Equal(t, http.StatusOK, w.code)
		w.cancel()
	}
	return sent, ids
}

// R16: what is cut because it is too large was masked before.
func TestR16AuditIsMaskedBeforeItIsCut(t *testing.T) {
	log := filepath.Join(t.TempDir(), "audit.log")
	s := startAlone(t, harness.WithOptions(func(o *options.Options) {
		o.Audit.PolicyFile = harness.File(t, "policy.yaml", auditEverything)
		o.Audit.LogOptions.Path = log
		o.Audit.LogOptions.TruncateOptions.Enabled = true
		o.Audit.LogOptions.TruncateOptions.TruncateConfig.MaxEventSize = 4096
	}))
	long := s.keep(strings.Repeat(s.secret(), 200))
	a := s.do(t, harness.Admin, http.MethodPost, "", encode(t, joinPeer("long", long)), revealing())
	large := s.do(t, harness.Admin, http.MethodPost, "", encode(t, set(t, joinPeer("large", s.secret()), strings.Repeat("x", 8192), "metadata", "annotations", "large")), revealing()).want(t, 201)
	var events map[string]auditEvent
	var content []byte
	harness.Eventually(t, "both are in the log", func(context.Context) bool {
		var err error
		content, err = os.ReadFile(log)
		require.NoError(t, err)
		events = auditEvents(t, content)
		return events[a.header.Get("Audit-Id")].AuditID != "" && events[large.header.Get("Audit-Id")].AuditID != ""
	})
	assert.NotEmpty(t, events[a.header.Get("Audit-Id")].RequestObject, "masked, it is small enough")
	assert.Empty(t, events[large.header.Get("Audit-Id")].RequestObject, "cut")
	for _, leak := range s.leaks(content, nil) {
		t.Errorf("the log leaks: %s", leak)
	}
}
