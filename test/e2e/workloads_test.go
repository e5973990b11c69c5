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
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/test/install"
	"entente.dev/entente/test/kube"
	"entente.dev/entente/test/process"
)

// working are two clusters that peer, of which a module of west uses the API of east: its
// ServiceAccount agent is a consumer of capability configs, other is none. Project b is in
// both clusters, project a in east alone.
type working struct {
	*pair
	// agent and other are users of west with a kubeconfig: ServiceAccounts of the module.
	agent, other string
}

const (
	module = "module" // the namespace of the module, in west
	remote = "configs"
)

// TestWorkloads is what workloads of one cluster reach in another one, with two real control
// planes, kubectl and ordinary ServiceAccounts (G6, G7, G8, H1, H2).
func TestWorkloads(t *testing.T) {
	t.Parallel()
	clusters := kube.StartAll(t, []string{"east", "west"})
	// All is logged that there is to log: no token is to be in it (R15).
	w := &working{pair: &pair{east: newSide(t, clusters[0], "-v=10"), west: newSide(t, clusters[1], "-v=10")}}
	for _, s := range w.sides() {
		s.entente.Run(t)
	}
	for _, s := range w.sides() {
		s.entente.WaitServed(t)
		s.addGranters(t)
	}
	for _, part := range []struct {
		name string
		test func(*working, *testing.T)
	}{
		{"G6 token exchange", (*working).exchanged},
		{"G8 before anything is allowed", (*working).tooEarly},
		{"G7 G8 kubectl", (*working).kubectl},
		{"G7 G8 client-go", (*working).clientGo},
		{"G7 out of reach", (*working).outOfReach},
		{"G8 H1 who is no consumer", (*working).noConsumers},
		{"G7 direct", (*working).direct},
		{"G7 tokens", (*working).tokens},
		{"P2 certificates", (*working).certificates},
		{"G7 headers", (*working).headers},
		{"G7 each ground", (*working).grounds},
		{"H1 H2 H4 R15 rights", (*working).rights},
		// Tries, as Entente, what it may not.
		{"G7 H2 as whom", (*working).asWhom},
	} {
		start := time.Now()
		if !t.Run(part.name, func(t *testing.T) { part.test(w, t) }) {
			return // each part begins with what the one before has left
		}
		t.Logf("%s: %v", part.name, time.Since(start).Round(time.Second))
	}
}

const (
	// moduleConsumers are the consumers of the capability, in both clusters: the module is
	// the same in both.
	moduleConsumers = "[{namespace: " + module + ", name: agent}]"
	// moduleRules is what east grants.
	moduleRules = "[{apiGroups: [''], resources: [configmaps], verbs: [get, list, watch, patch, create, delete]}]"
)

// moduleRole lets Entente have tokens for the module's own ServiceAccount (H1), and the
// module use the peer.
const moduleRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: entente-token, namespace: module}
rules:
- apiGroups: [""]
  resources: [serviceaccounts/token]
  resourceNames: [agent]
  verbs: [create]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: entente-token, namespace: module}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: entente-token}
