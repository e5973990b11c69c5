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
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/test/kube"
)

// pageManifest is the example of the Cluster page, as it stands there.
const pageManifest = `
apiVersion: core.convoy.kumodo.io/v1alpha1
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

// The page's manifest applies unchanged, and says in another namespace than those that are
// bound that Entente may not read the Secret.
func (f *fleeting) page(t *testing.T) {
	f.host.MustKubectl(t, kube.Admin, pageManifest, "apply", "-f", "-")
	found := f.says(t, "default", "convoy-managed", "ProbeFailed", "spec.agentless.auth.kubeconfig.secretRef", "may not be read by Entente")
	assert.Contains(t, found.Finalizers, corev1alpha1.FinalizerPruneReleases)
	assert.Equal(t, map[string]string{"type": "kind", "role": "managed"}, found.Spec.Metadata)
	assert.False(t, *found.Status.Reachable)
	f.host.MustKubectl(t, kube.Admin, "", "delete", "cluster.core.convoy.kumodo.io", "convoy-managed")
	vanished(t, f.host, "clusters", "-n", "default", "convoy-managed")
}

func (f *fleeting) agentless(t *testing.T) {
	found := f.register(t, "spoke", "a", "  metadata: {region: eu-west-1}")
	var version struct{ ServerVersion struct{ GitVersion string } }
	require.NoError(t, json.Unmarshal([]byte(f.target.MustKubectl(t, kube.Admin, "", "version", "-o", "json")), &version))
	assert.Equal(t, version.ServerVersion.GitVersion, found.Status.DiscoveredVersion)
	versions := strings.Fields(f.target.MustKubectl(t, kube.Admin, "", "api-versions"))
	slices.Sort(versions)
	assert.Equal(t, versions, found.Status.DiscoveredAPIVersions)
	assert.True(t, *found.Status.Reachable)
	assert.WithinDuration(t, time.Now(), found.Status.LastSeen.Time, time.Minute)
	table := f.host.MustKubectl(t, viewer, "", "get", "clusters", "-n", fleet)
	assert.NoError(t, contains(table, "NAME", "READY", "REASON", "spoke", "True", "Reachable", found.Status.DiscoveredVersion))
	explained := f.host.MustKubectl(t, viewer, "", "explain", "cluster.spec.agentless.auth", "--api-version=core.convoy.kumodo.io/v1alpha1")
	assert.NoError(t, contains(explained, "kubeconfig", "execPlugin", "required"))
}

func (f *fleeting) inCluster(t *testing.T) {
	f.host.MustKubectl(t, registrar, "apiVersion: core.convoy.kumodo.io/v1alpha1\nkind: Cluster\nmetadata: {name: hub, namespace: fleet}\nspec: {connectionMode: inCluster, metadata: {region: eu-west-1}}\n", "apply", "-f", "-")
	found := f.says(t, fleet, "hub", "Reachable")
	assert.Contains(t, found.Status.DiscoveredAPIVersions, "core.convoy.kumodo.io/v1alpha1")
}

// Going beyond the page: token and clientCert, behind a gate.
func (f *fleeting) tokenAndCert(t *testing.T) {
	user, err := f.target.ControlPlane.AddUser("certified")
	require.NoError(t, err)
	config, err := clientcmd.LoadFromFile(user)
	require.NoError(t, err)
	info := config.AuthInfos[config.Contexts[config.CurrentContext].AuthInfo]
	encode := func(data []byte) string { return base64.StdEncoding.EncodeToString(data) }
	f.secrets = append(f.secrets, string(info.ClientKeyData))
	f.host.MustKubectl(t, registrar, fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: credentials, namespace: fleet}
data: {token: %s, cert: %s, key: %s}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: authority, namespace: fleet}
binaryData: {ca: %s}
---
apiVersion: core.convoy.kumodo.io/v1alpha1
kind: Cluster
metadata: {name: by-token, namespace: fleet}
spec:
  connectionMode: agentless
  agentless:
    server: %[5]s
    caPublicCertRef: {name: authority, key: ca}
    connectionParameters: {qps: 10, burst: 20, timeout: 3s}
    auth: {type: token, token: {tokenRef: {name: credentials, key: token}}}
---
apiVersion: core.convoy.kumodo.io/v1alpha1
kind: Cluster
metadata: {name: by-cert, namespace: fleet}
spec:
  connectionMode: agentless
  agentless:
    server: %[5]s
    caPublicCertRef: {name: authority, key: ca}
    auth: {type: clientCert, clientCert: {certRef: {name: credentials, key: cert}, keyRef: {name: credentials, key: key}}}
`, encode([]byte(f.token(t, "a"))), encode(info.ClientCertificateData), encode(info.ClientKeyData), encode(f.target.CA()), f.way.URL()), "apply", "-f", "-")
	f.says(t, fleet, "by-cert", "Reachable")
	// By the UID of kube-system, which the user with the certificate may not read.
	f.says(t, fleet, "by-token", "Reachable", "The same cluster is the target of: spoke.")
	f.says(t, fleet, "spoke", "Reachable", "The same cluster is the target of: by-token.")
	f.host.MustKubectl(t, registrar, "", "delete", "clusters.core.convoy.kumodo.io", "-n", fleet, "by-token", "by-cert")
}

