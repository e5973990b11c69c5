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

package bench

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilwait "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/test/install"
	"entente.dev/entente/test/kube"
)

// reach are two real control planes whose Ententes peer, and a module of west that reads
// ConfigMaps of east.
type reach struct {
	clusters map[string]*kube.Cluster
	ententes map[string]*install.Installed
	agent    string
}

const reachManifests = `
apiVersion: v1
kind: Namespace
metadata: {name: shared, labels: {peering.entente.dev/project: shared}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: agent, namespace: shared}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shared}
data: {some: thing}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: entente-token, namespace: shared}
rules: [{apiGroups: [""], resources: [serviceaccounts/token], resourceNames: [agent], verbs: [create]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: entente-token, namespace: shared}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: entente-token}
subjects: [{kind: ServiceAccount, namespace: entente-system, name: entente-apiserver}]
---
apiVersion: peering.entente.dev/v1alpha1
kind: PeeringCapability
metadata: {name: configs}
spec:
  version: 1.0.0
  consumers: [{namespace: shared, name: agent}]
  rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, patch]}]
`

// newReach takes minutes where nothing is built yet. Nothing limits how much is asked.
func newReach(b *testing.B) *reach {
	b.Helper()
	if os.Getenv("ENTENTE_KUBE_BIN") == "" {
		b.Skip("needs a control plane: make kube")
	}
	r := &reach{clusters: map[string]*kube.Cluster{}, ententes: map[string]*install.Installed{}}
	names := []string{"east", "west"}
	for i, cluster := range kube.StartAll(b, names) {
		entente := install.Prepare(b, cluster, "--workload-qps=1000000", "--workload-burst=1000000", "--workload-max-inflight=4096")
		entente.Run(b)
		r.clusters[names[i]], r.ententes[names[i]] = cluster, entente
	}
	for _, name := range names {
		r.ententes[name].WaitServed(b)
		r.clusters[name].MustKubectl(b, kube.Admin, reachManifests, "apply", "-f", "-")
	}
	peer := func(cluster, name, spec string) {
		r.clusters[cluster].MustKubectl(b, kube.Admin, "apiVersion: peering.entente.dev/v1alpha1\nkind: ClusterPeer\nmetadata: {name: "+name+"}\nspec: {capabilities: [configs], "+spec+"}\n", "create", "-f", "-")
	}
	peer("east", "west", "type: Invite")
	text := ""
	r.until(b, "east", "west", func(peer *peeringv1alpha1.ClusterPeer) bool {
		text = r.clusters["east"].MustKubectl(b, kube.Admin, "", "get", "cpeer", "west", "--subresource=sensitive", "-o", "jsonpath={.status.invite.connectionString}")
		return text != ""
	})
	peer("west", "east", "type: Join, join: {connectionString: "+text+"}")
	west := r.clusters["west"]
	r.agent = west.ServiceAccountKubeconfig(b, "shared", "agent")
	west.Grant(b, r.agent, rbacv1.PolicyRule{APIGroups: []string{"peering.entente.dev"}, Resources: []string{"clusterpeers/proxy"}, Verbs: []string{"get", "patch"}})
	r.until(b, "east", "west", func(peer *peeringv1alpha1.ClusterPeer) bool { return len(peer.Status.Grants) > 0 })
	r.until(b, "west", "east", func(peer *peeringv1alpha1.ClusterPeer) bool { return peer.Status.Access != nil })
	require.NoError(b, utilwait.PollUntilContextTimeout(b.Context(), time.Second, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := r.client(b, r.near(b)).CoreV1().ConfigMaps("shared").Get(ctx, "settings", metav1.GetOptions{})
		return err == nil, nil
	}))
	return r
}

func (r *reach) until(b *testing.B, cluster, name string, is func(*peeringv1alpha1.ClusterPeer) bool) *peeringv1alpha1.ClusterPeer {
	b.Helper()
	var peer *peeringv1alpha1.ClusterPeer
	require.NoError(b, utilwait.PollUntilContextTimeout(b.Context(), 200*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		var err error
		peer, err = r.ententes[cluster].Client(b, kube.Admin).PeeringV1alpha1().ClusterPeers().Get(ctx, name, metav1.GetOptions{})
		return err == nil && is(peer), nil
	}))
	return peer
}

// direct is how somebody reaches east who is of east.
func (r *reach) direct(b *testing.B) *rest.Config {
	b.Helper()
	const user = "direct"
	r.clusters["east"].AddUser(b, user)
	r.clusters["east"].GrantIn(b, "shared", user, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch"}})
	return r.clusters["east"].RESTConfig(b, user)
}

// gateway is how the agent reaches east if it dials the gateway itself.
func (r *reach) gateway(b *testing.B) *rest.Config {
	b.Helper()
	access := r.until(b, "west", "east", func(peer *peeringv1alpha1.ClusterPeer) bool { return peer.Status.Access != nil }).Status.Access
	token, err := r.clusters["west"].ServiceAccountToken(b.Context(), "shared", "agent", time.Hour, access.Audiences[0].Audience)
	require.NoError(b, err)
	var secret *corev1.Secret
	require.NoError(b, utilwait.PollUntilContextTimeout(b.Context(), time.Second, time.Minute, true, func(ctx context.Context) (bool, error) {
		secret, err = r.clusters["west"].Clientset(b, kube.Admin).CoreV1().Secrets("entente-access").Get(ctx, "east-access", metav1.GetOptions{})
		return err == nil, nil
	}))
	return &rest.Config{
		Host: access.Endpoint + "/peering/v1/api/configs", BearerToken: token, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: []byte(access.CABundle), CertData: secret.Data["tls.crt"], KeyData: secret.Data["tls.key"]},
	}
}

