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
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"

	"entente.dev/entente/test/conformance"
	"entente.dev/entente/test/install"
	"entente.dev/entente/test/kube"
	"entente.dev/entente/test/leak/search"
)

// The values that admission must not see. They begin alike, so that one search finds
// each of them.
const (
	firstValue  = conformance.Canary + "-first"
	secondValue = conformance.Canary + "-second"
)

// webhook is an admission webhook that keeps what it is sent. It labels what it
// mutates, and tries to write the sensitive field.
type webhook struct {
	mu     sync.Mutex
	bodies map[string][]string // by path
}

func (w *webhook) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		http.Error(response, err.Error(), http.StatusBadRequest)
		return
	}
	w.mu.Lock()
	w.bodies[request.URL.Path] = append(w.bodies[request.URL.Path], string(body))
	w.mu.Unlock()
	review := admissionv1.AdmissionReview{}
	if err := json.Unmarshal(body, &review); err != nil || review.Request == nil {
		http.Error(response, "no review", http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	if request.URL.Path == "/mutate" && review.Request.Operation != admissionv1.Delete {
		var obj metav1.PartialObjectMetadata
		if err := json.Unmarshal(review.Request.Object.Raw, &obj); err != nil {
			http.Error(response, err.Error(), http.StatusBadRequest)
			return
		}
		labels := map[string]string{"webhook": "was-here"}
		for key, value := range obj.Labels {
			labels[key] = value
		}
		label, err := json.Marshal(labels)
		if err != nil {
			http.Error(response, err.Error(), http.StatusInternalServerError)
			return
		}
		patchType := admissionv1.PatchTypeJSONPatch
		review.Response.PatchType = &patchType
		review.Response.Patch = fmt.Appendf(nil, `[{"op":"add","path":"/metadata/labels","value":%s}]`, label)
		if strings.Contains(string(review.Request.Object.Raw), `"connectionString"`) && review.Request.SubResource != "status" {
			review.Response.Patch = fmt.Appendf(nil, `[{"op":"add","path":"/metadata/labels","value":%s},{"op":"replace","path":"/spec/join/connectionString","value":"of-the-webhook"}]`, label)
		}
	}
	review.Request = nil
	response.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(response).Encode(review)
}

func (w *webhook) seen(path string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.bodies[path]...)
}