subjects: [{kind: ServiceAccount, namespace: entente-system, name: entente-apiserver}]
`

// exchanged is the way there: the clusters peer, and each knows how to verify the tokens of
// the other.
func (w *working) exchanged(t *testing.T) {
	w.east.project(t, platform, "a", "a1")
	w.east.project(t, platform, "b", "b1", "b2")
	w.west.project(t, platform, "b", "b9")
	w.east.MustKubectl(t, author, capability(remote, moduleConsumers, moduleRules), "create", "-f", "-")
	// Of west nothing is granted: the access is one-way (G1).
	w.west.MustKubectl(t, author, capability(remote, moduleConsumers, "[]"), "create", "-f", "-")
	w.west.MustKubectl(t, kube.Admin, "", "create", "namespace", module)
	for _, name := range []string{"agent", "other"} {
		w.west.MustKubectl(t, kube.Admin, "", "create", "serviceaccount", "-n", module, name)
	}
	w.agent, w.other = w.west.ServiceAccountKubeconfig(t, module, "agent"), w.west.ServiceAccountKubeconfig(t, module, "other")
	for _, namespace := range []string{"a1", "b1", "b2"} {
		w.east.MustKubectl(t, kube.Admin, "", "create", "configmap", "-n", namespace, "settings", "--from-literal=where="+namespace)
		w.east.MustKubectl(t, kube.Admin, "", "create", "secret", "generic", "-n", namespace, "settings", "--from-literal=where="+namespace)
	}

	w.east.MustKubectl(t, author, "apiVersion: peering.entente.dev/v1alpha1\nkind: ClusterPeer\nmetadata: {name: west}\nspec: {type: Invite, capabilities: ["+remote+"]}\n", "create", "-f", "-")
	w.keep(w.east.issued(t, "west", ""))
	w.west.MustKubectl(t, author, "apiVersion: peering.entente.dev/v1alpha1\nkind: ClusterPeer\nmetadata: {name: east}\nspec: {type: Join, capabilities: ["+remote+"], join: {connectionString: "+w.text+"}}\n", "create", "-f", "-")
	for s, name := range map[*side]string{w.east: "west", w.west: "east"} {
		s.says(t, name, "Active")
		s.until(t, name, "its tokens can be verified", func(peer *peeringv1alpha1.ClusterPeer) bool {
			return condition(peer, "TokenExchangeReady").Reason == "ProviderReady"
		})
		provider := s.MustKubectl(t, viewer, "", "get", "tokenexchangeprovider", "peer-"+name, "-o", "jsonpath={.spec.usernamePrefix} {.metadata.ownerReferences[0].name} {.status.conditions[0].reason}")
		other := map[*side]*side{w.east: w.west, w.west: w.east}[s]
		assert.Equal(t, "peer:"+other.uid(t)+": "+name+" InUse", provider)
	}
	w.granted(t, "b1", "b2")
	// One audience a capability, and how to get there (G8).
	access := w.west.until(t, "east", "status.access is there", func(peer *peeringv1alpha1.ClusterPeer) bool {
		return peer.Status.Access != nil && len(peer.Status.Access.Audiences) == 1
	}).Status.Access
	assert.Equal(t, w.east.entente.Gateway(), access.Endpoint)
	assert.Equal(t, []peeringv1alpha1.CapabilityAudience{{Capability: remote, Audience: w.audience(t)}}, access.Audiences)
	assert.Contains(t, access.CABundle, "BEGIN CERTIFICATE")
}

// audience is that of tokens for east.
func (w *working) audience(t *testing.T) string {
	t.Helper()
	return "peering.entente.dev:" + w.east.uid(t) + ":" + remote
}

// granted waits until exactly this is granted in east.
func (w *working) granted(t *testing.T, namespaces ...string) {
	t.Helper()
	eventuallyWithin(t, later, fmt.Sprintf("granted in %v", namespaces), func(context.Context) error {
		found := w.east.MustKubectl(t, viewer, "", "get", "cpeer", "west", "-o", "jsonpath={.status.grants[*].namespaces[*]}")
		if found != strings.Join(namespaces, " ") {
			return fmt.Errorf("it is granted in %q", found)
		}
		return nil
	})
}

// path is where the API of east is, for those in west.
func path(capability string) string {
	return "/apis/peering.entente.dev/v1alpha1/clusterpeers/east/proxy/" + capability
}

// through runs kubectl against the API of east, as a user of west.
func (w *working) through(t *testing.T, user, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	server := w.west.RESTConfig(t, user).Host + path(remote)
	result := w.west.Kubectl(t, user, stdin, append([]string{"--server=" + server}, args...)...)
	return result.Code, result.Stdout, result.Stderr
}

// raw gets a path of the API of east, as a user of west: an error is shown as it was sent.
func (w *working) raw(t *testing.T, user, rest string) process.Result {
	t.Helper()
	return w.west.Kubectl(t, user, "", "get", "--raw", path(remote)+rest)
}

func (w *working) mustThrough(t *testing.T, user, stdin string, args ...string) string {
	t.Helper()
	code, stdout, stderr := w.through(t, user, stdin, args...)
	require.Zero(t, code, "kubectl %v: %s%s", args, stdout, stderr)
	return stdout
}

// reaches waits until the agent reads a ConfigMap of east.
func (w *working) reaches(t *testing.T) {
	t.Helper()
	eventuallyWithin(t, soon, "the agent reaches east", func(context.Context) error {
		code, _, stderr := w.through(t, w.agent, "", "get", "configmap", "-n", "b1", "settings")
		if code != 0 {
			return fmt.Errorf("it does not: %s", stderr)
		}
		return nil
	})
}

// tooEarly is the way of an admin who installs a module step by step: what is missing is
// said each time.
func (w *working) tooEarly(t *testing.T) {
	refused := func(texts ...string) {
		t.Helper()
		result := w.raw(t, w.agent, settingsOfB1)
		assert.NotZero(t, result.Code)
		for _, text := range texts {
			assert.Contains(t, result.Stderr, text)
		}
	}
	refused(`cannot get resource "clusterpeers/proxy"`)
	w.west.Grant(t, w.agent, rbacv1.PolicyRule{
		APIGroups: []string{"peering.entente.dev"}, Resources: []string{"clusterpeers/proxy"}, ResourceNames: []string{"east"},
		Verbs: []string{"get", "create", "update", "patch", "delete"},
	})
	// H1: Entente has no token for anybody who does not let it.
	refused("serviceaccounts/token", "agent")
	w.west.MustKubectl(t, kube.Admin, moduleRole, "apply", "-f", "-")
	w.reaches(t)
}

// kubectl is the ordinary use, by kubectl.
func (w *working) kubectl(t *testing.T) {
	assert.Equal(t, "b1", w.mustThrough(t, w.agent, "", "get", "configmap", "-n", "b1", "settings", "-o", "jsonpath={.data.where}"))
	assert.Contains(t, w.mustThrough(t, w.agent, "", "get", "configmaps", "-n", "b2"), "settings")
	w.mustThrough(t, w.agent, "", "create", "configmap", "-n", "b1", "made", "--from-literal=by=agent")
	w.mustThrough(t, w.agent, "", "patch", "configmap", "-n", "b1", "made", "--type=merge", "-p", `{"data":{"by":"the agent"}}`)
	assert.Equal(t, "the agent", w.east.MustKubectl(t, kube.Admin, "", "get", "configmap", "-n", "b1", "made", "-o", "jsonpath={.data.by}"))
	w.mustThrough(t, w.agent, "", "apply", "--server-side", "-f", "-", "-n", "b1", "--dry-run=server", "--help") // discovery is enough for help
	assert.Contains(t, w.mustThrough(t, w.agent, "", "api-resources", "--api-group="), "configmaps")
	assert.Contains(t, w.mustThrough(t, w.agent, "", "version", "-o", "json"), "serverVersion")

	server := w.west.RESTConfig(t, w.agent).Host + path(remote)
	watch := w.west.StartKubectl(t, w.agent, "--server="+server, "get", "configmaps", "-n", "b1", "-w", "-o", "name")
	eventually(t, "the watch has begun", func(context.Context) error { return contains(watch.Output(), "configmap/made") })
	w.mustThrough(t, w.agent, "", "create", "configmap", "-n", "b1", "seen")
	eventually(t, "the watch shows what comes", func(context.Context) error { return contains(watch.Output(), "configmap/seen") })
	w.mustThrough(t, w.agent, "", "delete", "configmap", "-n", "b1", "made", "seen")
}

// clients returns the client of a user of west for the API of east.
func (w *working) clients(t *testing.T, user string) kubernetes.Interface {
	t.Helper()
	config := rest.CopyConfig(w.west.RESTConfig(t, user))
	config.Host += path(remote)
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return client
}

// clientGo is the ordinary use, by client-go, in JSON and in protobuf.
func (w *working) clientGo(t *testing.T) {
	for _, contentType := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		config := rest.CopyConfig(w.west.RESTConfig(t, w.agent))
		config.Host += path(remote)
		config.ContentType = contentType
		client, err := kubernetes.NewForConfig(config)
		require.NoError(t, err)
		configs := client.CoreV1().ConfigMaps("b1")

		list, err := configs.List(t.Context(), metav1.ListOptions{Limit: 1})
		require.NoError(t, err)
		assert.NotEmpty(t, list.Continue, "it is chunked")
		watch, err := configs.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		require.NoError(t, err)
		_, err = configs.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "by-client"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		_, err = configs.Patch(t.Context(), "by-client", types.StrategicMergePatchType, []byte(`{"data":{"a":"b"}}`), metav1.PatchOptions{})
		require.NoError(t, err)
		require.NoError(t, configs.Delete(t.Context(), "by-client", metav1.DeleteOptions{}))
		for _, want := range []string{"ADDED", "MODIFIED", "DELETED"} {
			select {
			case event := <-watch.ResultChan():
				assert.Equal(t, want, string(event.Type))
			case <-time.After(patience):
				require.Fail(t, "no event", want)
			}
		}
		watch.Stop()
		_, err = configs.Get(t.Context(), "absent", metav1.GetOptions{})
		assert.True(t, apierrors.IsNotFound(err), "%v", err)
	}
}

// outOfReach is what the consumer may not do, though it is let in.
func (w *working) outOfReach(t *testing.T) {
	for _, args := range [][]string{
		{"get", "configmaps", "-n", "a1"}, // a project that is not paired
		{"get", "configmaps", "-A"},       // the whole cluster
		{"get", "configmaps", "-n", "kube-system"},
		{"get", "configmaps", "-n", install.Namespace},
		{"get", "secrets", "-n", "b1"}, // another resource
		{"get", "secret", "-n", "b1", "settings"},
		{"get", "namespaces"},
		{"get", "--raw", "/metrics"},
		{"get", "--raw", "/apis/peering.entente.dev/v1alpha1/clusterpeers"},
		{"get", "--raw", "/api/v1/namespaces/b1/secrets/settings"},
		{"get", "--raw", "/api/v1/namespaces/b1/configmaps/../secrets/settings"},
		{"get", "--raw", "/api/v1/namespaces/b1/configmaps/%2e%2e/secrets/settings"},
		{"get", "--raw", "/api/v1/namespaces/b1/configmaps%2f..%2fsecrets%2fsettings"},
		{"get", "--raw", "/api/v1/watch/namespaces/b1/secrets"},
		{"create", "token", "-n", "b1", "default"},
		{"auth", "whoami"},
	} {
		if args[1] == "--raw" {
			result := w.raw(t, w.agent, args[2])
			assert.NotZero(t, result.Code, "kubectl %v: %s", args, result.Output())
			assert.NotContains(t, result.Output(), "where")
			continue
		}
		code, stdout, stderr := w.through(t, w.agent, "", args...)
		assert.NotZero(t, code, "kubectl %v: %s", args, stdout)
		assert.NotContains(t, stdout+stderr, "where")
	}
	// A capability that there is not, and one that is not in effect.
	for _, name := range []string{"absent", "..", ""} {
		result := w.west.Kubectl(t, w.agent, "", "get", "--raw", path(name)+"/api/v1/namespaces/b1/configmaps")
		assert.NotZero(t, result.Code, "%q: %s", name, result.Output())
	}
}

// noConsumers are people, and ServiceAccounts that the capability does not name: 403 at the
// near end, and nothing is sent to the other cluster.
func (w *working) noConsumers(t *testing.T) {
	const human = "human"
	w.west.AddUser(t, human)
	for _, user := range []string{human, w.other} {
		w.west.Grant(t, user, rbacv1.PolicyRule{APIGroups: []string{"peering.entente.dev"}, Resources: []string{"clusterpeers/proxy"}, Verbs: []string{"get"}})
	}
	before := len(w.exchanges(t))
	for _, user := range []string{human, w.other, kube.Admin} {
		result := w.raw(t, user, settingsOfB1)
		assert.NotZero(t, result.Code, user)
		assert.Contains(t, result.Stderr, "consumer", user)
	}
	assert.Len(t, w.exchanges(t), before)
}

// exchanges are the requests that reached the host of east as users of west.
func (w *working) exchanges(t *testing.T) (users []string) {
	t.Helper()
	for _, event := range w.east.Audit(t) {
		if event.ImpersonatedUser != nil && strings.HasPrefix(event.ImpersonatedUser.Username, "peer:") {
			users = append(users, event.ImpersonatedUser.Username)
		}
	}
	return users
}

// asWhom is how the host of east knows the consumer: by exactly one name and one group, and
// Entente may be nobody else (H2).
func (w *working) asWhom(t *testing.T) {
	user := "peer:" + w.west.uid(t) + ":system:serviceaccount:" + module + ":agent"
	found := false
	for _, event := range w.east.Audit(t) {
		if event.ImpersonatedUser == nil || !strings.HasPrefix(event.ImpersonatedUser.Username, "peer:") {
			continue
		}
		found = true
		assert.Equal(t, user, event.ImpersonatedUser.Username)
		assert.ElementsMatch(t, []string{"peer:" + w.west.uid(t), "system:authenticated"}, event.ImpersonatedUser.Groups)
		assert.Empty(t, event.ImpersonatedUser.Extra)
		assert.Empty(t, event.ImpersonatedUser.UID)
	}
	assert.True(t, found, "nothing has reached the host")

	entente := kube.ServiceAccountUser(install.Namespace, install.ServiceAccount)
	for as, want := range map[string]bool{
		user: true,
		"peer:" + w.west.uid(t) + ":system:serviceaccount:" + module + ":other": false,
		"system:admin":        false,
		"kubernetes-admin":    false,
		"peer:x":              false,
		"system:kube-proxy":   false,
		"system:node:example": false,
	} {
		result := w.east.Kubectl(t, entente, "", "--as="+as, "--as-group=peer:"+w.west.uid(t), "get", "configmap", "-n", "b1", "settings")
		assert.Equal(t, want, result.Code == 0, "as %s: %s", as, result.Output())
	}
	// Nor may it do as that user what that user is not granted, or be it in another group.
	for _, args := range [][]string{
		{"--as=" + user, "--as-group=system:masters", "get", "configmap", "-n", "b1", "settings"},
		{"--as=" + user, "--as-group=peer:" + w.west.uid(t), "get", "secrets", "-n", "b1"},
		{"--as=" + user, "--as-uid=x", "get", "configmap", "-n", "b1", "settings"},
	} {
		assert.NotZero(t, w.east.Kubectl(t, entente, "", args...).Code, args)
	}
}

// gatewayURL is where the API of east is, for those who dial it themselves.
func (w *working) gatewayURL(t *testing.T, capability, rest string) *url.URL {
	t.Helper()
	access := w.west.peer(t, "east").Status.Access
	require.NotNil(t, access)
	parsed, err := url.Parse(access.Endpoint + "/peering/v1/api/" + capability + rest)
	require.NoError(t, err)
	return parsed
}

// status reads an answer that is a Status.
func status(t *testing.T, body []byte) metav1.Status {
	t.Helper()
	var read metav1.Status
	require.NoError(t, json.Unmarshal(body, &read), "%s", body)
	return read
}
