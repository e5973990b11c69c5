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
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"entente.dev/entente/test/kube"
)

// greeting is a Release of a ConfigMap of its name.
func greeting(name, cluster string, more ...string) string {
	return fmt.Sprintf(`
apiVersion: core.convoy.kumodo.io/v1alpha1
kind: Release
metadata: {name: %[1]s, namespace: fleet}
spec:
  clusterRef: {name: %[2]s}
  resources:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: %[1]s}, data: {text: hello}}
%[3]s
`, name, cluster, strings.Join(more, "\n"))
}

// configMap waits until a ConfigMap in the target is as it should be.
func (f *fleeting) configMap(t *testing.T, name string, data map[string]string) {
	t.Helper()
	eventually(t, fmt.Sprintf("ConfigMap %s holds %v", name, data), func(ctx context.Context) error {
		found, err := f.target.Clientset(t, kube.Admin).CoreV1().ConfigMaps(fleet).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if fmt.Sprint(found.Data) != fmt.Sprint(data) {
			return fmt.Errorf("it holds %v", found.Data)
		}
		return nil
	})
}

func (f *fleeting) release(t *testing.T) {
	const second = "  - {apiVersion: v1, kind: ConfigMap, metadata: {name: second}, data: {text: two}}"
	const mutations = `
  mutations:
  - {target: {kind: ConfigMap, name: shop}, path: /data/region, expression: cluster.region}
  - {target: {kind: ConfigMap, name: shop}, path: /data/where, expression: "'in ' + cluster.name"}
`
	f.host.MustKubectl(t, deployer, greeting("shop", "spoke", second, mutations), "apply", "-f", "-")
	found := f.tells(t, fleet, "shop", "Applied")
	assert.Equal(t, "https://spoke.example.com:6443", found.Status.LastAttempted.ResolvedCluster)
	assert.Len(t, found.Status.Objects, 2)
	whole := map[string]string{"text": "hello", "region": "eu-west-1", "where": "in spoke"}
	f.configMap(t, "shop", whole)
	managers := f.target.MustKubectl(t, kube.Admin, "", "get", "configmap", "-n", fleet, "shop", "--show-managed-fields", "-o", "jsonpath={range .metadata.managedFields[*]}{.manager} {.operation}{\"\\n\"}{end}")
	assert.Equal(t, "entente Apply", strings.TrimSpace(managers))
	assert.Equal(t, string(found.UID), f.target.MustKubectl(t, kube.Admin, "", "get", "configmap", "-n", fleet, "shop", "-o", `jsonpath={.metadata.labels.core\.convoy\.kumodo\.io/release}`))
	f.says(t, fleet, "spoke", "Reachable")
	eventually(t, "the Release is counted", func(context.Context) error {
		return contains(f.host.MustKubectl(t, viewer, "", "get", "cluster.core.convoy.kumodo.io", "-n", fleet, "spoke", "-o", "jsonpath={.status.releaseCount}"), "1")
	})

	// Drift is put right at the resync.
	f.target.MustKubectl(t, kube.Admin, "", "delete", "configmap", "-n", fleet, "second")
	f.configMap(t, "second", map[string]string{"text": "two"})

	// What somebody else has taken over is his.
	f.target.MustKubectl(t, kube.Admin, "", "patch", "configmap", "-n", fleet, "shop", "--type=merge", "-p", `{"data":{"text":"taken"}}`)
	f.tells(t, fleet, "shop", "ApplyFailed", "ConfigMap fleet/shop", "others manage fields")
	taken := map[string]string{"text": "taken", "region": "eu-west-1", "where": "in spoke"}
	f.configMap(t, "shop", taken)
	f.target.MustKubectl(t, kube.Admin, "", "patch", "configmap", "-n", fleet, "shop", "--type=merge", "-p", `{"data":{"text":"hello"}}`)
	f.tells(t, fleet, "shop", "Applied")

	// A mutation that cannot be carried out changes nothing.
	f.host.MustKubectl(t, registrar, "", "patch", "cluster.core.convoy.kumodo.io", "-n", fleet, "spoke", "--type=merge", "-p", `{"spec":{"metadata":{"region":null}}}`)
	f.tells(t, fleet, "shop", "MutationFailed", "spec.mutations[0].expression")
	f.configMap(t, "shop", whole)
	f.host.MustKubectl(t, registrar, "", "patch", "cluster.core.convoy.kumodo.io", "-n", fleet, "spoke", "--type=merge", "-p", `{"spec":{"metadata":{"region":"eu-north-1"}}}`)
	f.configMap(t, "shop", map[string]string{"text": "hello", "region": "eu-north-1", "where": "in spoke"})

	// What leaves the Release is deleted.
	f.host.MustKubectl(t, deployer, greeting("shop", "spoke", mutations), "apply", "-f", "-")
	vanished(t, f.target, "configmap", "-n", fleet, "second")
	f.tells(t, fleet, "shop", "Applied")
	eventually(t, "one object is left", func(ctx context.Context) error {
		current, err := f.entente.Client(t, viewer).CoreV1alpha1().Releases(fleet).Get(ctx, "shop", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(current.Status.Objects) != 1 {
			return fmt.Errorf("there are %v", current.Status.Objects)
		}
		return nil
	})
	f.host.MustKubectl(t, deployer, "", "delete", "release", "-n", fleet, "shop")
	vanished(t, f.target, "configmap", "-n", fleet, "shop")

	// The policy Orphan leaves what there is.
	f.host.MustKubectl(t, deployer, greeting("orphans", "spoke", "  deletionPolicy: Orphan"), "apply", "-f", "-")
	f.tells(t, fleet, "orphans", "Applied")
	f.host.MustKubectl(t, deployer, "", "delete", "release", "-n", fleet, "orphans")
	vanished(t, f.host, "releases", "-n", fleet, "orphans")
	f.configMap(t, "orphans", map[string]string{"text": "hello"})
}

// A Release may bring a kind and an object of it: the object is applied once the cluster knows
// its kind.
func (f *fleeting) ownKind(t *testing.T) {
	f.host.MustKubectl(t, deployer, `
apiVersion: core.convoy.kumodo.io/v1alpha1
kind: Release
metadata: {name: cron, namespace: fleet}
spec:
  clusterRef: {name: spoke}
  resources:
  - {apiVersion: stable.example.com/v1, kind: CronTab, metadata: {name: nightly}, spec: {cron: "0 0 * * *"}}
  - apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata: {name: crontabs.stable.example.com}
    spec:
      group: stable.example.com
      scope: Namespaced
      names: {plural: crontabs, singular: crontab, kind: CronTab}
      versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`, "apply", "-f", "-")
	f.tells(t, fleet, "cron", "Applied")
	f.target.MustKubectl(t, kube.Admin, "", "get", "crontab", "-n", fleet, "nightly")
	f.host.MustKubectl(t, deployer, "", "delete", "release", "-n", fleet, "cron")
	vanished(t, f.target, "crd", "crontabs.stable.example.com")
}

// What the author of a Release cannot do: use a Cluster that he may not, more than the
// credentials may, what others have made, and what a status says.
func (f *fleeting) beyond(t *testing.T) {
	const outsider = "outsider"
	f.host.AddUser(t, outsider)
	f.host.GrantIn(t, fleet, outsider, rbacv1.PolicyRule{APIGroups: []string{"core.convoy.kumodo.io"}, Resources: []string{"releases", "releases/status"}, Verbs: []string{"get", "create", "update", "patch"}})
	result := f.host.Kubectl(t, outsider, greeting("smuggled", "spoke"), "create", "-f", "-")
	assert.NotZero(t, result.Code)
	assert.NoError(t, contains(result.Stderr, "rule C4", "use"))

	// The credentials decide in the target.
	f.host.MustKubectl(t, deployer, greeting("greedy", "spoke",
		"  - {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: greedy}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}, subjects: [{kind: ServiceAccount, name: a, namespace: fleet}]}",
		"  - {apiVersion: v1, kind: Secret, metadata: {name: greedy, namespace: kube-system}}"), "create", "-f", "-")
	f.tells(t, fleet, "greedy", "ApplyFailed", "ClusterRoleBinding.rbac.authorization.k8s.io greedy: the cluster forbids it", "Secret kube-system/greedy: the cluster forbids it")
	// The rest is applied.
	f.configMap(t, "greedy", map[string]string{"text": "hello"})

	// What is there already is not taken over, nor deleted with the Release.
	f.target.MustKubectl(t, kube.Admin, "", "create", "configmap", "-n", fleet, "theirs", "--from-literal=text=theirs")
	f.host.MustKubectl(t, deployer, greeting("theirs", "spoke"), "create", "-f", "-")
	found := f.tells(t, fleet, "theirs", "ApplyFailed", "ConfigMap fleet/theirs: it is there already")
	assert.Empty(t, found.Status.Objects)
	// A status that lists it changes nothing (S1).
	forged, err := json.Marshal(map[string]any{"status": map[string]any{"objects": []map[string]string{{"version": "v1", "kind": "ConfigMap", "namespace": fleet, "name": "theirs"}}}})
	require.NoError(t, err)
	f.host.MustKubectl(t, outsider, "", "patch", "release", "-n", fleet, "theirs", "--subresource=status", "--type=merge", "-p", string(forged))
	f.host.MustKubectl(t, deployer, "", "delete", "release", "-n", fleet, "theirs", "greedy")
	vanished(t, f.host, "releases", "-n", fleet, "theirs")
	f.configMap(t, "theirs", map[string]string{"text": "theirs"})
	vanished(t, f.target, "configmap", "-n", fleet, "greedy")
}

// releaseHere: to the cluster that Entente runs in a Release is applied as a ServiceAccount of
// its namespace, whose rights decide, and never as Entente.
func (f *fleeting) releaseHere(t *testing.T) {
	f.host.MustKubectl(t, deployer, greeting("local", "hub",
		"  - {apiVersion: v1, kind: ConfigMap, metadata: {name: local, namespace: default}}",
		"  - {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: local}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}, subjects: [{kind: User, name: deployer, apiGroup: rbac.authorization.k8s.io}]}"), "create", "-f", "-")
	found := f.tells(t, fleet, "local", "ApplyFailed", "ConfigMap default/local: the cluster forbids it", "RoleBinding.rbac.authorization.k8s.io fleet/local: the cluster forbids it")
	assert.Empty(t, found.Status.LastAttempted.ResolvedCluster)
	account := kube.ServiceAccountUser(fleet, "entente-release")
	eventually(t, "the ConfigMap was applied as entente-release", func(context.Context) error {
		for _, event := range f.host.Audit(t) {
			if event.ObjectRef == nil || event.ObjectRef.Resource != "configmaps" || event.ObjectRef.Name != "local" || event.Verb == "get" {
				continue
			}
			if event.User.Username != f.entente.User || event.ImpersonatedUser == nil || event.ImpersonatedUser.Username != account {
				return fmt.Errorf("it was asked for by %s as %v", event.User.Username, event.ImpersonatedUser)
			}
			if event.ObjectRef.Namespace == fleet {
				return nil
			}
		}
		return errors.New("it was not")
	})
	f.host.MustKubectl(t, deployer, "", "delete", "release", "-n", fleet, "local")
	vanished(t, f.host, "configmap", "-n", fleet, "local")
}

// swapped: the same address, kubeconfig and name lead to another cluster. Nothing is applied
// there, and nothing deleted, whatever bears the label of the Release.
func (f *fleeting) swapped(t *testing.T) {
	token := f.token(t, "a")
	user, err := f.host.ControlPlane.AddUser("double", "system:masters")
	require.NoError(t, err)
	config, err := clientcmd.LoadFromFile(user)
	require.NoError(t, err)
	info := config.AuthInfos[config.Contexts[config.CurrentContext].AuthInfo]
	// Good in both: a token of the one, a certificate of the other.
	f.keep(t, fleet, "double", f.kubeconfig(t, func(c *clientcmdapi.Config) {
		c.Clusters["target"].CertificateAuthorityData = append(append([]byte{}, f.target.CA()...), f.host.CA()...)
		c.AuthInfos["deployer"] = &clientcmdapi.AuthInfo{Token: token, ClientCertificateData: info.ClientCertificateData, ClientKeyData: info.ClientKeyData}
	}))
	f.host.MustKubectl(t, registrar, cluster(fleet, "double"), "apply", "-f", "-")
	f.says(t, fleet, "double", "Reachable")
	f.host.MustKubectl(t, deployer, greeting("moved", "double"), "create", "-f", "-")
	release := f.tells(t, fleet, "moved", "Applied")
	// One of the same name and label is in the other cluster.
	f.host.MustKubectl(t, kube.Admin, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: moved, namespace: fleet, labels: {core.convoy.kumodo.io/release: %s}}\ndata: {text: untouched}\n", release.UID), "create", "-f", "-")
	f.way.lead(t, f.host)
	defer f.way.lead(t, f.target)
	f.tells(t, fleet, "moved", "ClusterNotReady", "Another cluster answers")
	f.host.MustKubectl(t, deployer, "", "delete", "release", "-n", fleet, "moved", "--wait=false")
	vanished(t, f.host, "releases", "-n", fleet, "moved") // after --release-delete-timeout
	there, err := f.host.Clientset(t, kube.Admin).CoreV1().ConfigMaps(fleet).Get(t.Context(), "moved", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"text": "untouched"}, there.Data)
	f.left(t, "moved", "ConfigMap fleet/moved", "Another cluster answers")
	f.way.lead(t, f.target)
	f.configMap(t, "moved", map[string]string{"text": "hello"})
	f.host.MustKubectl(t, registrar, "", "delete", "cluster.core.convoy.kumodo.io", "-n", fleet, "double")
}