func (f *fleeting) unsupported(t *testing.T) {
	f.host.MustKubectl(t, registrar, `
apiVersion: core.convoy.kumodo.io/v1alpha1
kind: Cluster
metadata: {name: by-agent, namespace: fleet}
spec: {connectionMode: agent, agent: {}}
---
apiVersion: core.convoy.kumodo.io/v1alpha1
kind: Cluster
metadata: {name: by-program, namespace: fleet}
spec:
  connectionMode: agentless
  agentless:
    server: https://spoke.example.com
    auth: {type: execPlugin, execPlugin: {command: /bin/false, credentialsRef: {name: credentials}}}
`, "apply", "-f", "-")
	for _, name := range []string{"by-agent", "by-program"} {
		found := f.says(t, fleet, name, "Unsupported")
		assert.False(t, *found.Status.Reachable)
	}
	f.host.MustKubectl(t, registrar, "", "delete", "clusters.core.convoy.kumodo.io", "-n", fleet, "by-agent", "by-program")
	for fault, spec := range map[string]string{
		"spec.connectionMode": "{}",
		"spec.agentless":      "{connectionMode: agentless}",
		"spec.agent":          "{connectionMode: inCluster, agent: {}}",
	} {
		result := f.host.Kubectl(t, registrar, "apiVersion: core.convoy.kumodo.io/v1alpha1\nkind: Cluster\nmetadata: {name: faulty, namespace: fleet}\nspec: "+spec+"\n", "create", "-f", "-")
		assert.NotZero(t, result.Code)
		assert.Contains(t, result.Stderr, fault)
	}
}

// Whoever names a Secret has to be allowed to get it, or he would have Entente use what he may
// not.
func (f *fleeting) whoNamesSecrets(t *testing.T) {
	const nosy = "nosy"
	f.host.AddUser(t, nosy)
	f.host.BindIn(t, fleet, nosy, "entente-clusters-operator")
	result := f.host.Kubectl(t, nosy, cluster(fleet, "spoke-too"), "create", "-f", "-")
	assert.NotZero(t, result.Code)
	assert.NoError(t, contains(result.Stderr, "rule C2", "get"))
	// Another server beside the Secret of somebody else would be sent its credentials.
	result = f.host.Kubectl(t, nosy, "", "patch", "cluster.core.convoy.kumodo.io", "-n", fleet, "spoke", "--type=merge", "-p", `{"spec":{"agentless":{"server":"https://elsewhere.example.com"}}}`)
	assert.NotZero(t, result.Code)
	assert.Contains(t, result.Stderr, "rule C2")
	// What leaves both alone is his to change.
	f.host.MustKubectl(t, nosy, "", "patch", "cluster.core.convoy.kumodo.io", "-n", fleet, "spoke", "--type=merge", "-p", `{"spec":{"metadata":{"tier":"production"}}}`)
}

// A kubeconfig is data: what would run, read or become something is refused, and the message
// names the field and nothing of the content.
func (f *fleeting) hostileKubeconfigs(t *testing.T) {
	const canary = "c4n4ry-0f-th3-t3n4nt"
	ran := t.TempDir() + "/ran"
	for name, test := range map[string]struct {
		change func(*clientcmdapi.Config)
		field  string
	}{
		"exec": {func(c *clientcmdapi.Config) {
			c.AuthInfos["deployer"].Exec = &clientcmdapi.ExecConfig{APIVersion: "client.authentication.k8s.io/v1", Command: "touch", Args: []string{ran, canary}, InteractiveMode: "Never"}
		}, "users[].user.exec"},
		"token-file": {func(c *clientcmdapi.Config) {
			c.AuthInfos["deployer"].TokenFile = f.host.Kubeconfig(kube.Admin)
		}, "users[].user.tokenFile"},
		"ca-file": {func(c *clientcmdapi.Config) {
			c.Clusters["target"].CertificateAuthorityData, c.Clusters["target"].CertificateAuthority = nil, "/"+canary
		}, "clusters[].cluster.certificate-authority"},
		"impersonation": {func(c *clientcmdapi.Config) {
			c.AuthInfos["deployer"].Token, c.AuthInfos["deployer"].Impersonate = canary, "system:admin"
		}, "users[].user.as"},
		"insecure": {func(c *clientcmdapi.Config) {
			c.AuthInfos["deployer"].Token = canary
			c.Clusters["target"].CertificateAuthorityData, c.Clusters["target"].InsecureSkipTLSVerify = nil, true
		}, "insecure-skip-tls-verify"},
	} {
		f.keep(t, fleet, "hostile-"+name, f.kubeconfig(t, test.change))
		f.host.MustKubectl(t, registrar, cluster(fleet, "hostile-"+name), "apply", "-f", "-")
		found := f.says(t, fleet, "hostile-"+name, "ProbeFailed", test.field)
		assert.NotContains(t, fmt.Sprint(found.Status), canary)
		f.host.MustKubectl(t, registrar, "", "delete", "cluster.core.convoy.kumodo.io", "-n", fleet, "hostile-"+name)
	}
	assert.NoFileExists(t, ran)
	f.secrets = append(f.secrets, canary)
}

