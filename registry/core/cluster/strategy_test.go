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

package cluster

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/registry/rest"

	"entente.dev/entente/apis/core"
	"entente.dev/entente/apis/core/install"
	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/registry/strategy"
	"entente.dev/entente/registry/strategy/strategytest"
)

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, install.Install(scheme))
	metav1.AddToGroupVersion(scheme, corev1alpha1.SchemeGroupVersion)
	return scheme
}

func requestContext(subresource string) context.Context {
	name := strings.TrimSuffix(resource+"/"+subresource, "/")
	return strategytest.Request("default", corev1alpha1.SchemeGroupVersion.WithResource(name))
}

// agentless is a spec with a kubeconfig.
func agentless() core.ClusterSpec {
	return core.ClusterSpec{
		ConnectionMode: core.ConnectionModeAgentless,
		Agentless: &core.ClusterAgentlessModeSpec{
			Server: "https://a:6443",
			Auth: core.ClusterAuthSpec{
				Type: core.AuthTypeKubeconfig, Kubeconfig: &core.KubeconfigAuthSpec{SecretRef: core.SecretKeySelector{Name: "a", Key: "kubeconfig"}},
			},
		},
		Metadata: map[string]string{"region": "eu-west-1"},
	}
}

// stored is a Cluster with everything in it.
func stored() *core.Cluster {
	now := metav1.Unix(1700000000, 0)
	return &core.Cluster{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "a.cluster", UID: "uid", ResourceVersion: "5", Generation: 3, CreationTimestamp: now,
			Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}, Finalizers: []string{corev1alpha1.FinalizerPruneReleases},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "y"}},
		},
		Spec: agentless(),
		Status: core.ClusterStatus{
			Conditions:            []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Reachable", LastTransitionTime: now, ObservedGeneration: 2}},
			DiscoveredAPIVersions: []string{"apps/v1", "v1"}, DiscoveredVersion: "v1.37.2", LastSeen: &now, ObservedGeneration: 2, Reachable: yes(), ReleaseCount: 4,
		},
	}
}

func yes() *bool {
	b := true
	return &b
}

func changed(base *core.Cluster, change func(*core.Cluster)) *core.Cluster {
	out := base.DeepCopy()
	change(out)
	return out
}

// K2, S1: what can be written through which endpoint, and when the generation moves. A status
// that nobody has written yet says that the cluster is not reachable.
func TestK2S1Endpoints(t *testing.T) {
	s := newStrategy(newScheme(t))
	strategytest.Kind[core.Cluster, *core.Cluster]{
		Main: s, Status: statusStrategy{s}, Stored: stored,
		Specs: map[string]func(*core.Cluster){
			"the mode":          func(c *core.Cluster) { c.Spec = core.ClusterSpec{ConnectionMode: core.ConnectionModeInCluster} },
			"the server":        func(c *core.Cluster) { c.Spec.Agentless.Server = "https://b" },
			"a key":             func(c *core.Cluster) { c.Spec.Agentless.Auth.Kubeconfig.SecretRef.Key = "b" },
			"metadata":          func(c *core.Cluster) { c.Spec.Metadata["region"] = "other" },
			"a deletion policy": func(c *core.Cluster) { c.Spec.DeletionPolicy = &core.ClusterDeletionPolicy{PruneReleases: yes()} },
		},
		CopyStatus: func(to, from *core.Cluster) {
			if to.Status = from.Status; to.Status.Reachable == nil {
				to.Status.Reachable = new(bool)
			}
		},
		Other: func() *core.Cluster {
			return &core.Cluster{Status: core.ClusterStatus{ObservedGeneration: 3, Reachable: yes()}}
		},
	}.Test(t)
}

// C1: every Cluster has the finalizer from its creation on, once, beside others; whoever takes
// it away later does so on purpose.
func TestC1FinalizerOnCreate(t *testing.T) {
	const ours = "cluster.core.convoy.kumodo.io/prune-releases"
	s := newStrategy(newScheme(t))
	for name, test := range map[string]struct{ given, want []string }{
		"none":          {nil, []string{ours}},
		"others":        {[]string{"a.b/c"}, []string{"a.b/c", ours}},
		"given by hand": {[]string{ours, "a.b/c"}, []string{ours, "a.b/c"}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := changed(stored(), func(c *core.Cluster) { c.Finalizers = test.given })
			s.PrepareForCreate(t.Context(), cluster)
			assert.Equal(t, test.want, cluster.Finalizers)
			assert.Empty(t, s.Validate(t.Context(), cluster))
		})
	}
	cluster := changed(stored(), func(c *core.Cluster) { c.Finalizers = nil })
	s.PrepareForUpdate(t.Context(), cluster, stored())
	assert.Empty(t, cluster.Finalizers, "it is not forced upon who takes it away")
}

// example is the manifest of the reference, letter by letter.
const example = `apiVersion: core.convoy.kumodo.io/v1alpha1
kind: Cluster
metadata:
  name: convoy-managed
  namespace: default
spec:
  connectionMode: agentless
  agentless:
    server: https://convoy-managed-control-plane:6443
    auth:
      type: kubeconfig
      kubeconfig:
        secretRef:
          name: convoy-managed-kubeconfig
          key: kubeconfig
  metadata:
    type: kind
    role: managed
`

// manifest reads a Cluster as the server does, strictly.
func manifest(t *testing.T, text string) *core.Cluster {
	t.Helper()
	codecs := serializer.NewCodecFactory(newScheme(t), serializer.EnableStrict)
	obj, err := runtime.Decode(codecs.UniversalDecoder(core.SchemeGroupVersion), []byte(text))
	require.NoError(t, err)
	return obj.(*core.Cluster)
}

