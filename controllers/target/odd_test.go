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

package target

import (
	"crypto/rand"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// kubeconfig is one with these fields, separated by semicolons, in flow style.
func kubeconfig(cluster, user string) string {
	return `apiVersion: v1
kind: Config
current-context: canary
preferences: {colors: true}
extensions: [{name: canary, extension: {canary: [1, 2.5, null, {a: canary}]}}]
contexts:
- name: canary
  context: {cluster: canary-cluster, user: canary-user, namespace: canary}
- name: other
  context: {cluster: gone, user: gone}
clusters:
- name: canary-cluster
  cluster: {` + cluster + `}
users:
- name: other
  user: {exec: {command: canary, apiVersion: client.authentication.k8s.io/v1}}
- name: canary-user
  user: {` + user + `}
`
}

func encode(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

// oddKubeconfig is one that is not taken.
type oddKubeconfig struct {
	name, text string
	field      string
	fault      FaultText
}

func oddUsers(t testing.TB) []oddKubeconfig {
	t.Helper()
	certificate, key := newAuthority(t).issue(t)
	_, otherKey := newAuthority(t).issue(t)
	// Made in a moment, too long to be used.
	long := make([]byte, maxKeyPEM)
	_, err := rand.Read(long)
	require.NoError(t, err)
	user := func(name, user, field string, fault FaultText) oddKubeconfig {
		return oddKubeconfig{"user, " + name, kubeconfig(soundCluster, user), field, fault}
	}
	exec := func(command, args string, fault FaultText) oddKubeconfig {
		return user("exec of "+command+" "+args, soundUser+`, exec: {apiVersion: canary, command: '`+command+`', args: [canary, `+args+`], env: [{name: canary, value: canary}], installHint: canary}`, fieldUserExec, fault)
	}
	provider := func(name string, fault FaultText) oddKubeconfig {
		return user("auth-provider "+name, soundUser+`, auth-provider: {name: `+name+`, config: {access-token: canary, cmd-path: /bin/canary}}`, fieldUserProvider, fault)
	}
	pair := func(name string, certificate, key []byte, field string, fault FaultText) oddKubeconfig {
		return user(name, `client-certificate-data: "`+encode(certificate)+`", client-key-data: "`+encode(key)+`"`, field, fault)
	}
	return []oddKubeconfig{
		exec("aws", "eks, get-token", FaultLoginAmazon),
		exec("/usr/local/bin/aws-iam-authenticator", "token", FaultLoginAmazon),
		exec("gke-gcloud-auth-plugin", "", FaultLoginGoogle),
		exec(`C:\bin\GKE-gcloud-auth-plugin.exe`, "", FaultLoginGoogle),
		exec("kubelogin", "get-token, --server-id, canary", FaultLoginAzure),
		exec("kubelogin", "get-token, --oidc-issuer-url=canary", FaultLoginOIDC),
		exec("kubectl", "oidc-login, get-token", FaultLoginOIDC),
		exec("kubectl", "canary", FaultLogin),
		exec("doctl", "kubernetes", FaultLoginOcean),
		exec("/bin/canary", "", FaultLogin),
		exec("", "", FaultLogin),
		user("empty exec", soundUser+", exec: {}", fieldUserExec, FaultLogin),
		user("exec of a wrong type", soundUser+", exec: canary", fieldUserExec, FaultType),
		provider("gcp", FaultLoginGoogle),
		provider("azure", FaultLoginAzure),
		provider("oidc", FaultLoginOIDC),
		provider("canary", FaultLogin),
		user("certificate file", "client-certificate: /canary, "+soundUser, fieldUserCertFile, FaultFile),
		user("key file", "client-key: canary.pem, "+soundUser, fieldUserKeyFile, FaultFile),
		user("token file", "tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/canary, "+soundUser, fieldUserTokenFile, FaultFile),
		user("as", "as: canary, "+soundUser, fieldUserAs, FaultImpersonate),
		user("as-uid", "as-uid: canary, "+soundUser, fieldUserAsUID, FaultImpersonate),
		user("as-groups", "as-groups: [canary], "+soundUser, fieldUserAsGroups, FaultImpersonate),
		user("as-user-extra", "as-user-extra: {canary: [canary]}, "+soundUser, fieldUserAsExtra, FaultImpersonate),
		user("username", "username: canary, password: canary", fieldUserName, FaultBasicAuth),
		user("password alone", "password: canary", fieldUserPassword, FaultBasicAuth),
		user("nothing", "", fieldUser, FaultNoLogin),
		user("empty token", `token: ""`, fieldUser, FaultNoLogin),
		user("token of a line feed", `token: "\n"`, fieldUser, FaultNoLogin),
		user("token of two lines", `token: "canary\nX-Canary: canary"`, fieldUserToken, FaultToken),
		user("token with two line feeds", `token: "canary\n\n"`, fieldUserToken, FaultToken),
		user("token with a control character", `token: "canary\x01"`, fieldUserToken, FaultToken),
		user("token with Bearer", `token: "Bearer canary"`, fieldUserToken, FaultToken),
		user("token of letters that no header has", `token: "canäry"`, fieldUserToken, FaultToken),
		user("token of a wrong type", `token: {canary: canary}`, fieldUserToken, FaultType),
		user("token that is a bool", `token: true`, fieldUserToken, FaultType),
		user("certificate without key", `client-certificate-data: "`+encode(certificate)+`", `+soundUser, fieldUserKey, FaultNoKey),
		user("key without certificate", `client-key-data: "`+encode(key)+`", `+soundUser, fieldUserCert, FaultNoCert),
		user("not base64", `client-certificate-data: "canary!", client-key-data: canary`, "", FaultBase64),
		pair("certificate that is none", []byte(canary), key, fieldUserCert, FaultPair),
		pair("certificate with the key of another", certificate, otherKey, fieldUserCert, FaultPair),
		pair("key that is none", certificate, []byte(canary), fieldUserCert, FaultPair),
		pair("key that is too long", certificate, block("RSA PRIVATE KEY", long), fieldUserKey, FaultPair),
	}
}

func oddClusters(t testing.TB) []oddKubeconfig {
	t.Helper()
	ca := encode(newAuthority(t).pem())
	broken := encode(block("CERTIFICATE", []byte(canary)))
	cluster := func(name, cluster, field string, fault FaultText) oddKubeconfig {
		return oddKubeconfig{"cluster, " + name, kubeconfig(cluster, soundUser), field, fault}
	}
	all := []oddKubeconfig{
		cluster("no server", "", fieldClusterServer, FaultMissing),
		cluster("server of a wrong type", "server: [canary]", fieldClusterServer, FaultType),
		cluster("CA file", soundCluster+", certificate-authority: /canary", fieldClusterCAFile, FaultFile),
		cluster("CA not base64", soundCluster+`, certificate-authority-data: "canary!"`, "", FaultBase64),
		cluster("CA not PEM", soundCluster+`, certificate-authority-data: Y2FuYXJ5`, fieldClusterCA, FaultCA),
		cluster("CA no certificate", soundCluster+`, certificate-authority-data: "`+broken+`"`, fieldClusterCA, FaultCA),
		cluster("insecure", soundCluster+", insecure-skip-tls-verify: true", fieldClusterSkip, FaultNotAllowed),
		cluster("insecure of a wrong type", soundCluster+", insecure-skip-tls-verify: canary", fieldClusterSkip, FaultType),
		cluster("proxy", soundCluster+", proxy-url: http://canary.example", fieldClusterProxy, FaultNotAllowed),
		cluster("server name", soundCluster+", tls-server-name: 'canary canary'", fieldClusterName, FaultServerName),
		cluster("CA and something broken", soundCluster+`, certificate-authority-data: "`+encode(append(newAuthority(t).pem(), block("CERTIFICATE", []byte(canary))...))+`"`, fieldClusterCA, FaultCA),
		cluster("a key twice", soundCluster+`, certificate-authority-data: "`+ca+`", server: "https://canary"`, "", FaultRepeated),
	}
	for _, server := range []string{
		"http://canary.example", "canary.example:6443", "https://", "https://:6443", "https://canary@canary.example", "https://u:canary@canary.example",
		"https://canary.example?canary=1", "https://canary.example?", "https://canary.example#canary", "https://canary.example#", "https:canary", "//canary.example",
		"unix:///canary", "https://canary.example:0", "https://canary.example:70000", "https://canary.example:", "https://canary.example:http",
		"https://can ary", "https://canary_example", "https://canary.example/%zz", "https://[::1", " https://canary.example", "https://canary.example/\x01",
		"https://canary\r\n.example", "https://" + strings.Repeat("canary.", 400) + "example",
	} {
		quoted := strings.NewReplacer("\x01", `\x01`, "\r\n", `\r\n`).Replace(server)
		all = append(all, cluster("server "+quoted, `server: "`+quoted+`"`, fieldClusterServer, FaultServer))
	}
	return all
}

func oddWholes(t testing.TB) []oddKubeconfig {
	t.Helper()
	sound := kubeconfig(soundCluster, soundUser)
	change := func(name, old, with, field string, fault FaultText) oddKubeconfig {
		t.Helper()
		require.Contains(t, sound, old)
		return oddKubeconfig{name, strings.Replace(sound, old, with, 1), field, fault}
	}
	return []oddKubeconfig{
		{"empty", "", "", FaultEmpty},
		{"white space", " \n\t\n", "", FaultEmpty},
		{"comments", "# canary\n", "", FaultEmpty},
		{"null", "null", "", FaultNotMap},
		{"text", "canary", "", FaultNotMap},
		{"list", "[canary]", "", FaultNotMap},
		{"not YAML", "canary: [canary", "", FaultSyntax},
		{"tabs", "canary:\n\t- canary", "", FaultSyntax},
		{"binary", "\x00canary\x01\x02", "", FaultSyntax},
		{"not UTF-8", sound + "# canary \xff\xfe", "", FaultEncoding},
		{"UTF-16", "\xff\xfek\x00i\x00n\x00d\x00", "", FaultEncoding},
		{"too large", sound + "# canary" + strings.Repeat(" ", maxKubeconfig), "", FaultSize},
		{"too many values", "canary: [" + strings.Repeat("a,", maxMarks) + "]", "", FaultSize},
		{"two documents", sound + "---\n" + sound, "", FaultDocuments},
		{"a second document that is none", sound + "---\n[canary", "", FaultDocuments},
		{"alias", "canary: &canary [a]\nother: *canary\n" + sound, "", FaultAlias},
		{"alias to itself", "canary: &canary [*canary]\n" + sound, "", FaultAlias},
		{"alias as a key", "canary: &canary a\n? *canary\n: b\n" + sound, "", FaultAlias},
		{"alias to nowhere", "canary: *canary\n" + sound, "", FaultSyntax},
		{"merge", "<<: {canary: a}\n" + sound, "", FaultAlias},
		{"deep", "canary: " + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "\n" + sound, "", FaultDepth},
		{"a key that is a list", "? [canary]\n: a\n" + sound, "", FaultType},
		{"a key twice", sound + "kind: Config\n", "", FaultRepeated},
		{"empty object", "{}", fieldCurrent, FaultMissing},
		{"another kind", "apiVersion: v1\nkind: Secret\ndata: {canary: canary}\n", fieldKind, FaultKind},
		{"a wrong kind", "kind: [canary]\n", fieldKind, FaultType},
		change("another version", "apiVersion: v1", "apiVersion: canary/v1", fieldAPIVersion, FaultAPIVersion),
		change("no current context", "current-context: canary", "current-context: ''", fieldCurrent, FaultMissing),
		change("a current context that is null", "current-context: canary", "current-context:", fieldCurrent, FaultMissing),
		change("another current context", "current-context: canary", "current-context: canary2", fieldCurrent, FaultDangling),
		change("a broken current context", "current-context: canary", "current-context: other", fieldContextCluster, FaultDangling),
		change("a context without cluster", "cluster: canary-cluster, ", "", fieldContextCluster, FaultMissing),
		change("a context without user", "user: canary-user, ", "", fieldContextUser, FaultMissing),
		change("no such user", "user: canary-user, ", "user: canary, ", fieldContextUser, FaultDangling),
		change("two contexts", "- name: other\n  context", "- name: canary\n  context", fieldContexts, FaultDuplicate),
		change("two users", "- name: other\n  user", "- name: canary-user\n  user", fieldUsers, FaultDuplicate),
		change("two clusters", "clusters:\n", "clusters:\n- name: canary-cluster\n  cluster: {server: canary}\n", fieldClusters, FaultDuplicate),
		change("a user without name", "- name: other\n  user", "- user", fieldUsers, FaultMissing),
		change("contexts that are none", "contexts:\n", "contexts:\n- canary\n", "", FaultType),
		change("clusters that are none", "clusters:\n", "clusters: canary\ncanary:\n", "", FaultType),
	}
}

func oddKubeconfigs(t testing.TB) []oddKubeconfig {
	t.Helper()
	all := append(oddUsers(t), oddClusters(t)...)
	return append(all, oddWholes(t)...)
}
