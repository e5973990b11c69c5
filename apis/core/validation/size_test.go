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
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"entente.dev/entente/apis/core"
	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
)

// held is how large an object may be in etcd, with room for its key, its encryption and what is
// written when it is deleted.
const held = 3<<19 - 16<<10

// managed is strategy.MaxManagedFieldsBytes, which this package does not import.
const managed = 128 << 10

// texts is a list of texts of so many letters together.
func texts(letters int) []string {
	return []string{"a", strings.Repeat("x", letters-1)}
}

// C4: the objects and the mutations of a Release are bounded together, as they are stored: some
// characters take six bytes there.
func TestC4Size(t *testing.T) {
	of := func(objects, mutations int, letter string) *core.Release {
		release := releaseOf()
		if objects > 0 {
			release = releaseOf(object("", `,"data":"`+strings.Repeat("x", objects-len(object("", `,"data":""`)))+`"`))
		}
		if mutations > 0 {
			release.Spec.Mutations = []core.ReleaseMutation{{Path: "/a"}}
			rest := mutations - sizeOf(release.Spec.Mutations)
			release.Spec.Mutations[0].Expression = strings.Repeat(letter, rest/len(encoded(letter)))
		}
		return release
	}
	const most = 768 << 10
	require.EqualValues(t, most, MaxReleaseBytes)
	for name, test := range map[string]struct {
		release *core.Release
		valid   bool
	}{
		"objects":                 {of(most, 0, ""), true},
		"too much of objects":     {of(most+1, 0, ""), false},
		"mutations":               {of(0, most, "x"), true},
		"too much of mutations":   {of(0, most+1, "x"), false},
		"both":                    {of(most/2, most/2, "x"), true},
		"too much of both":        {of(most/2, most/2+1, "x"), false},
		"letters that take six":   {of(most/2, most/2, "<"), true},
		"too many of such":        {of(most/2, most/2+6, "<"), false},
		"controls, which do, too": {of(0, most+6, "\x00"), false},
	} {
		t.Run(name, func(t *testing.T) {
			want := []string(nil)
			if !test.valid {
				want = []string{"FieldValueTooLong spec"}
			}
			errs := ValidateRelease(test.release)
			assert.Equal(t, want, told(errs))
			assert.Equal(t, want, told(ValidateReleaseUpdate(test.release, releaseOf())), "an update finds the same")
			assert.Empty(t, ValidateReleaseUpdate(test.release, test.release.DeepCopy()), "K2: it is not checked again")
			if !test.valid {
				assert.Less(t, len(errs.ToAggregate().Error()), 200)
			}
		})
	}
}

// encoded is a letter as it is in a text of JSON.
func encoded(letter string) string {
	text, err := json.Marshal(letter)
	if err != nil {
		panic(err)
	}
	return strings.Trim(string(text), `"`)
}

// C1: the spec of a Cluster is bounded as a whole, wherever the lists are that make it long.
func TestC1Size(t *testing.T) {
	require.EqualValues(t, 256<<10, MaxClusterSpecBytes)
	for name, fill := range map[string]func(*core.Cluster, string){
		"arguments": func(c *core.Cluster, text string) {
			c.Spec.Agentless.Auth = core.ClusterAuthSpec{Type: core.AuthTypeExecPlugin, ExecPlugin: &core.ExecPluginAuthSpec{Args: []string{text}}}
		},
		"an environment": func(c *core.Cluster, text string) {
			c.Spec.Agentless.Auth = core.ClusterAuthSpec{Type: core.AuthTypeExecPlugin, ExecPlugin: &core.ExecPluginAuthSpec{Env: []core.EnvVar{{Name: "a", Value: text}}}}
		},
		"scopes": func(c *core.Cluster, text string) {
			auth := oidc(core.OIDCClientAuthSpec{Type: core.OIDCClientAuthClientSecret, ClientSecret: &core.OIDCAuthClientSecretSpec{ClientSecretRef: secret("a")}}).Spec.Agentless.Auth
			auth.OIDC.Scopes = []string{text}
			c.Spec.Agentless.Auth = auth
		},
		"capabilities": func(c *core.Cluster, text string) {
			c.Spec.Capabilities = &core.ClusterCapabilitiesSpec{APIVersions: []string{text}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := kubeconfig()
			fill(cluster, "")
			room := MaxClusterSpecBytes - sizeOf(cluster.Spec)
			fill(cluster, strings.Repeat("x", room))
			assert.Empty(t, checked(t, cluster))
			fill(cluster, strings.Repeat("x", room+1))
			assert.Equal(t, []string{"FieldValueTooLong spec"}, checked(t, cluster))
			assert.Empty(t, ValidateClusterUpdate(cluster, cluster.DeepCopy()), "K2: it is not checked again")
			fill(cluster, strings.Repeat("<", room/6+1))
			assert.Equal(t, []string{"FieldValueTooLong spec"}, checked(t, cluster), "as it is stored")
		})
	}
	cluster := kubeconfig()
	cluster.Spec.Metadata = map[string]string{"a": strings.Repeat("\x00", MaxMetadataBytes-1)}
	assert.Equal(t, []string{"FieldValueTooLong spec"}, checked(t, cluster), "metadata as it is stored")
}

