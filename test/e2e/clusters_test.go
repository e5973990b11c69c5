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
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/test/install"
	"entente.dev/entente/test/kube"
	"entente.dev/entente/test/process"
)

// People who deal with Clusters and Releases, in namespace fleet.
const (
	registrar = "registrar" // entente-clusters-operator, and may get its Secrets and delete Releases
	deployer  = "deployer"  // entente-releases-operator
	fleet     = "fleet"
)

// fleeting is a control plane with Entente that serves Clusters and Releases, and another one,
// without Entente, that is a target.
type fleeting struct {
	host, target *kube.Cluster
	entente      *install.Installed
	// secrets are the credentials that must be in no log, Event or object.
	secrets []string
	// way is the loopback address that leads to the target.
	way *switchedWay
}

// TestClusters is the registry of target clusters, with real control planes, kubectl and
// ordinary users (C1 to C5).
func TestClusters(t *testing.T) {
	t.Parallel()
	clusters := kube.StartAll(t, []string{"hub", "spoke"})
	f := &fleeting{host: clusters[0], target: clusters[1]}
	f.entente = install.PrepareWith(t, f.host, install.Options{Clusters: true, Flags: []string{
		// All is logged that there is to log: no credential is to be in it (R15).
		"-v=10", "--cluster-resync=3s", "--release-delete-timeout=10s", "--feature-gates=ClusterAuthTokenAndCert=true",
	}})
	f.entente.Run(t)
	f.entente.WaitServed(t)
	f.prepare(t)
	for _, part := range []struct {
		name string
		test func(*fleeting, *testing.T)
	}{
		{"C1 the manifest of the page", (*fleeting).page},
		{"C1 agentless", (*fleeting).agentless},
		{"C1 inCluster", (*fleeting).inCluster},
		{"C1 token and clientCert", (*fleeting).tokenAndCert},
		{"C1 not implemented", (*fleeting).unsupported},
		{"C2 who may name a Secret", (*fleeting).whoNamesSecrets},
		{"C2 hostile kubeconfigs", (*fleeting).hostileKubeconfigs},
		{"C4 applied, mutated, repaired, pruned", (*fleeting).release},
		{"C4 a kind that the Release brings", (*fleeting).ownKind},
		{"C4 beyond reach", (*fleeting).beyond},
		{"C4 inCluster as entente-release", (*fleeting).releaseHere},
		{"C3 a Secret rotated", (*fleeting).rotated},
		{"C3 a target frozen, and stopped", (*fleeting).away},
		{"C3 hanging clusters delay no other", (*fleeting).hanging},
		{"C4 another cluster under the same address", (*fleeting).swapped},
		{"C1 deletion", (*fleeting).deletion},
		{"C5 deletion with the target away", (*fleeting).deletionAway},
		{"C5 a namespace is deleted, its Secrets first", (*fleeting).namespaceDeleted},
		{"H4 R15 rights and logs", (*fleeting).rights},
	} {
		start := time.Now()
		if !t.Run(part.name, func(t *testing.T) { part.test(f, t) }) {
			return // each part begins with what the one before has left
		}
		t.Logf("%s: %v", part.name, time.Since(start).Round(time.Second))
	}
}

// prepare makes the namespace as the example says, the people, and who may do what in the
// target.
func (f *fleeting) prepare(t *testing.T) {
	t.Helper()
	root, err := process.ModuleRoot()
	require.NoError(t, err)
	f.host.MustKubectl(t, kube.Admin, "", "apply", "-f", filepath.Join(root, "artifacts", "examples", "clusters", "namespace.yaml"))
	f.entente.Binds(t, fleet, "entente-targets", "entente-targets")
	for user, roles := range map[string][]string{
		registrar: {"entente-clusters-operator", "entente-releases-operator", "edit"}, // the second for pruneReleases; edit: Secrets, and nothing of Entente's
		deployer:  {"entente-releases-operator"},
	} {
		f.host.AddUser(t, user)
		for _, role := range roles {
			f.host.BindIn(t, fleet, user, role)
		}
	}
	f.host.AddUser(t, viewer)
	for _, role := range []string{"view", "entente-clusters-viewer"} {
		f.host.Bind(t, viewer, role)
	}
	f.target.MustKubectl(t, kube.Admin, targetRights, "apply", "-f", "-")
	f.way = newSwitchedWay(t, f.target)
}

// targetRights are the ServiceAccounts in the target that kubeconfigs are made for: a and b may
// do what Releases need, reader may read the version and nothing else.
const targetRights = `
apiVersion: v1
kind: Namespace
metadata: {name: fleet}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: a, namespace: fleet}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: b, namespace: fleet}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: fleet}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: deployer}
rules:
- {apiGroups: [""], resources: [namespaces], resourceNames: [kube-system], verbs: [get]}
- {apiGroups: [""], resources: [configmaps], verbs: [get, create, patch, delete]}
- {apiGroups: [apps], resources: [deployments], verbs: [get, create, patch, delete]}
- {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [get, create, patch, delete]}
- {apiGroups: [stable.example.com], resources: [crontabs], verbs: [get, create, patch, delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: deployers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: deployer}
subjects:
- {kind: ServiceAccount, name: a, namespace: fleet}
- {kind: ServiceAccount, name: b, namespace: fleet}
`

// token gets a token of a ServiceAccount in the target, which is to be seen nowhere.
func (f *fleeting) token(t *testing.T, account string) string {
	t.Helper()
	token, err := f.target.ServiceAccountToken(t.Context(), fleet, account, time.Hour)
	require.NoError(t, err)
	f.secrets = append(f.secrets, token)
	return token
}

