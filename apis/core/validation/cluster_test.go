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

package validation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"entente.dev/entente/apis/core"
)

const canary = "kQ7zCANARYw3x0a1b2c3d4e5f6g7h8"

// told are the errors, as type and path.
func told(errs field.ErrorList) (out []string) {
	for _, err := range errs {
		out = append(out, string(err.Type)+" "+err.Field)
	}
	return out
}

func secret(name string) core.SecretKeySelector {
	return core.SecretKeySelector{Name: name, Key: "key"}
}

// agentless is a stored Cluster with an auth type of its own.
func agentless(auth core.ClusterAuthSpec) *core.Cluster {
	return &core.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a.cluster", UID: "uid", ResourceVersion: "5"},
		Spec: core.ClusterSpec{
			ConnectionMode: core.ConnectionModeAgentless,
			Agentless:      &core.ClusterAgentlessModeSpec{Server: "https://a:6443", Auth: auth},
		},
	}
}

func kubeconfig() *core.Cluster {
	return agentless(core.ClusterAuthSpec{Type: core.AuthTypeKubeconfig, Kubeconfig: &core.KubeconfigAuthSpec{SecretRef: secret("a")}})
}

func oidc(client core.OIDCClientAuthSpec) *core.Cluster {
	return agentless(core.ClusterAuthSpec{Type: core.AuthTypeOIDC, OIDC: &core.OIDAuthSpec{ClientAuth: client}})
}

// checked are the faults of a Cluster that is created; an update to it finds the same.
func checked(t *testing.T, cluster *core.Cluster) []string {
	t.Helper()
	got, other := told(ValidateCluster(cluster)), kubeconfig()
	other.Spec.Metadata = map[string]string{"other": ""}
	assert.Equal(t, got, told(ValidateClusterUpdate(cluster, other)), "an update finds the same")
	return got
}

// C1: the block of a mode is there and no other one; an empty block counts as set. So with the
// blocks of the auth types, and of the ways of an OpenID Connect client.
func TestC1Blocks(t *testing.T) {
	agent, direct := &core.ClusterAgentModeSpec{}, kubeconfig().Spec.Agentless
	for name, test := range map[string]struct {
		mode      core.ConnectionMode
		agent     *core.ClusterAgentModeSpec
		agentless *core.ClusterAgentlessModeSpec
		want      []string
	}{
		"in cluster":           {"inCluster", nil, nil, nil},
		"in cluster, agent":    {"inCluster", agent, nil, []string{"FieldValueForbidden spec.agent"}},
		"in cluster, both":     {"inCluster", agent, direct, []string{"FieldValueForbidden spec.agent", "FieldValueForbidden spec.agentless"}},
		"agentless":            {"agentless", nil, direct, nil},
		"agentless, both":      {"agentless", agent, direct, []string{"FieldValueForbidden spec.agent"}},
		"agentless, none":      {"agentless", nil, nil, []string{"FieldValueRequired spec.agentless"}},
		"agentless, the other": {"agentless", agent, nil, []string{"FieldValueForbidden spec.agent", "FieldValueRequired spec.agentless"}},
		"agent":                {"agent", agent, nil, nil},
		"agent, none":          {"agent", nil, nil, []string{"FieldValueRequired spec.agent"}},
		"agent, both":          {"agent", agent, direct, []string{"FieldValueForbidden spec.agentless"}},
		"a mode that is none":  {"other", agent, direct, nil}, // which generated code says
		"no mode":              {"", agent, direct, nil},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := kubeconfig()
			cluster.Spec = core.ClusterSpec{ConnectionMode: test.mode, Agent: test.agent, Agentless: test.agentless}
			assert.Equal(t, test.want, checked(t, cluster))
		})
	}
	all := core.ClusterAuthSpec{
		ClientCert: &core.ClientCertAuthSpec{CertRef: secret("a"), KeyRef: secret("b")}, ExecPlugin: &core.ExecPluginAuthSpec{}, Kubeconfig: &core.KubeconfigAuthSpec{SecretRef: secret("a")},
		OIDC:  oidc(core.OIDCClientAuthSpec{Type: core.OIDCClientAuthClientSecret, ClientSecret: &core.OIDCAuthClientSecretSpec{ClientSecretRef: secret("a")}}).Spec.Agentless.Auth.OIDC,
		Token: &core.TokenAuthSpec{TokenRef: secret("a")},
	}
	names := []string{"clientCert", "execPlugin", "kubeconfig", "oidc", "token"}
	client := core.OIDCClientAuthSpec{
		ClientSecret: &core.OIDCAuthClientSecretSpec{ClientSecretRef: secret("a")}, PrivateKeyJWT: &core.OIDCAuthPrivateKeyJWTSpec{PrivateKeyRef: secret("a")},
		TLSClientAuth: &core.OIDCAuthTLSClientAuthSpec{CertRef: secret("a"), KeyRef: secret("a")},
	}
	ways := []string{"clientSecret", "privateKeyJWT", "tlsClientAuth"}
	forbidden := func(path string, all []string, but string) (out []string) {
		for _, name := range all {
			if name != but {
				out = append(out, "FieldValueForbidden "+path+name)
			}
		}
		return out
	}
	const auth, clientAuth = "spec.agentless.auth.", "spec.agentless.auth.oidc.clientAuth."
	for _, name := range names {
		all.Type = core.AuthType(name)
		assert.Equal(t, forbidden(auth, names, name), checked(t, agentless(all)), name)
		assert.Equal(t, []string{"FieldValueRequired " + auth + name}, checked(t, agentless(core.ClusterAuthSpec{Type: all.Type})), name)
	}
	for _, name := range ways {
		client.Type = core.OIDCClientAuthType(name)
		assert.Equal(t, forbidden(clientAuth, ways, name), checked(t, oidc(client)), name)
		assert.Equal(t, []string{"FieldValueRequired " + clientAuth + name}, checked(t, oidc(core.OIDCClientAuthSpec{Type: client.Type})), name)
	}
	all.Type = "other"
	assert.Empty(t, checked(t, agentless(all)))
}