// near is how the agent reaches east by its own API server.
func (r *reach) near(b *testing.B) *rest.Config {
	b.Helper()
	config := rest.CopyConfig(r.clusters["west"].RESTConfig(b, r.agent))
	config.Host += "/apis/peering.entente.dev/v1alpha1/clusterpeers/east/proxy/configs"
	config.QPS = -1
	return config
}

func (r *reach) client(b *testing.B, config *rest.Config) kubernetes.Interface {
	b.Helper()
	client, err := kubernetes.NewForConfig(config)
	require.NoError(b, err)
	return client
}

// BenchmarkWorkloads is what it costs to reach another cluster beside reaching one's own: a
// get of one ConfigMap by kube-apiserver itself, through the gateway, and through the near
// end. All take turns, so that the ratios are of one run.
func BenchmarkWorkloads(b *testing.B) {
	r := newReach(b)
	ways := []struct {
		name   string
		client kubernetes.Interface
	}{{"direct", r.client(b, r.direct(b))}, {"gateway", r.client(b, r.gateway(b))}, {"near", r.client(b, r.near(b))}}
	get := func(client kubernetes.Interface) {
		_, err := client.CoreV1().ConfigMaps("shared").Get(b.Context(), "settings", metav1.GetOptions{})
		require.NoError(b, err)
	}
	for _, way := range ways {
		for range 50 {
			get(way.client)
		}
	}

	b.Run("latency", func(b *testing.B) {
		took := make([][]time.Duration, len(ways))
		for b.Loop() {
			for i, way := range ways {
				start := time.Now()
				get(way.client)
				took[i] = append(took[i], time.Since(start))
			}
		}
		direct := median(took[0])
		for i, way := range ways {
			b.ReportMetric(float64(median(took[i]).Microseconds()), way.name+"-µs")
			if i > 0 {
				b.ReportMetric(float64(median(took[i]))/float64(direct), way.name+"/direct")
			}
		}
	})

	b.Run("throughput", func(b *testing.B) {
		const clients, requests = 16, 100
		took := make([]time.Duration, len(ways))
		rounds := 0
		for b.Loop() {
			rounds++
			for i, way := range ways {
				start := time.Now()
				var all sync.WaitGroup
				for range clients {
					all.Go(func() {
						for range requests {
							get(way.client)
						}
					})
				}
				all.Wait()
				took[i] += time.Since(start)
			}
		}
		for i, way := range ways {
			b.ReportMetric(float64(rounds*clients*requests)/took[i].Seconds(), way.name+"-req/s")
		}
		b.ReportMetric(float64(took[1])/float64(took[0]), "gateway/direct")
		b.ReportMetric(float64(took[2])/float64(took[0]), "near/direct")
	})
}

// BenchmarkOpenWatches is 1,000 watches that a module has open at another cluster: what they
// cost in memory at both ends, and how long it takes until all have heard of a change.
func BenchmarkOpenWatches(b *testing.B) {
	r := newReach(b)
	const watches = 1000
	before := r.memory(b)
	heard := make(chan struct{}, 2*watches)
	config := r.near(b)
	// Each connection carries some hundred streams.
	client := r.client(b, config)
	for range watches {
		events, err := client.CoreV1().ConfigMaps("shared").Watch(b.Context(), metav1.ListOptions{FieldSelector: "metadata.name=settings"})
		require.NoError(b, err)
		b.Cleanup(events.Stop)
		go func() {
			for event := range events.ResultChan() {
				if event.Type == watch.Modified {
					heard <- struct{}{}
				}
			}
		}()
	}
	after := r.memory(b)
	rounds, total := 0, time.Duration(0)
	for b.Loop() {
		rounds++
		start := time.Now()
		r.clusters["east"].MustKubectl(b, kube.Admin, "", "label", "configmap", "-n", "shared", "settings", "--overwrite", "round="+strconv.Itoa(rounds))
		for range watches {
			select {
			case <-heard:
			case <-time.After(time.Minute):
				require.Fail(b, "a watch has ended, or is very late")
			}
		}
		total += time.Since(start)
	}
	b.ReportMetric(float64(total.Milliseconds())/float64(rounds), "ms-until-all-heard")
	for _, name := range []string{"east", "west"} {
		b.ReportMetric(float64(after[name]-before[name])/watches, name+"-KiB/watch")
	}
}

// memory is the resident set of each Entente, in KiB.
func (r *reach) memory(b *testing.B) map[string]int {
	b.Helper()
	out := map[string]int{}
	for name, entente := range r.ententes {
		content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", entente.Process().PID()))
		require.NoError(b, err)
		_, rest, found := strings.Cut(string(content), "VmRSS:")
		require.True(b, found)
		out[name], err = strconv.Atoi(strings.Fields(rest)[0])
		require.NoError(b, err)
	}
	return out
}