// R13: webhooks and policies of the host cluster apply to our kinds. Old and new
// objects that they see are redacted, whoever calls; what they change is kept, but
// for the sensitive fields.
func TestR13_Admission(t *testing.T) {
	cluster := kube.Start(t)
	entente := install.Start(t, cluster)
	cluster.AddUser(t, keeper)
	cluster.Bind(t, keeper, "entente-operator")
	cluster.Bind(t, keeper, "entente-sensitive-reader")
	cluster.Grant(t, keeper, conformance.Rule([]string{"update", "patch"}, []string{"clusterpeers/sensitive"}))
	cluster.AddUser(t, operator)
	cluster.Bind(t, operator, "entente-operator")

	hook := &webhook{bodies: map[string][]string{}}
	server := httptest.NewTLSServer(hook)
	defer server.Close()
	bundle := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: server.Certificate().Raw}))
	const rule = `{apiGroups: [peering.entente.dev], apiVersions: ["*"], resources: ["*/*"], operations: ["*"]}`
	cluster.MustKubectl(t, kube.Admin, `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: mutate}
webhooks:
- name: mutate.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  reinvocationPolicy: IfNeeded
  clientConfig: {url: "`+server.URL+`/mutate", caBundle: `+bundle+`}
  rules: [`+rule+`]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: validate}
webhooks:
- name: validate.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  clientConfig: {url: "`+server.URL+`/validate", caBundle: `+bundle+`}
  rules: [`+rule+`]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: mutate}
spec:
  failurePolicy: Fail
  reinvocationPolicy: IfNeeded
  matchConstraints: {resourceRules: [{apiGroups: [peering.entente.dev], apiVersions: ["*"], resources: [clusterpeers], operations: [CREATE, UPDATE]}]}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >-
        Object{metadata: Object.metadata{labels: {"policy": "was-here", "policy-saw": has(object.spec.join) && object.spec.join.connectionString.contains("`+conformance.Canary+`") ? "value" : "none"}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: mutate}
spec: {policyName: mutate}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: validate}
spec:
  failurePolicy: Fail
  matchConstraints: {resourceRules: [`+rule+`]}
  validations:
  - expression: 'object == null || !has(object.metadata.labels) || !("refuse" in object.metadata.labels)'
    messageExpression: '"refused, new: " + object.spec.join.connectionString + (oldObject == null ? "" : ", old: " + oldObject.spec.join.connectionString)'
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: validate}
spec: {policyName: validate, validationActions: [Deny, Audit]}
---
# A policy for others, with parameters that Entente has no right to and no need of.
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: of-others}
spec:
  failurePolicy: Fail
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: ["*"], resources: [deployments], operations: [CREATE]}]}
  validations: [{expression: "params.data.size() == 0"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: of-others}
spec: {policyName: of-others, validationActions: [Deny], paramRef: {name: none, namespace: default, parameterNotFoundAction: Deny}}
`, "create", "-f", "-")
	manifest := func(name, value string, labels string) string {
		return "apiVersion: peering.entente.dev/v1alpha1\nkind: ClusterPeer\nmetadata: {name: " + name + ", labels: {" + labels + "}}\nspec: {type: Join, join: {connectionString: " + value + "}}\n"
	}
	eventually(t, "webhooks and policies apply", func(context.Context) error {
		result := cluster.Kubectl(t, operator, manifest("probe", firstValue, ""), "create", "--dry-run=server", "-o", "yaml", "-f", "-")
		if err := contains(result.Stdout, "webhook: was-here", "policy: was-here"); err != nil {
			return fmt.Errorf("%w: %s", err, result.Output())
		}
		if refused := cluster.Kubectl(t, operator, manifest("probe", firstValue, `refuse: "yes"`), "create", "--dry-run=server", "-f", "-"); refused.Code == 0 {
			return errors.New("the validating policy does not apply")
		}
		return nil
	})

	value := func(name string) string {
		return cluster.MustKubectl(t, keeper, "", "get", "cpeer", name, "--subresource=sensitive", "-o", "jsonpath={.spec.join.connectionString}")
	}
	label := func(name, key string) string {
		return cluster.MustKubectl(t, operator, "", "get", "cpeer", name, "-o", "jsonpath={.metadata.labels."+key+"}")
	}
	for _, user := range []string{operator, keeper} {
		name := "of-" + user
		// Create, with the value in an annotation as well, and every kind of write after it.
		cluster.MustKubectl(t, user, manifest(name, firstValue, ""), "apply", "-f", "-")
		assert.Equal(t, firstValue, value(name), "a webhook wrote the sensitive field")
		assert.Equal(t, "was-here", label(name, "webhook"))
		assert.Equal(t, "was-here", label(name, "policy"))
		assert.Equal(t, "none", label(name, "policy-saw"))

		cluster.MustKubectl(t, user, manifest(name, secondValue, "applied: again"), "apply", "-f", "-")
		assert.Equal(t, secondValue, value(name))
		cluster.MustKubectl(t, user, "", "patch", "cpeer", name, "--type=merge", "-p", `{"spec":{"join":{"connectionString":"`+firstValue+`"}}}`)
		assert.Equal(t, firstValue, value(name))
		cluster.MustKubectl(t, user, "", "patch", "cpeer", name, "--type=json", "-p", `[{"op":"replace","path":"/spec/join","value":{"connectionString":"`+secondValue+`"}}]`)
		assert.Equal(t, secondValue, value(name))
		cluster.MustKubectl(t, user, manifest(name, firstValue, ""), "apply", "--server-side", "--force-conflicts", "--field-manager=git", "-f", "-")
		assert.Equal(t, firstValue, value(name))
		cluster.MustKubectl(t, user, "", "label", "cpeer", name, "touched=yes")
		assert.Equal(t, firstValue, value(name), "a write that kept the value")
		cluster.MustKubectl(t, user, "", "patch", "cpeer", name, "--subresource=status", "--type=merge", "-p", `{"status":{"phase":"Pending"}}`)
		assert.Equal(t, firstValue, value(name))
	}
	cluster.MustKubectl(t, keeper, "", "patch", "cpeer", "of-keeper", "--subresource=sensitive", "--type=merge", "-p", `{"spec":{"join":{"connectionString":"`+secondValue+`"}}}`)
	assert.Equal(t, secondValue, value("of-keeper"))

	// A policy that says what it saw says it of the placeholder.
	for _, user := range []string{operator, keeper} {
		refused := cluster.Kubectl(t, user, "", "label", "cpeer", "of-keeper", "refuse=yes")
		assert.NotZero(t, refused.Code)
		assert.Contains(t, refused.Stderr, "refused, new: <omitted>, old: <omitted>")
		refused = cluster.Kubectl(t, user, manifest("refused", firstValue, `refuse: "yes"`), "create", "-f", "-")
		assert.Contains(t, refused.Stderr, "refused, new: <omitted>")
		assert.NotContains(t, refused.Output(), conformance.Canary)
	}
	cluster.MustKubectl(t, operator, "", "delete", "cpeer", "--all")

	first, err := search.NewCanary("first value", firstValue)
	require.NoError(t, err)
	second, err := search.NewCanary("second value", secondValue)
	require.NoError(t, err)
	recorder := &search.Recorder{}
	for _, path := range []string{"/mutate", "/validate"} {
		bodies := strings.Join(hook.seen(path), "\n")
		recorder.Add(path, []byte(bodies))
		assert.Contains(t, bodies, "omitted", path)
		for _, operation := range []string{"CREATE", "UPDATE", "DELETE"} {
			assert.Contains(t, bodies, `"operation":"`+operation+`"`, path)
		}
		for _, subresource := range []string{"status", "sensitive"} {
			assert.Contains(t, bodies, `"subResource":"`+subresource+`"`, path)
		}
	}
	found, err := recorder.Search(first, second)
	require.NoError(t, err)
	assert.Empty(t, found)
	assert.Empty(t, entente.Rights(t).Refused)
	assertNoComplaint(t, entente)
}