// C1: a key is one of a Secret or a ConfigMap, wherever it is named: it may become the name of
// a file.
func TestC1Keys(t *testing.T) {
	for key, valid := range map[string]bool{
		"kubeconfig": true, "ca.crt": true, "A_b-0": true, ".hidden": true, strings.Repeat("x", 253): true, "": true, // which generated code says
		".": false, "..": false, "..a": false, "a/b": false, "/a": false, "a b": false, "ä": false, "a\x00": false, strings.Repeat("x", 254): false,
	} {
		cluster := kubeconfig()
		cluster.Spec.Agentless.Auth.Kubeconfig.SecretRef.Key = key
		cluster.Spec.Agentless.CAPublicCertRef = &core.ConfigMapKeySelector{Name: "a", Key: key}
		got := checked(t, cluster)
		assert.Equal(t, valid, len(got) == 0, "%q: %v", key, got)
		if !valid {
			assert.Contains(t, got, "FieldValueInvalid spec.agentless.auth.kubeconfig.secretRef.key")
			assert.Contains(t, got, "FieldValueInvalid spec.agentless.caPublicCertRef.key")
		}
	}
}

// R15: an address holds no credential; what is refused is not repeated.
func TestR15Server(t *testing.T) {
	for server, valid := range map[string]bool{
		"https://convoy-managed-control-plane:6443": true, "https://a": true, "a:6443": true, "https://[::1]:6443/k8s/clusters/c-1": true, "http://a": true,
		"https://CANARY@a": false, "https://u:CANARY@a": false, "u:CANARY@a:6443": false, "https:/u:CANARY@a": false, "https:\\\\u:CANARY@a": false, "//CANARY@a": false,
		"https://a\nCANARY": false, "https://a\x1b[31mCANARY": false, "https://a\x00CANARY": false, "https://a\u0085CANARY": false,
	} {
		cluster := kubeconfig()
		cluster.Spec.Agentless.Server = server
		errs := ValidateCluster(cluster)
		if valid {
			assert.Empty(t, errs, server)
			continue
		}
		assert.Equal(t, []string{"FieldValueInvalid spec.agentless.server"}, told(errs), "%q", server)
		assert.NotContains(t, fmt.Sprintf("%v %+v", errs.ToAggregate(), *errs[0]), "CANARY")
	}
}

// C1: the limits of a connection are whole or absent; a time-out is more than 0 and at most 1h.
func TestC1Timeout(t *testing.T) {
	const path = "spec.agentless.connectionParameters.timeout"
	for timeout, valid := range map[time.Duration]bool{1: true, 30 * time.Second: true, time.Hour: true, 0: false, -1: false, time.Hour + 1: false} {
		cluster := kubeconfig()
		cluster.Spec.Agentless.ConnectionParameters = &core.ClusterConnectionParametersSpec{Timeout: &metav1.Duration{Duration: timeout}}
		want := []string{"FieldValueInvalid " + path}
		if valid {
			want = nil
		}
		assert.Equal(t, want, checked(t, cluster), timeout)
	}
	cluster := kubeconfig()
	cluster.Spec.Agentless.ConnectionParameters = &core.ClusterConnectionParametersSpec{}
	assert.Equal(t, []string{"FieldValueRequired " + path}, checked(t, cluster))
}

