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

package install

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
)

var installed = sync.OnceValues(func() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, Install(scheme)
})

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme, err := installed()
	require.NoError(t, err)
	return scheme
}

// said are the faults that the generated validation finds, as type and path.
func said(t *testing.T, obj, old runtime.Object) (out []string) {
	t.Helper()
	errs := newScheme(t).Validate(t.Context(), nil, obj)
	if old != nil {
		errs = newScheme(t).ValidateUpdate(t.Context(), nil, obj, old)
	}
	for _, err := range errs {
		out = append(out, string(err.Type)+" "+err.Field)
	}
	return out
}

// K1: what the generated validation says of a Cluster. What spans fields is not its business.
func TestDeclaredCluster(t *testing.T) {
	type (
		spec      = corev1alpha1.ClusterSpec
		agentless = corev1alpha1.ClusterAgentlessModeSpec
		auth      = corev1alpha1.ClusterAuthSpec
	)
	with := func(auth auth) spec {
		return spec{ConnectionMode: "agentless", Agentless: &agentless{Server: "https://a", Auth: auth}}
	}
	secret := corev1alpha1.SecretKeySelector{Name: "a.b", Key: "c"}
	at := "spec.agentless.auth."
	for name, test := range map[string]struct {
		spec spec
		want []string // type of error and path
	}{
		"nothing":             {spec{}, []string{"FieldValueRequired spec.connectionMode"}},
		"a mode":              {spec{ConnectionMode: "inCluster"}, nil},
		"a mode in capitals":  {spec{ConnectionMode: "InCluster"}, []string{"FieldValueNotSupported spec.connectionMode"}},
		"an empty block":      {spec{ConnectionMode: "agentless", Agentless: &agentless{}}, []string{"FieldValueRequired spec.agentless.server", "FieldValueRequired spec.agentless.auth.type"}},
		"no block":            {with(auth{Type: "kubeconfig"}), nil},
		"a type that is none": {with(auth{Type: "password"}), []string{"FieldValueNotSupported " + at + "type"}},
		"a kubeconfig":        {with(auth{Type: "kubeconfig", Kubeconfig: &corev1alpha1.KubeconfigAuthSpec{SecretRef: secret}}), nil},
		"no Secret": {with(auth{Type: "kubeconfig", Kubeconfig: &corev1alpha1.KubeconfigAuthSpec{}}), []string{
			"FieldValueRequired " + at + "kubeconfig.secretRef.name", "FieldValueRequired " + at + "kubeconfig.secretRef.key",
		}},
		"a path for a Secret":        {with(auth{Type: "token", Token: &corev1alpha1.TokenAuthSpec{TokenRef: corev1alpha1.SecretKeySelector{Name: "../x", Key: "c"}}}), []string{"FieldValueInvalid " + at + "token.tokenRef.name"}},
		"a path for a ConfigMap":     {spec{ConnectionMode: "agentless", Agentless: &agentless{Server: "a", Auth: auth{Type: "token"}, CAPublicCertRef: &corev1alpha1.ConfigMapKeySelector{Name: "..", Key: "c"}}}, []string{"FieldValueInvalid spec.agentless.caPublicCertRef.name"}},
		"a program without a Secret": {with(auth{Type: "execPlugin", ExecPlugin: &corev1alpha1.ExecPluginAuthSpec{Command: "a"}}), nil},
		"a program": {with(auth{Type: "execPlugin", ExecPlugin: &corev1alpha1.ExecPluginAuthSpec{CredentialsRef: corev1alpha1.SecretReference{Name: "/"}, Env: []corev1alpha1.EnvVar{{Name: "a"}, {}, {Name: "a"}}}}), []string{
			"FieldValueRequired " + at + "execPlugin.command", "FieldValueInvalid " + at + "execPlugin.credentialsRef.name",
			"FieldValueRequired " + at + "execPlugin.env[1].name", "FieldValueDuplicate " + at + "execPlugin.env[2]",
		}},
		"an OpenID Connect client": {with(auth{Type: "oidc", OIDC: &corev1alpha1.OIDAuthSpec{TLS: &corev1alpha1.TLSSpec{}}}), []string{
			"FieldValueRequired " + at + "oidc.clientAuth.type", "FieldValueRequired " + at + "oidc.clientID", "FieldValueRequired " + at + "oidc.issuerURL",
			"FieldValueRequired " + at + "oidc.tls.caPublicCertRef.name", "FieldValueRequired " + at + "oidc.tls.caPublicCertRef.key", "FieldValueRequired " + at + "oidc.tls.insecureSkipVerify",
		}},
		"limits": {spec{ConnectionMode: "agentless", Agentless: &agentless{Server: "a", Auth: auth{Type: "token"}, ConnectionParameters: &corev1alpha1.ClusterConnectionParametersSpec{QPS: new(int32)}}}, []string{"FieldValueRequired spec.agentless.connectionParameters.burst"}},
		"capabilities, a deletion policy": {spec{ConnectionMode: "agent", Capabilities: &corev1alpha1.ClusterCapabilitiesSpec{}, DeletionPolicy: &corev1alpha1.ClusterDeletionPolicy{}}, []string{
			"FieldValueRequired spec.capabilities.serverSideApply", "FieldValueRequired spec.deletionPolicy.pruneReleases",
		}},
		"false is an answer": {spec{ConnectionMode: "agent", Capabilities: &corev1alpha1.ClusterCapabilitiesSpec{ServerSideApply: new(bool)}, DeletionPolicy: &corev1alpha1.ClusterDeletionPolicy{PruneReleases: new(bool)}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			obj := &corev1alpha1.Cluster{Spec: test.spec, Status: corev1alpha1.ClusterStatus{Reachable: new(bool)}}
			assert.ElementsMatch(t, test.want, said(t, obj, nil))
		})
	}
	assert.Equal(t, []string{"FieldValueRequired status.reachable"}, said(t, &corev1alpha1.Cluster{Spec: spec{ConnectionMode: "agent"}}, nil))
}

