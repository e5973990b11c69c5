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

package core

// AuthType is a way to authenticate to an API server.
type AuthType string

// Ways to authenticate to an API server.
const (
	// AuthTypeClientCert: with a client certificate. Alpha.
	AuthTypeClientCert AuthType = "clientCert"
	// AuthTypeExecPlugin: with what a program prints. Not implemented.
	AuthTypeExecPlugin AuthType = "execPlugin"
	// AuthTypeKubeconfig: with a kubeconfig.
	AuthTypeKubeconfig AuthType = "kubeconfig"
	// AuthTypeOIDC: with a token of an OpenID Connect provider. Not implemented.
	AuthTypeOIDC AuthType = "oidc"
	// AuthTypeToken: with a bearer token. Alpha.
	AuthTypeToken AuthType = "token"
)

// ClusterAuthSpec is how Entente authenticates to an API server. The block of the type must
// be there, and no other one.
type ClusterAuthSpec struct {
	// How Entente authenticates: kubeconfig; clientCert and token (both alpha, behind the
	// feature gate ClusterAuthTokenAndCert, which is off by default); execPlugin and oidc
	// (not implemented).
	Type AuthType

	// Client certificate, for type clientCert.
	ClientCert *ClientCertAuthSpec
	// Program, for type execPlugin. It is never run.
	ExecPlugin *ExecPluginAuthSpec
	// Kubeconfig, for type kubeconfig.
	Kubeconfig *KubeconfigAuthSpec
	// OpenID Connect client, for type oidc.
	OIDC *OIDAuthSpec
	// Bearer token, for type token.
	Token *TokenAuthSpec
}

// SecretKeySelector names a key of a Secret of the same namespace.
type SecretKeySelector struct {
	// Name of the Secret, a DNS subdomain.
	Name string
	// Key in its data: letters, digits, "-", "_" and ".", at most 253.
	Key string
	// Accepted, not used: what is named must be there to connect.
	Optional *bool
}

// ConfigMapKeySelector names a key of a ConfigMap of the same namespace.
type ConfigMapKeySelector struct {
	// Name of the ConfigMap, a DNS subdomain.
	Name string
	// Key in its data: letters, digits, "-", "_" and ".", at most 253.
	Key string
	// Accepted, not used: what is named must be there to connect.
	Optional *bool
}

// SecretReference names a Secret.
type SecretReference struct {
	// Name of the Secret, a DNS subdomain.
	Name string
	// Namespace of the Secret. Accepted, not used.
	Namespace string
}

// ClientCertAuthSpec is authentication with a client certificate.
type ClientCertAuthSpec struct {
	// Where the certificate is, in PEM form.
	CertRef SecretKeySelector
	// Where its private key is, in PEM form.
	KeyRef SecretKeySelector
}

// KubeconfigAuthSpec is authentication with a kubeconfig.
type KubeconfigAuthSpec struct {
	// Where the kubeconfig is. Its current context says what is connected to. It may hold
	// data only: no program, no provider, no path of a file, no impersonation.
	SecretRef SecretKeySelector
}

// TokenAuthSpec is authentication with a bearer token.
type TokenAuthSpec struct {
	// Where the token is.
	TokenRef SecretKeySelector
}

// ExecPluginAuthSpec is authentication with what a program prints.
type ExecPluginAuthSpec struct {
	// Arguments of the command.
	Args []string
	// Command to execute.
	Command string
	// Secret with what the program needs to know.
	CredentialsRef SecretReference
	// Environment of the command, one entry a name.
	Env []EnvVar
}

// EnvVar is a variable of the environment of a program.
type EnvVar struct {
	// Name of the variable.
	Name string
	// Value of the variable. It can be read by everybody who may read the Cluster.
	Value string
	// Where the value is.
	ValueFrom *EnvVarSource
}

// EnvVarSource says where the value of a variable is.
type EnvVarSource struct {
	// A key of a ConfigMap of the namespace.
	ConfigMapKeyRef *ConfigMapKeySelector
	// A key of a Secret of the namespace.
	SecretKeyRef *SecretKeySelector
}

// OIDAuthSpec is authentication as a client of an OpenID Connect provider.
type OIDAuthSpec struct {
	// Audience of the token.
	Audience string
	// How the client authenticates to the provider.
	ClientAuth OIDCClientAuthSpec
	// ID of the client.
	ClientID string
	// URL of the provider.
	IssuerURL string
	// Scopes to ask for.
	Scopes []string
	// How the provider is recognised.
	TLS *TLSSpec
}

// OIDCClientAuthType is a way of a client to authenticate to an OpenID Connect provider.
type OIDCClientAuthType string

// Ways of a client to authenticate to an OpenID Connect provider.
const (
	// OIDCClientAuthClientSecret: with a secret.
	OIDCClientAuthClientSecret OIDCClientAuthType = "clientSecret"
	// OIDCClientAuthPrivateKeyJWT: with a token signed with its private key.
	OIDCClientAuthPrivateKeyJWT OIDCClientAuthType = "privateKeyJWT"
	// OIDCClientAuthTLSClientAuth: with a client certificate.
	OIDCClientAuthTLSClientAuth OIDCClientAuthType = "tlsClientAuth"
)

// OIDCClientAuthSpec is how a client authenticates to an OpenID Connect provider. The block
// of the type must be there, and no other one.
type OIDCClientAuthSpec struct {
	// How the client authenticates: clientSecret, privateKeyJWT or tlsClientAuth.
	Type OIDCClientAuthType
	// Secret of the client, for type clientSecret.
	ClientSecret *OIDCAuthClientSecretSpec
	// Private key of the client, for type privateKeyJWT.
	PrivateKeyJWT *OIDCAuthPrivateKeyJWTSpec
	// Certificate of the client, for type tlsClientAuth.
	TLSClientAuth *OIDCAuthTLSClientAuthSpec
}

// OIDCAuthClientSecretSpec is the secret of a client.
type OIDCAuthClientSecretSpec struct {
	// Where the secret is.
	ClientSecretRef SecretKeySelector
}

// OIDCAuthPrivateKeyJWTSpec is the private key of a client.
type OIDCAuthPrivateKeyJWTSpec struct {
	// Where the private key is.
	PrivateKeyRef SecretKeySelector
}

// OIDCAuthTLSClientAuthSpec is the certificate of a client.
type OIDCAuthTLSClientAuthSpec struct {
	// Where the certificate is.
	CertRef SecretKeySelector
	// Where its private key is.
	KeyRef SecretKeySelector
}

// TLSSpec is how a server is recognised.
type TLSSpec struct {
	// Where the CA certificate of the server is.
	CAPublicCertRef ConfigMapKeySelector
	// Whether any certificate is taken.
	InsecureSkipVerify *bool
}