// C1: metadata is bounded, and read by keys that are there.
func TestC1Metadata(t *testing.T) {
	entries := func(n int) map[string]string {
		out := map[string]string{}
		for i := range n {
			out[fmt.Sprint(i)] = "x"
		}
		return out
	}
	for name, test := range map[string]struct {
		metadata map[string]string
		want     []string
	}{
		"nothing":         {nil, nil},
		"some":            {map[string]string{"region": "eu-west-1", "empty": "", "a key": "a\nvalue"}, nil},
		"many":            {entries(256), nil},
		"too many":        {entries(257), []string{"FieldValueTooMany spec.metadata"}},
		"much":            {map[string]string{"key": strings.Repeat("x", 64<<10-3)}, nil},
		"too much":        {map[string]string{"key": strings.Repeat("x", 64<<10-2)}, []string{"FieldValueTooLong spec.metadata"}},
		"too much of key": {map[string]string{strings.Repeat("x", 64<<10+1): ""}, []string{"FieldValueTooLong spec.metadata"}},
		"an empty key":    {map[string]string{"": canary}, []string{"FieldValueInvalid spec.metadata"}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := kubeconfig()
			cluster.Spec.Metadata = test.metadata
			assert.Equal(t, test.want, checked(t, cluster))
			assert.NotContains(t, fmt.Sprint(ValidateCluster(cluster).ToAggregate()), canary)
		})
	}
}

// K2: what is wrong with a spec that is stored already locks no object.
func TestK2UnchangedSpec(t *testing.T) {
	cluster := kubeconfig()
	cluster.Spec.Agent = &core.ClusterAgentModeSpec{}
	changed := cluster.DeepCopy()
	changed.Finalizers = []string{"a.b/c"}
	assert.Empty(t, ValidateClusterUpdate(changed, cluster))
	changed.Spec.Metadata = map[string]string{"a": "b"}
	assert.Equal(t, []string{"FieldValueForbidden spec.agent"}, told(ValidateClusterUpdate(changed, cluster)))
}

// K2: names, and what identifies an object.
func TestK2Metadata(t *testing.T) {
	for name, valid := range map[string]bool{"a": true, "a.b": true, "A": false, "..": false, "a/b": false, "": false} {
		cluster, release := kubeconfig(), releaseOf()
		cluster.Name, release.Name = name, name
		assert.Equal(t, valid, len(ValidateCluster(cluster)) == 0, name)
		assert.Equal(t, valid, len(ValidateRelease(release)) == 0, name)
	}
	cluster, release := kubeconfig(), releaseOf()
	cluster.UID, release.UID = "other", "other"
	for _, errs := range []field.ErrorList{
		ValidateClusterUpdate(cluster, kubeconfig()), ValidateClusterStatusUpdate(cluster, kubeconfig()), ValidateReleaseUpdate(release, releaseOf()), ValidateReleaseStatusUpdate(release, releaseOf()),
	} {
		assert.Equal(t, []string{"FieldValueInvalid metadata.uid"}, told(errs))
	}
}

// K1: conditions have the form of Kubernetes' own, and an agent was registered at some time.
// A write of the status answers for the status.
func TestK1Status(t *testing.T) {
	cluster, release := kubeconfig(), releaseOf()
	cluster.Spec, release.Spec = core.ClusterSpec{}, core.ReleaseSpec{}
	cluster.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Reachable", LastTransitionTime: metav1.Now()}}
	cluster.Status.AgentStatus = &core.ClusterAgentStatus{AgentVersion: "1", RegisteredAt: metav1.Now()}
	release.Status.Conditions = cluster.Status.DeepCopy().Conditions
	require.Empty(t, ValidateClusterStatusUpdate(cluster, kubeconfig()))
	require.Empty(t, ValidateReleaseStatusUpdate(release, releaseOf()))
	cluster.Status.Conditions[0].Reason, release.Status.Conditions[0].Reason = "", ""
	cluster.Status.AgentStatus.RegisteredAt = metav1.Time{}
	assert.Equal(t, []string{"FieldValueRequired status.agentStatus.registeredAt", "FieldValueRequired status.conditions[0].reason"}, told(ValidateClusterStatusUpdate(cluster, kubeconfig())))
	assert.Equal(t, []string{"FieldValueRequired status.conditions[0].reason"}, told(ValidateReleaseStatusUpdate(release, releaseOf())))
}
