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

package targets_test

import (
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/controllers/target"
	"entente.dev/entente/controllers/targets"
	"entente.dev/entente/controllers/targets/targetstest"
	"entente.dev/entente/peering/client"
)

// patience is how long something may take that should be so at once.
const patience = 30 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newPool makes a pool that may dial this machine, until the test ends.
func newPool(t *testing.T, credentials *targetstest.Credentials, change ...func(*targets.Config)) *targets.Pool {
	t.Helper()
	config := targets.Config{Credentials: credentials, Policy: client.Policy{AllowLocal: true}, OwnNamespaces: []string{"entente"}}
	for _, c := range change {
		c(&config)
	}
	pool, err := targets.NewPool(config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

func withTokenAndCert(config *targets.Config) { config.TokenAndCert = true }

// agentless is a Cluster in the namespace team, by what it authenticates with.
func agentless(name, server string, auth corev1alpha1.ClusterAuthSpec) *corev1alpha1.Cluster {
	return &corev1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID("uid-" + name), Generation: 1},
		Spec: corev1alpha1.ClusterSpec{
			ConnectionMode: corev1alpha1.ConnectionModeAgentless,
			Agentless: &corev1alpha1.ClusterAgentlessModeSpec{
				Server: server, Auth: auth, CAPublicCertRef: &corev1alpha1.ConfigMapKeySelector{Name: "ca", Key: "ca.crt"},
			},
		},
	}
}

func selector(key string) corev1alpha1.SecretKeySelector {
	return corev1alpha1.SecretKeySelector{Name: "east", Key: key}
}

func byKubeconfig() corev1alpha1.ClusterAuthSpec {
	return corev1alpha1.ClusterAuthSpec{Type: corev1alpha1.AuthTypeKubeconfig, Kubeconfig: &corev1alpha1.KubeconfigAuthSpec{SecretRef: selector("kubeconfig")}}
}

func byToken() corev1alpha1.ClusterAuthSpec {
	return corev1alpha1.ClusterAuthSpec{Type: corev1alpha1.AuthTypeToken, Token: &corev1alpha1.TokenAuthSpec{TokenRef: selector("token")}}
}

func byCert() corev1alpha1.ClusterAuthSpec {
	return corev1alpha1.ClusterAuthSpec{Type: corev1alpha1.AuthTypeClientCert, ClientCert: &corev1alpha1.ClientCertAuthSpec{CertRef: selector("cert"), KeyRef: selector("key")}}
}

// east is a target cluster with all that a Cluster could name to connect to it.
func east(t *testing.T) (*targetstest.Server, *targetstest.Credentials) {
	t.Helper()
	server, credentials := targetstest.Serve(t, "1"), &targetstest.Credentials{}
	credentials.Put("team", "east", "kubeconfig", server.Kubeconfig(targetstest.Token))
	credentials.Put("team", "east", "token", []byte(targetstest.Token))
	cert, key := targetstest.Certificate(t, "me")
	credentials.Put("team", "east", "cert", cert)
	credentials.Put("team", "east", "key", key)
	credentials.PutMap("team", "ca", "ca.crt", server.CA)
	return server, credentials
}

// connect connects to a Cluster and probes it, which has to go well.
func connect(t *testing.T, pool *targets.Pool, cluster *corev1alpha1.Cluster) (*target.Client, *target.Found) {
	t.Helper()
	made, err := pool.Connect(t.Context(), cluster)
	require.NoError(t, err)
	found, err := made.Probe(t.Context())
	require.NoError(t, err)
	return made, &found
}

// refused connects to a Cluster, which has to fail, and returns why.
func refused(t *testing.T, pool *targets.Pool, cluster *corev1alpha1.Cluster) *targets.Problem {
	t.Helper()
	made, err := pool.Connect(t.Context(), cluster)
	require.Nil(t, made)
	var problem *targets.Problem
	require.ErrorAs(t, err, &problem)
	requireSilent(t, problem.Message, problem.Error(), fmt.Sprintf("%v %+v %#v", problem, *problem, problem))
	return problem
}

// requireSilent requires that texts hold nothing that nobody else may see.
func requireSilent(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		for _, secret := range []string{targetstest.Canary, base64.StdEncoding.EncodeToString([]byte(targetstest.Canary)), "PRIVATE", "127.0.0.1"} {
			require.NotContains(t, text, secret)
		}
	}
}

func requireClosed(t *testing.T, closed *target.Client) {
	t.Helper()
	_, err := closed.Probe(t.Context())
	var failure *target.Failure
	require.ErrorAs(t, err, &failure)
	require.Equal(t, target.ReasonClosed, failure.Reason)
}

func requireConnections(t *testing.T, server *targetstest.Server, count int) {
	t.Helper()
	require.Eventually(t, func() bool { return server.Open() == count }, patience, time.Millisecond, "%d connections are open", server.Open())
}

func seconds(count int) *metav1.Duration {
	return &metav1.Duration{Duration: time.Duration(count) * time.Second}
}