// left waits for the Event of a Release that left something behind.
func (f *fleeting) left(t *testing.T, name string, parts ...string) {
	t.Helper()
	eventually(t, "an Event lists what is left", func(ctx context.Context) error {
		list, err := f.host.Clientset(t, viewer).EventsV1().Events(fleet).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, event := range list.Items {
			if event.Regarding.Name == name && event.Reason == "ObjectsLeft" {
				return contains(event.Note, parts...)
			}
		}
		return errors.New("there is none")
	})
}

// deletion: without pruneReleases the Cluster goes and its Releases stay; with it they go
// before, each by its own policy.
func (f *fleeting) deletion(t *testing.T) {
	f.register(t, "leaving", "a")
	f.host.MustKubectl(t, deployer, greeting("staying", "leaving"), "create", "-f", "-")
	f.tells(t, fleet, "staying", "Applied")
	f.host.MustKubectl(t, registrar, "", "delete", "cluster.core.convoy.kumodo.io", "-n", fleet, "leaving")
	f.tells(t, fleet, "staying", "ClusterNotReady", "no such Cluster")
	f.configMap(t, "staying", map[string]string{"text": "hello"})

	f.register(t, "leaving", "a", "  deletionPolicy: {pruneReleases: true}")
	f.tells(t, fleet, "staying", "Applied") // the same cluster again
	f.host.MustKubectl(t, deployer, greeting("kept", "leaving", "  deletionPolicy: Orphan"), "create", "-f", "-")
	f.tells(t, fleet, "kept", "Applied")
	f.host.MustKubectl(t, registrar, "", "delete", "cluster.core.convoy.kumodo.io", "-n", fleet, "leaving")
	vanished(t, f.host, "clusters", "-n", fleet, "leaving")
	for _, name := range []string{"staying", "kept"} {
		_, err := f.entente.Client(t, viewer).CoreV1alpha1().Releases(fleet).Get(t.Context(), name, metav1.GetOptions{})
		assert.True(t, apierrors.IsNotFound(err), "%s: %v", name, err)
	}
	vanished(t, f.target, "configmap", "-n", fleet, "staying")
	f.configMap(t, "kept", map[string]string{"text": "hello"})
}