// S1, K2: metadata is bounded, whatever it is that makes it long. What is too long already can
// shrink, and lose a finalizer; it cannot grow, nor stay under another guise.
func TestK2MetadataSize(t *testing.T) {
	many := func(n int, format string) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf(format, i))
		}
		return out
	}
	long := strings.Repeat("x.", 100) + "x"
	for name, fill := range map[string]func(*metav1.ObjectMeta){
		"finalizers": func(m *metav1.ObjectMeta) { m.Finalizers = many(1500, long+".com/finalizer-%06d") },
		"labels": func(m *metav1.ObjectMeta) {
			m.Labels = map[string]string{}
			for _, key := range many(1500, long+".com/label-%06d") {
				m.Labels[key] = "a-value"
			}
		},
		"annotations in letters that take six bytes": func(m *metav1.ObjectMeta) {
			m.Annotations = map[string]string{"a": strings.Repeat("<", 250<<10)}
		},
		"owners": func(m *metav1.ObjectMeta) {
			for _, name := range many(1500, long+"-%06d") {
				m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: "u"})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, release := kubeconfig(), releaseOf()
			fill(&cluster.ObjectMeta)
			fill(&release.ObjectMeta)
			want := []string{"FieldValueTooLong metadata"}
			for _, errs := range []field.ErrorList{
				ValidateCluster(cluster), ValidateClusterUpdate(cluster, kubeconfig()), ValidateRelease(release), ValidateReleaseUpdate(release, releaseOf()),
			} {
				assert.Equal(t, want, told(errs))
				assert.Less(t, len(errs.ToAggregate().Error()), 200)
			}

			cluster.Finalizers, release.Finalizers = append(cluster.Finalizers, "a.b/c"), append(release.Finalizers, "a.b/c")
			freed, released := cluster.DeepCopy(), release.DeepCopy()
			freed.Finalizers, released.Finalizers = freed.Finalizers[:len(freed.Finalizers)-1], released.Finalizers[:len(released.Finalizers)-1]
			freed.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "entente", Operation: metav1.ManagedFieldsOperationUpdate}}
			assert.Empty(t, ValidateClusterUpdate(freed, cluster), "a finalizer less")
			assert.Empty(t, ValidateReleaseUpdate(released, release), "a finalizer less")
			assert.Equal(t, want, told(ValidateClusterUpdate(cluster, freed)), "a finalizer more")
			assert.Equal(t, want, told(ValidateReleaseUpdate(release, released)), "a finalizer more")
		})
	}
	cluster := kubeconfig()
	cluster.Labels = map[string]string{"a": "b"}
	cluster.Annotations = map[string]string{"a": strings.Repeat("x", 255<<10)}
	assert.Empty(t, ValidateCluster(cluster), "as much as the library allows")
}