// kubeconfig is one for the target, by the address that leads to it.
func (f *fleeting) kubeconfig(t *testing.T, change func(*clientcmdapi.Config)) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["target"] = &clientcmdapi.Cluster{Server: f.way.URL(), CertificateAuthorityData: f.target.CA()}
	config.AuthInfos["deployer"] = &clientcmdapi.AuthInfo{}
	config.Contexts["here"] = &clientcmdapi.Context{Cluster: "target", AuthInfo: "deployer"}
	config.CurrentContext = "here"
	change(config)
	data, err := clientcmd.Write(*config)
	require.NoError(t, err)
	return string(data)
}

// of is a kubeconfig with a token of a ServiceAccount.
func (f *fleeting) of(t *testing.T, account string) string {
	t.Helper()
	token := f.token(t, account)
	return f.kubeconfig(t, func(config *clientcmdapi.Config) { config.AuthInfos["deployer"].Token = token })
}

// keep makes a Secret, or changes it.
func (f *fleeting) keep(t *testing.T, namespace, name, content string) {
	t.Helper()
	f.host.MustKubectl(t, kube.Admin, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: %s}\ndata: {kubeconfig: %s}\n",
		name, namespace, base64.StdEncoding.EncodeToString([]byte(content))), "apply", "--server-side", "--force-conflicts", "-f", "-")
}

// cluster is the manifest of a Cluster with a kubeconfig in a Secret of its name.
func cluster(namespace, name string, more ...string) string {
	return fmt.Sprintf(`
apiVersion: core.convoy.kumodo.io/v1alpha1
kind: Cluster
metadata: {name: %[2]s, namespace: %[1]s}
spec:
  connectionMode: agentless
  agentless:
    server: https://spoke.example.com:6443
    auth: {type: kubeconfig, kubeconfig: {secretRef: {name: %[2]s, key: kubeconfig}}}
%[3]s
`, namespace, name, strings.Join(more, "\n"))
}

// register has the registrar make a Cluster, and waits until it is reachable.
func (f *fleeting) register(t *testing.T, name, account string, more ...string) *corev1alpha1.Cluster {
	t.Helper()
	f.keep(t, fleet, name, f.of(t, account))
	f.host.MustKubectl(t, registrar, cluster(fleet, name, more...), "apply", "-f", "-")
	return f.says(t, fleet, name, "Reachable")
}

// says waits until the condition Ready of a Cluster has that reason, and the message holds that.
func (f *fleeting) says(t *testing.T, namespace, name, reason string, message ...string) (found *corev1alpha1.Cluster) {
	t.Helper()
	clusters := f.entente.Client(t, viewer).CoreV1alpha1().Clusters(namespace)
	eventually(t, name+" says "+reason, func(ctx context.Context) (err error) {
		if found, err = clusters.Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		return ready(found.Status.Conditions, found.Generation, reason, message...)
	})
	return found
}

// tells does the same for a Release.
func (f *fleeting) tells(t *testing.T, namespace, name, reason string, message ...string) (found *corev1alpha1.Release) {
	t.Helper()
	releases := f.entente.Client(t, viewer).CoreV1alpha1().Releases(namespace)
	eventually(t, name+" says "+reason, func(ctx context.Context) (err error) {
		if found, err = releases.Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		return ready(found.Status.Conditions, found.Generation, reason, message...)
	})
	return found
}

func ready(conditions []metav1.Condition, generation int64, reason string, message ...string) error {
	found := meta.FindStatusCondition(conditions, "Ready")
	if found == nil || found.Reason != reason || found.ObservedGeneration != generation {
		return fmt.Errorf("it says %v", conditions)
	}
	return contains(found.Message, message...)
}

// vanished waits until an object is gone.
func vanished(t *testing.T, cluster *kube.Cluster, args ...string) {
	t.Helper()
	eventually(t, strings.Join(args, " ")+" is gone", func(context.Context) error {
		result := cluster.Kubectl(t, kube.Admin, "", append([]string{"get", "--ignore-not-found", "-o", "name"}, args...)...)
		if result.Code != 0 || strings.TrimSpace(result.Stdout) != "" {
			return fmt.Errorf("it is there: %s", result.Output())
		}
		return nil
	})
}

// rights: what Entente asks the host for is what is shipped, no more and no less (H4); and no
// credential is in a log, an Event or an object (R15).
func (f *fleeting) rights(t *testing.T) {
	var found install.Rights
	eventually(t, "the rights for Clusters are used", func(context.Context) error {
		found = f.entente.Rights(t)
		for _, right := range found.Unused {
			if strings.Contains(right, "entente-targets") || strings.Contains(right, "entente-apiserver-clusters") {
				return fmt.Errorf("unused:\n%s", strings.Join(found.Unused, "\n"))
			}
		}
		return nil
	})
	for _, refused := range found.Refused {
		// Nobody has bound it there; and nothing is created in a namespace that goes.
		if !strings.Contains(refused, "/namespaces/default/secrets/convoy-managed-kubeconfig") && !strings.Contains(refused, "/namespaces/short-lived/events") {
			assert.Fail(t, "a call was refused", refused)
		}
	}
	texts := map[string]string{
		"Events":   f.host.MustKubectl(t, kube.Admin, "", "get", "events", "-A", "-o", "yaml"),
		"Clusters": f.host.MustKubectl(t, kube.Admin, "", "get", "clusters,releases", "-A", "-o", "yaml", "--show-managed-fields"),
	}
	for _, path := range []string{f.entente.Log, filepath.Join(f.host.Dir, "logs", "kube-apiserver.log")} {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		texts[path] = string(content)
	}
	require.NotEmpty(t, f.secrets)
	for where, text := range texts {
		for _, secret := range f.secrets {
			for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret))} {
				assert.False(t, strings.Contains(text, form), "a credential is in %s", where)
			}
		}
	}
}