// deletionAway: a target that is away does not keep anything for ever.
func (f *fleeting) deletionAway(t *testing.T) {
	f.register(t, "lost", "a", "  deletionPolicy: {pruneReleases: true}")
	f.host.MustKubectl(t, deployer, greeting("stranded", "lost"), "create", "-f", "-")
	f.tells(t, fleet, "stranded", "Applied")
	f.target.Paused(t, func() {
		f.host.MustKubectl(t, registrar, "", "delete", "cluster.core.convoy.kumodo.io", "-n", fleet, "lost", "--wait=false")
		vanished(t, f.host, "clusters", "-n", fleet, "lost")
	})
	f.left(t, "stranded", "ConfigMap fleet/stranded")
	f.configMap(t, "stranded", map[string]string{"text": "hello"})
}

// namespaceDeleted: the Secrets of a namespace may go before its Clusters and Releases. What
// was released is deleted all the same, and the namespace goes.
func (f *fleeting) namespaceDeleted(t *testing.T) {
	const short = "short-lived"
	f.host.MustKubectl(t, kube.Admin, "apiVersion: v1\nkind: Namespace\nmetadata: {name: short-lived}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: entente-targets, namespace: short-lived}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: entente-targets}\nsubjects: [{kind: ServiceAccount, name: entente-apiserver, namespace: entente-system}]\n", "apply", "-f", "-")
	f.keep(t, short, "brief", f.of(t, "a"))
	f.host.MustKubectl(t, kube.Admin, cluster(short, "brief"), "apply", "-f", "-")
	f.says(t, short, "brief", "Reachable")
	manifest := strings.ReplaceAll(greeting("brief", "brief"), "namespace: fleet", "namespace: "+short)
	manifest = strings.ReplaceAll(manifest, "metadata: {name: brief}, data", "metadata: {name: brief, namespace: fleet}, data")
	f.host.MustKubectl(t, kube.Admin, manifest, "apply", "-f", "-")
	f.tells(t, short, "brief", "Applied")
	f.host.MustKubectl(t, kube.Admin, "", "delete", "secret", "-n", short, "brief")
	f.host.MustKubectl(t, kube.Admin, "", "delete", "namespace", short, "--wait=false")
	vanished(t, f.host, "namespace", short)
	vanished(t, f.target, "configmap", "-n", fleet, "brief")
}
