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

// FaultText says what is wrong with an access to a cluster. It may be shown to anybody.
type FaultText string

// What can be wrong with a kubeconfig as a whole.
const (
	FaultEmpty      FaultText = "it is empty"
	FaultSize       FaultText = "it is larger than 1 MiB, or has too many parts"
	FaultEncoding   FaultText = "it is not UTF-8"
	FaultSyntax     FaultText = "it is neither YAML nor JSON"
	FaultDocuments  FaultText = "it has more than one document"
	FaultAlias      FaultText = "it uses an alias or a merge of YAML, which is not taken here"
	FaultDepth      FaultText = "it is nested too deeply"
	FaultRepeated   FaultText = "a key is there twice"
	FaultNotMap     FaultText = "it is not an object"
	FaultType       FaultText = "a value is of the wrong type"
	FaultBase64     FaultText = "the value of a field that ends with -data is not base64"
	FaultKind       FaultText = "it is not a kubeconfig: the kind has to be Config"
	FaultAPIVersion FaultText = "it is not a kubeconfig of a known version: that has to be v1"
)

// What can be wrong with a field.
const (
	FaultMissing     FaultText = "it is missing"
	FaultDuplicate   FaultText = "two have the same name"
	FaultDangling    FaultText = "there is none of that name"
	FaultFile        FaultText = "files are not read; put what is in it into the field that ends with -data, or the token into token"
	FaultImpersonate FaultText = "impersonation is not done"
	FaultBasicAuth   FaultText = "Kubernetes has no passwords any more; use a token or a client certificate"
	FaultNotAllowed  FaultText = "the administrator of this server does not allow it"
	FaultServer      FaultText = "it is not a URL of the form https://HOST[:PORT][/PATH]"
	FaultServerName  FaultText = "it is not a host name"
	FaultProxy       FaultText = "it is not a URL of the form http, https or socks5://HOST[:PORT]"
	FaultCA          FaultText = "it holds no certificates in PEM that can be used"
	FaultCAInsecure  FaultText = "there is an authority, and at the same time certificates are not to be checked"
	FaultPair        FaultText = "it is not a certificate with its key, both in PEM and of at most 8192 bits"
	FaultNoKey       FaultText = "there is a client certificate, but no key for it"
	FaultNoCert      FaultText = "there is a client key, but no certificate for it"
	FaultToken       FaultText = "it is not a token: there is white space or another character in it that no token has"
	FaultNoLogin     FaultText = "the user has neither a token nor a client certificate"
)

// Programs and plug-ins that log in are not run. What to do instead is said by whose they are.
const (
	FaultLogin       FaultText = "programs and plug-ins that log in are not run" + useToken
	FaultLoginAmazon FaultText = "the program that logs in to Amazon EKS is not run" + useToken
	FaultLoginGoogle FaultText = "the program or plug-in that logs in to Google GKE is not run" + useToken
	FaultLoginAzure  FaultText = "the program or plug-in that logs in to Azure AKS is not run" + useToken + "; or, where local accounts are enabled, a kubeconfig of az aks get-credentials --admin"
	FaultLoginOIDC   FaultText = "the program or plug-in that logs in with OIDC is not run" + useToken
	FaultLoginOcean  FaultText = "the program that logs in to DigitalOcean is not run" + useToken + ", or a kubeconfig that is downloaded there"

	useToken = "; use the token of a ServiceAccount of that cluster, from a Secret of type kubernetes.io/service-account-token"
)

// Fields of a Fault.
const (
	fieldKind           = "kind"
	fieldAPIVersion     = "apiVersion"
	fieldCurrent        = "current-context"
	fieldContexts       = "contexts[].name"
	fieldContextCluster = "contexts[].context.cluster"
	fieldContextUser    = "contexts[].context.user"
	fieldClusters       = "clusters[].name"
	fieldClusterServer  = "clusters[].cluster.server"
	fieldClusterName    = "clusters[].cluster.tls-server-name"
	fieldClusterSkip    = "clusters[].cluster.insecure-skip-tls-verify"
	fieldClusterCAFile  = "clusters[].cluster.certificate-authority"
	fieldClusterCA      = "clusters[].cluster.certificate-authority-data"
	fieldClusterProxy   = "clusters[].cluster.proxy-url"
	fieldClusterPlain   = "clusters[].cluster.disable-compression"
	fieldUsers          = "users[].name"
	fieldUser           = "users[].user"
	fieldUserExec       = "users[].user.exec"
	fieldUserProvider   = "users[].user.auth-provider"
	fieldUserCertFile   = "users[].user.client-certificate"
	fieldUserCert       = "users[].user.client-certificate-data"
	fieldUserKeyFile    = "users[].user.client-key"
	fieldUserKey        = "users[].user.client-key-data"
	fieldUserToken      = "users[].user.token"
	fieldUserTokenFile  = "users[].user.tokenFile"
	fieldUserAs         = "users[].user.as"
	fieldUserAsUID      = "users[].user.as-uid"
	fieldUserAsGroups   = "users[].user.as-groups"
	fieldUserAsExtra    = "users[].user.as-user-extra"
	fieldUserName       = "users[].user.username"
	fieldUserPassword   = "users[].user.password"

	// Of Token and ClientCertificate.
	fieldServer      = "server"
	fieldCA          = "ca"
	fieldToken       = "token"
	fieldCertificate = "certificate"
	fieldKey         = "key"
)

// Fault is what is wrong with an access to a cluster. It is made of constants and quotes
// nothing of it: it may be shown to anybody.
type Fault struct {
	// Field is the path of what is wrong, e.g. users[].user.exec, or the name of what
	// Token and ClientCertificate were given: server, ca, token, certificate or key.
	// Empty: the kubeconfig as a whole.
	Field string
	Text  FaultText
}

// Error is made of constants.
func (f *Fault) Error() string {
	if f.Field == "" {
		return string(f.Text)
	}
	return f.Field + ": " + string(f.Text)
}
