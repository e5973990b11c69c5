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

package v1alpha1

// AuthType is a way to authenticate to an API server.
// +enum
// +k8s:enum
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
	// +required
	// +k8s:required
	Type AuthType `json:"type"`

	// Client certificate, for type clientCert.
	// +optional
	// +k8s:optional
	ClientCert *ClientCertAuthSpec `json:"clientCert,omitempty"`
	// Program, for type execPlugin. It is never run.
	// +optional
	// +k8s:optional
	ExecPlugin *ExecPluginAuthSpec `json:"execPlugin,omitempty"`
	// Kubeconfig, for type kubeconfig.
	// +optional
	// +k8s:optional
	Kubeconfig *KubeconfigAuthSpec `json:"kubeconfig,omitempty"`
	// OpenID Connect client, for type oidc.
	// +optional
	// +k8s:optional
	OIDC *OIDAuthSpec `json:"oidc,omitempty"`
	// Bearer token, for type token.
	// +optional
	// +k8s:optional
	Token *TokenAuthSpec `json:"token,omitempty"`
}

// SecretKeySelector names a key of a Secret of the same namespace.
type SecretKeySelector struct {
	// Name of the Secret, a DNS subdomain.
	// +required
	// +k8s:required
	// +k8s:format=k8s-long-name
	Name string `json:"name"`
	// Key in its data: letters, digits, "-", "_" and ".", at most 253.
	// +required
	// +k8s:required
	Key string `json:"key"`
	// Accepted, not used: what is named must be there to connect.
	// +optional
	// +k8s:optional
	Optional *bool `json:"optional,omitempty"`
}

// ConfigMapKeySelector names a key of a ConfigMap of the same namespace.
type ConfigMapKeySelector struct {
	// Name of the ConfigMap, a DNS subdomain.
	// +required
	// +k8s:required
	// +k8s:format=k8s-long-name
	Name string `json:"name"`
	// Key in its data: letters, digits, "-", "_" and ".", at most 253.
	// +required
	// +k8s:required
	Key string `json:"key"`
	// Accepted, not used: what is named must be there to connect.
	// +optional
	// +k8s:optional
	Optional *bool `json:"optional,omitempty"`
}

// SecretReference names a Secret.
type SecretReference struct {
	// Name of the Secret, a DNS subdomain.
	// +optional
	// +k8s:optional
	// +k8s:format=k8s-long-name
	Name string `json:"name,omitempty"`
	// Namespace of the Secret. Accepted, not used.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// ClientCertAuthSpec is authentication with a client certificate.
type ClientCertAuthSpec struct {
	// Where the certificate is, in PEM form.
	// +required
	CertRef SecretKeySelector `json:"certRef"`
	// Where its private key is, in PEM form.
	// +required
	KeyRef SecretKeySelector `json:"keyRef"`
}

// KubeconfigAuthSpec is authentication with a kubeconfig.
type KubeconfigAuthSpec struct {
	// Where the kubeconfig is. Its current context says what is connected to. It may hold
	// data only: no program, no provider, no path of a file, no impersonation.
	// +required
	SecretRef SecretKeySelector `json:"secretRef"`
}

// TokenAuthSpec is authentication with a bearer token.
type TokenAuthSpec struct {
	// Where the token is.
	// +required
	TokenRef SecretKeySelector `json:"tokenRef"`
}

// ExecPluginAuthSpec is authentication with what a program prints.
type ExecPluginAuthSpec struct {
	// Arguments of the command.
	// +optional
	// +listType=atomic
	// +k8s:optional
	Args []string `json:"args,omitempty"`
	// Command to execute.
	// +required
	// +k8s:required
	Command string `json:"command"`
	// Secret with what the program needs to know.
	// +required
	CredentialsRef SecretReference `json:"credentialsRef"`
	// Environment of the command, one entry a name.
	// +optional
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=name
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=name
	Env []EnvVar `json:"env,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
}

// EnvVar is a variable of the environment of a program.
type EnvVar struct {
	// Name of the variable.
	// +required
	// +k8s:required
	Name string `json:"name"`
	// Value of the variable. It can be read by everybody who may read the Cluster.
	// +optional
	Value string `json:"value,omitempty"`
	// Where the value is.
	// +optional
	// +k8s:optional
	ValueFrom *EnvVarSource `json:"valueFrom,omitempty"`
}

// EnvVarSource says where the value of a variable is.
type EnvVarSource struct {
	// A key of a ConfigMap of the namespace.
	// +optional
	// +k8s:optional
	ConfigMapKeyRef *ConfigMapKeySelector `json:"configMapKeyRef,omitempty"`
	// A key of a Secret of the namespace.
	// +optional
	// +k8s:optional
	SecretKeyRef *SecretKeySelector `json:"secretKeyRef,omitempty"`
}

// OIDAuthSpec is authentication as a client of an OpenID Connect provider.
type OIDAuthSpec struct {
	// Audience of the token.
	// +optional
	Audience string `json:"audience,omitempty"`
	// How the client authenticates to the provider.
	// +required
	ClientAuth OIDCClientAuthSpec `json:"clientAuth"`
	// ID of the client.
	// +required
	// +k8s:required
	ClientID string `json:"clientID"`
	// URL of the provider.
	// +required
	// +k8s:required
	IssuerURL string `json:"issuerURL"`
	// Scopes to ask for.
	// +optional
	// +listType=atomic
	// +k8s:optional
	Scopes []string `json:"scopes,omitempty"`
	// How the provider is recognised.
	// +optional
	// +k8s:optional
	TLS *TLSSpec `json:"tls,omitempty"`
}

// OIDCClientAuthType is a way of a client to authenticate to an OpenID Connect provider.
// +enum
// +k8s:enum
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
	// +required
	// +k8s:required
	Type OIDCClientAuthType `json:"type"`
	// Secret of the client, for type clientSecret.
	// +optional
	// +k8s:optional
	ClientSecret *OIDCAuthClientSecretSpec `json:"clientSecret,omitempty"`
	// Private key of the client, for type privateKeyJWT.
	// +optional
	// +k8s:optional
	PrivateKeyJWT *OIDCAuthPrivateKeyJWTSpec `json:"privateKeyJWT,omitempty"`
	// Certificate of the client, for type tlsClientAuth.
	// +optional
	// +k8s:optional
	TLSClientAuth *OIDCAuthTLSClientAuthSpec `json:"tlsClientAuth,omitempty"`
}

// OIDCAuthClientSecretSpec is the secret of a client.
type OIDCAuthClientSecretSpec struct {
	// Where the secret is.
	// +required
	ClientSecretRef SecretKeySelector `json:"clientSecretRef"`
}

// OIDCAuthPrivateKeyJWTSpec is the private key of a client.
type OIDCAuthPrivateKeyJWTSpec struct {
	// Where the private key is.
	// +required
	PrivateKeyRef SecretKeySelector `json:"privateKeyRef"`
}

// OIDCAuthTLSClientAuthSpec is the certificate of a client.
type OIDCAuthTLSClientAuthSpec struct {
	// Where the certificate is.
	// +required
	CertRef SecretKeySelector `json:"certRef"`
	// Where its private key is.
	// +required
	KeyRef SecretKeySelector `json:"keyRef"`
}

// TLSSpec is how a server is recognised.
type TLSSpec struct {
	// Where the CA certificate of the server is.
	// +required
	CAPublicCertRef ConfigMapKeySelector `json:"caPublicCertRef"`
	// Whether any certificate is taken.
	// +required
	// +k8s:required
	InsecureSkipVerify *bool `json:"insecureSkipVerify,omitempty"`
}