// rotated: another token in the Secret is used at the next probe.
func (f *fleeting) rotated(t *testing.T) {
	f.register(t, "rotating", "a")
	f.keep(t, fleet, "rotating", f.of(t, "b"))
	eventually(t, "the target is asked with the new token", func(context.Context) error {
		for _, event := range f.target.Audit(t) {
			if event.User.Username == kube.ServiceAccountUser(fleet, "b") && event.RequestURI == "/version" {
				return nil
			}
		}
		return fmt.Errorf("it is not")
	})
	f.host.MustKubectl(t, registrar, "", "delete", "cluster.core.convoy.kumodo.io", "-n", fleet, "rotating")
}

// away: a target that does not answer, or is not there, is not reachable; what was known of it
// stays, its Releases say so, and it comes back by itself.
func (f *fleeting) away(t *testing.T) {
	f.host.MustKubectl(t, deployer, greeting("lasting", "spoke"), "apply", "-f", "-")
	f.tells(t, fleet, "lasting", "Applied")
	before := f.says(t, fleet, "spoke", "Reachable")
	for what, during := range map[string]func(testing.TB, func()){"frozen": f.target.Paused, "stopped": f.target.Stopped} {
		during(t, func() {
			after := f.says(t, fleet, "spoke", "ProbeFailed")
			assert.False(t, *after.Status.Reachable, what)
			assert.Equal(t, before.Status.DiscoveredVersion, after.Status.DiscoveredVersion, what)
			assert.Equal(t, before.Status.DiscoveredAPIVersions, after.Status.DiscoveredAPIVersions, what)
			f.tells(t, fleet, "lasting", "ClusterNotReady")
			f.says(t, fleet, "hub", "Reachable")
		})
		f.says(t, fleet, "spoke", "Reachable")
		f.tells(t, fleet, "lasting", "Applied")
	}
	f.host.MustKubectl(t, deployer, "", "delete", "release", "-n", fleet, "lasting")
}

// hanging: of 20 Clusters 10 lead to who takes connections and never answers. The other ten
// are reachable, and are probed as often as if they were alone.
func (f *fleeting) hanging(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close() // those that wait in its queue are never accepted
	token := f.token(t, "reader")
	f.keep(t, fleet, "hung", f.kubeconfig(t, func(c *clientcmdapi.Config) {
		c.AuthInfos["deployer"].Token, c.Clusters["target"].Server = token, "https://"+listener.Addr().String()
	}))
	f.keep(t, fleet, "good", f.kubeconfig(t, func(c *clientcmdapi.Config) { c.AuthInfos["deployer"].Token = token }))
	var manifest strings.Builder
	names := map[string][]string{}
	for i := range 10 {
		for _, kind := range []string{"hung", "good"} {
			name := fmt.Sprintf("%s-%d", kind, i)
			names[kind] = append(names[kind], name)
			manifest.WriteString("---" + strings.ReplaceAll(cluster(fleet, name), "secretRef: {name: "+name, "secretRef: {name: "+kind))
		}
	}
	asked := func() (count int) {
		for _, event := range f.target.Audit(t) {
			if event.User.Username == kube.ServiceAccountUser(fleet, "reader") && event.RequestURI == "/version" {
				count++
			}
		}
		return count
	}
	start := time.Now()
	f.host.MustKubectl(t, registrar, manifest.String(), "apply", "-f", "-")
	for _, name := range names["good"] {
		f.says(t, fleet, name, "Reachable")
	}
	for _, name := range names["hung"] {
		f.says(t, fleet, name, "ProbeFailed")
	}
	// Three rounds of ten probes each, the first at once.
	eventually(t, "the good ones are probed three times each", func(context.Context) error {
		if n := asked(); n < 30 {
			return fmt.Errorf("they were probed %d times", n)
		}
		return nil
	})
	t.Logf("30 probes of ten clusters, beside ten that hang, took %v; alone they take 20 s", time.Since(start).Round(time.Second))
	f.host.MustKubectl(t, registrar, "", append([]string{"delete", "clusters.core.convoy.kumodo.io", "-n", fleet}, slices.Concat(names["good"], names["hung"])...)...)
}