// S1: who may write a status alone fills no object with it.
func TestS1StatusSize(t *testing.T) {
	conditions := func(n, message int) (out []metav1.Condition) {
		for i := range n {
			out = append(out, metav1.Condition{Type: fmt.Sprint("T", i), Status: "True", Reason: "R", LastTransitionTime: metav1.Unix(1700000000, 0), Message: strings.Repeat("m", message)})
		}
		return out
	}
	exactly := conditions(3, 20000)
	exactly[2].Message += strings.Repeat("m", MaxConditionsBytes-sizeOf(exactly))
	above := conditions(3, 0)
	for i := range above {
		above[i].Message = exactly[i].Message
	}
	above[0].Message += "m"
	object := func(change func(*core.ReleaseObject)) []core.ReleaseObject {
		o := core.ReleaseObject{Group: strings.Repeat("g", 253), Version: strings.Repeat("v", 63), Kind: strings.Repeat("K", 63), Namespace: strings.Repeat("n", 63), Name: strings.Repeat("a", 253)}
		change(&o)
		return []core.ReleaseObject{o}
	}
	long := func(n int) (out []core.ReleaseObject) {
		for range n {
			out = append(out, object(func(*core.ReleaseObject) {})...)
		}
		return out
	}
	var short []core.ReleaseObject
	for i := range 1025 {
		short = append(short, core.ReleaseObject{Version: "v1", Kind: "ConfigMap", Namespace: "default", Name: fmt.Sprint("n", i)})
	}
	both := map[string]struct {
		conditions []metav1.Condition
		want       []string
	}{
		"nothing":         {nil, nil},
		"many conditions": {conditions(16, 0), nil},
		"too many":        {conditions(17, 0), []string{"FieldValueTooMany status.conditions"}},
		"much":            {exactly, nil},
		"too much":        {above, []string{"FieldValueTooLong status.conditions"}},
		"one too long":    {conditions(1, 32<<10+1), []string{"FieldValueTooLong status.conditions[0].message"}},
	}
	for name, test := range both {
		cluster, release := kubeconfig(), releaseOf()
		cluster.Status.Conditions, release.Status.Conditions = test.conditions, test.conditions
		assert.Equal(t, test.want, told(ValidateClusterStatusUpdate(cluster, kubeconfig())), name)
		assert.Equal(t, test.want, told(ValidateReleaseStatusUpdate(release, releaseOf())), name)
	}
	for name, test := range map[string]struct {
		status core.ReleaseStatus
		want   []string
	}{
		"objects":                 {core.ReleaseStatus{Objects: short[:1024]}, nil},
		"too many objects":        {core.ReleaseStatus{Objects: short}, []string{"FieldValueTooMany status.objects"}},
		"256 with the longest":    {core.ReleaseStatus{Objects: long(256)}, nil},
		"too much of objects":     {core.ReleaseStatus{Objects: long(400)}, []string{"FieldValueTooLong status.objects"}},
		"a group":                 {core.ReleaseStatus{Objects: object(func(o *core.ReleaseObject) { o.Group += "g" })}, []string{"FieldValueTooLong status.objects[0].group"}},
		"a version":               {core.ReleaseStatus{Objects: object(func(o *core.ReleaseObject) { o.Version += "v" })}, []string{"FieldValueTooLong status.objects[0].version"}},
		"a kind":                  {core.ReleaseStatus{Objects: object(func(o *core.ReleaseObject) { o.Kind += "K" })}, []string{"FieldValueTooLong status.objects[0].kind"}},
		"a namespace":             {core.ReleaseStatus{Objects: object(func(o *core.ReleaseObject) { o.Namespace += "n" })}, []string{"FieldValueTooLong status.objects[0].namespace"}},
		"a name":                  {core.ReleaseStatus{Objects: object(func(o *core.ReleaseObject) { o.Name += "a" })}, []string{"FieldValueTooLong status.objects[0].name"}},
		"a name of other letters": {core.ReleaseStatus{Objects: object(func(o *core.ReleaseObject) { o.Name = strings.Repeat("ä", 253) })}, nil},
		"an address":              {core.ReleaseStatus{LastAttempted: &core.ReleaseAttempt{ResolvedCluster: strings.Repeat("ä", 2048)}}, nil},
		"an address too long":     {core.ReleaseStatus{LastAttempted: &core.ReleaseAttempt{ResolvedCluster: strings.Repeat("a", 2049)}}, []string{"FieldValueTooLong status.lastAttempted.resolvedCluster"}},
	} {
		release := releaseOf()
		release.Status = test.status
		assert.Equal(t, test.want, told(ValidateReleaseStatusUpdate(release, releaseOf())), name)
	}
	var versions []string
	for i := range 4097 {
		versions = append(versions, fmt.Sprintf("%04d.fair/v1beta", i))
	}
	for name, test := range map[string]struct {
		status core.ClusterStatus
		want   []string
	}{
		"versions":              {core.ClusterStatus{DiscoveredAPIVersions: versions[:4096]}, nil},
		"too many versions":     {core.ClusterStatus{DiscoveredAPIVersions: versions}, []string{"FieldValueTooMany status.discoveredAPIVersions"}},
		"many of letters":       {core.ClusterStatus{DiscoveredAPIVersions: slices.Repeat([]string{strings.Repeat("x", 16)}, 4096)}, nil},
		"letters that take six": {core.ClusterStatus{DiscoveredAPIVersions: []string{strings.Repeat("<", MaxAPIVersionsBytes/6+1)}}, []string{"FieldValueTooLong status.discoveredAPIVersions"}},
		"much of them":          {core.ClusterStatus{DiscoveredAPIVersions: texts(MaxAPIVersionsBytes)}, nil},
		"too much of them":      {core.ClusterStatus{DiscoveredAPIVersions: texts(MaxAPIVersionsBytes + 1)}, []string{"FieldValueTooLong status.discoveredAPIVersions"}},
		"a version":             {core.ClusterStatus{DiscoveredVersion: strings.Repeat("v", 256)}, nil},
		"a version too long":    {core.ClusterStatus{DiscoveredVersion: strings.Repeat("v", 257)}, []string{"FieldValueTooLong status.discoveredVersion"}},
		"an agent":              {core.ClusterStatus{AgentStatus: &core.ClusterAgentStatus{AgentVersion: strings.Repeat("v", 256), RegisteredAt: metav1.Now()}}, nil},
		"an agent of too much":  {core.ClusterStatus{AgentStatus: &core.ClusterAgentStatus{AgentVersion: strings.Repeat("v", 257), RegisteredAt: metav1.Now()}}, []string{"FieldValueTooLong status.agentStatus.agentVersion"}},
	} {
		cluster := kubeconfig()
		cluster.Status = test.status
		assert.Equal(t, test.want, told(ValidateClusterStatusUpdate(cluster, kubeconfig())), name)
	}
}