func create(t *testing.T, cluster *core.Cluster) []string {
	t.Helper()
	rest.FillObjectMetaSystemFields(cluster)
	return strategytest.Faults(t, rest.BeforeCreate(newStrategy(newScheme(t)), requestContext(""), cluster))
}

// K1: the example of the reference applies unchanged, and so do the other modes.
func TestK1Example(t *testing.T) {
	cluster := manifest(t, example)
	assert.Empty(t, create(t, cluster))
	assert.Equal(t, core.ClusterSpec{
		ConnectionMode: core.ConnectionModeAgentless,
		Agentless: &core.ClusterAgentlessModeSpec{
			Server: "https://convoy-managed-control-plane:6443",
			Auth: core.ClusterAuthSpec{
				Type: core.AuthTypeKubeconfig, Kubeconfig: &core.KubeconfigAuthSpec{SecretRef: core.SecretKeySelector{Name: "convoy-managed-kubeconfig", Key: "kubeconfig"}},
			},
		},
		Metadata: map[string]string{"type": "kind", "role": "managed"},
	}, cluster.Spec)
	head, _, _ := strings.Cut(example, "spec:")
	assert.Empty(t, create(t, manifest(t, head+"spec: {connectionMode: inCluster}")))
	assert.Empty(t, create(t, manifest(t, head+"spec: {connectionMode: agent, agent: {}}")))
	assert.Empty(t, create(t, manifest(t, strings.Replace(example, "  metadata:\n    type", `  capabilities: {serverSideApply: false, apiVersions: [v1]}
  deletionPolicy: {pruneReleases: false}
  metadata:
    type`, 1))), "accepted, not used")
}

// K1, C1: every fault is told at once, by its path, whichever validation finds it.
func TestK1EveryFaultOnCreate(t *testing.T) {
	assert.Equal(t, []string{"FieldValueRequired spec.connectionMode"}, create(t, &core.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}))
	assert.Equal(t, []string{
		"FieldValueForbidden spec.agent",
		"FieldValueInvalid metadata.labels",
		"FieldValueInvalid spec.agentless.auth.kubeconfig.secretRef.key",
		"FieldValueInvalid spec.agentless.auth.kubeconfig.secretRef.name",
		"FieldValueInvalid spec.agentless.server",
	}, create(t, changed(stored(), func(c *core.Cluster) {
		c.ResourceVersion, c.Labels, c.Spec.Agent = "", map[string]string{"-": ""}, &core.ClusterAgentModeSpec{}
		c.Spec.Agentless.Server, c.Spec.Agentless.Auth.Kubeconfig.SecretRef = "https://u:p@a", core.SecretKeySelector{Name: "..", Key: ".."}
	})))
}

// K1: updates on both endpoints, as the store makes them: prepared, then validated.
func TestUpdates(t *testing.T) {
	main := newStrategy(newScheme(t))
	strategies := map[string]rest.RESTUpdateStrategy{"": main, "status": statusStrategy{main}}
	for name, test := range map[string]struct {
		endpoint string
		change   func(*core.Cluster)
		want     []string
	}{
		"nothing, main":   {"", func(*core.Cluster) {}, nil},
		"nothing, status": {"status", func(*core.Cluster) {}, nil},
		"no mode":         {"", func(c *core.Cluster) { c.Spec.ConnectionMode = "" }, []string{"FieldValueRequired spec.connectionMode"}},
		"another mode":    {"", func(c *core.Cluster) { c.Spec.ConnectionMode = "inCluster" }, []string{"FieldValueForbidden spec.agentless"}},
		"no reachable":    {"status", func(c *core.Cluster) { c.Status.Reachable = nil }, []string{"FieldValueRequired status.reachable"}},
		"no reason":       {"status", func(c *core.Cluster) { c.Status.Conditions[0].Reason = "" }, []string{"FieldValueRequired status.conditions[0].reason"}},
		"a fault of the spec, written to the status": {"status", func(c *core.Cluster) { c.Spec.ConnectionMode = "" }, nil},
		"a fault of the status, written to the spec": {"", func(c *core.Cluster) { c.Status.Reachable = nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			err := rest.BeforeUpdate(strategies[test.endpoint], requestContext(test.endpoint), changed(stored(), test.change), stored())
			assert.Equal(t, test.want, strategytest.Faults(t, err))
		})
	}
}

// S1: who manages which fields is bounded, whichever way it is written.
func TestS1ManagedFields(t *testing.T) {
	s := newStrategy(newScheme(t))
	much := metav1.NewFieldsV1(`{"f:` + strings.Repeat("x", strategy.MaxManagedFieldsBytes) + `":{}}`)
	for name, prepare := range map[string]func(obj, old *core.Cluster){
		"create": func(obj, _ *core.Cluster) { s.PrepareForCreate(t.Context(), obj) },
		"update": func(obj, old *core.Cluster) { s.PrepareForUpdate(t.Context(), obj, old) },
		"status": func(obj, old *core.Cluster) { statusStrategy{s}.PrepareForUpdate(t.Context(), obj, old) },
	} {
		now, before := metav1.Unix(1700000001, 0), metav1.Unix(1700000000, 0)
		last := metav1.ManagedFieldsEntry{Manager: "last", Time: &now}
		obj := changed(stored(), func(c *core.Cluster) {
			c.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "first", Time: &before, FieldsV1: much}, last}
		})
		prepare(obj, stored())
		assert.Equal(t, []metav1.ManagedFieldsEntry{last}, obj.ManagedFields, name)
	}
}

// The rest of what a strategy says.
func TestStrategy(t *testing.T) {
	s := newStrategy(newScheme(t))
	assert.True(t, s.NamespaceScoped())
	assert.False(t, s.AllowCreateOnUpdate(t.Context()), "a PUT does not create")
}