// C4: what the generated validation says of a Release, and that its Cluster cannot be changed.
func TestDeclaredRelease(t *testing.T) {
	release := func(cluster string, mutations ...corev1alpha1.ReleaseMutation) *corev1alpha1.Release {
		return &corev1alpha1.Release{Spec: corev1alpha1.ReleaseSpec{ClusterRef: corev1alpha1.ClusterReference{Name: cluster}, Mutations: mutations, DeletionPolicy: "Orphan"}}
	}
	assert.Empty(t, said(t, release("a.b"), nil))
	assert.Empty(t, said(t, release("a"), release("a")))
	assert.Equal(t, []string{"FieldValueInvalid spec.clusterRef.name"}, said(t, release("b"), release("a")))
	assert.Equal(t, []string{"FieldValueRequired spec.clusterRef.name"}, said(t, release(""), nil))
	assert.Equal(t, []string{"FieldValueInvalid spec.clusterRef.name"}, said(t, release("A/b"), nil))
	assert.Equal(t, []string{
		"FieldValueRequired spec.mutations[0].target.kind", "FieldValueRequired spec.mutations[0].path", "FieldValueRequired spec.mutations[0].expression",
	}, said(t, release("a", corev1alpha1.ReleaseMutation{}), nil))
	many := make([]corev1alpha1.ReleaseMutation, 257)
	for i := range many {
		many[i] = corev1alpha1.ReleaseMutation{Target: corev1alpha1.ReleaseMutationTarget{Kind: "A"}, Path: "/a", Expression: "1"}
	}
	assert.Empty(t, said(t, release("a", many[:256]...), nil))
	assert.Equal(t, []string{"FieldValueTooMany spec.mutations"}, said(t, release("a", many...), nil))
	other := release("a")
	other.Spec.DeletionPolicy = "Keep"
	assert.Equal(t, []string{"FieldValueNotSupported spec.deletionPolicy"}, said(t, other, nil))
}

// C4: what happens to the objects of a deleted Release has a default, in a list too; what is
// said is kept.
func TestK1Defaults(t *testing.T) {
	orphan := corev1alpha1.Release{Spec: corev1alpha1.ReleaseSpec{DeletionPolicy: corev1alpha1.ReleaseDeletionPolicyOrphan}}
	list := &corev1alpha1.ReleaseList{Items: []corev1alpha1.Release{{}, orphan}}
	newScheme(t).Default(list)
	assert.Equal(t, corev1alpha1.ReleaseDeletionPolicyDelete, list.Items[0].Spec.DeletionPolicy)
	assert.Equal(t, corev1alpha1.ReleaseDeletionPolicyOrphan, list.Items[1].Spec.DeletionPolicy)
	for _, one := range []*corev1alpha1.Release{{}, &orphan} {
		newScheme(t).Default(one)
	}
	assert.Equal(t, corev1alpha1.ReleaseDeletionPolicyOrphan, orphan.Spec.DeletionPolicy)
}