// S1: whatever is filled to its limit by whom, an object stays one that can be written.
func TestS1LimitsInSum(t *testing.T) {
	assert.Less(t, MaxReleaseBytes+MaxObjectMetaBytes+managed+MaxConditionsBytes+MaxObjectsBytes+6*MaxResolvedCluster, held)
	assert.Less(t, MaxClusterSpecBytes+MaxObjectMetaBytes+managed+MaxConditionsBytes+MaxAPIVersionsBytes+3*MaxAPIVersions+2*6*MaxVersion, held)

	// What is measured is not less than what is stored.
	release, cluster := releaseOf(object("", "")), naming()
	release.Spec.Mutations = []core.ReleaseMutation{{Target: core.ReleaseMutationTarget{Group: "g", Kind: "A", Name: "b", Namespace: "c"}, Path: "/a", Expression: "<"}}
	release.Status.Objects = []core.ReleaseObject{{Group: "g", Version: "v", Kind: "K", Namespace: "n", Name: "a"}}
	var storedRelease corev1alpha1.Release
	require.NoError(t, corev1alpha1.Convert_core_Release_To_v1alpha1_Release(release, &storedRelease, nil))
	var storedCluster corev1alpha1.Cluster
	require.NoError(t, corev1alpha1.Convert_core_Cluster_To_v1alpha1_Cluster(cluster, &storedCluster, nil))
	assert.GreaterOrEqual(t, sizeOf(release.Spec.Mutations), sizeOf(storedRelease.Spec.Mutations))
	assert.GreaterOrEqual(t, sizeOf(release.Status.Objects), sizeOf(storedRelease.Status.Objects))
	assert.GreaterOrEqual(t, sizeOf(cluster.Spec), sizeOf(storedCluster.Spec))
}

// naming is a Cluster with a bit of everything.
func naming() *core.Cluster {
	cluster := agentless(core.ClusterAuthSpec{Type: core.AuthTypeExecPlugin, ExecPlugin: &core.ExecPluginAuthSpec{
		Args: []string{"a"}, Command: "b", Env: []core.EnvVar{{Name: "a", Value: "b"}, {Name: "c", ValueFrom: &core.EnvVarSource{SecretKeyRef: &core.SecretKeySelector{Name: "a", Key: "b"}}}},
	}})
	cluster.Spec.Metadata = map[string]string{"a": "b"}
	return cluster
}
