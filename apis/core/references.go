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

import "k8s.io/apimachinery/pkg/util/validation/field"

// Kinds of what a Cluster refers to.
const (
	KindSecret    = "Secret"
	KindConfigMap = "ConfigMap"
)

// +k8s:deepcopy-gen=false

// Reference is a reference of a Cluster to a Secret or a ConfigMap of its namespace.
type Reference struct {
	// Path is where it is.
	Path *field.Path
	// Kind is what is named: KindSecret or KindConfigMap.
	Kind string
	// Name is its name, and Key the key in its data; Whole is for a reference to all of it.
	Name, Key string
	Whole     bool
}

// References are all references of a spec, whether they are used or not. Those without a
// name are among them.
func (in *ClusterSpec) References() []Reference {
	if in.Agentless == nil {
		return nil
	}
	var all []Reference
	secret := func(path *field.Path, to SecretKeySelector) {
		all = append(all, Reference{Path: path, Kind: KindSecret, Name: to.Name, Key: to.Key})
	}
	configMap := func(path *field.Path, to *ConfigMapKeySelector) {
		if to != nil {
			all = append(all, Reference{Path: path, Kind: KindConfigMap, Name: to.Name, Key: to.Key})
		}
	}
	path, auth := field.NewPath("spec", "agentless"), &in.Agentless.Auth
	configMap(path.Child("caPublicCertRef"), in.Agentless.CAPublicCertRef)
	path = path.Child("auth")
	if block := auth.ClientCert; block != nil {
		secret(path.Child("clientCert", "certRef"), block.CertRef)
		secret(path.Child("clientCert", "keyRef"), block.KeyRef)
	}
	if block := auth.Kubeconfig; block != nil {
		secret(path.Child("kubeconfig", "secretRef"), block.SecretRef)
	}
	if block := auth.Token; block != nil {
		secret(path.Child("token", "tokenRef"), block.TokenRef)
	}
	if block := auth.ExecPlugin; block != nil {
		path := path.Child("execPlugin")
		all = append(all, Reference{Path: path.Child("credentialsRef"), Kind: KindSecret, Name: block.CredentialsRef.Name, Whole: true})
		for i := range block.Env {
			from, path := block.Env[i].ValueFrom, path.Child("env").Index(i).Child("valueFrom")
			if from == nil {
				continue
			}
			configMap(path.Child("configMapKeyRef"), from.ConfigMapKeyRef)
			if from.SecretKeyRef != nil {
				secret(path.Child("secretKeyRef"), *from.SecretKeyRef)
			}
		}
	}
	if block := auth.OIDC; block != nil {
		path := path.Child("oidc")
		if block.TLS != nil {
			configMap(path.Child("tls", "caPublicCertRef"), &block.TLS.CAPublicCertRef)
		}
		path = path.Child("clientAuth")
		if with := block.ClientAuth.ClientSecret; with != nil {
			secret(path.Child("clientSecret", "clientSecretRef"), with.ClientSecretRef)
		}
		if with := block.ClientAuth.PrivateKeyJWT; with != nil {
			secret(path.Child("privateKeyJWT", "privateKeyRef"), with.PrivateKeyRef)
		}
		if with := block.ClientAuth.TLSClientAuth; with != nil {
			secret(path.Child("tlsClientAuth", "certRef"), with.CertRef)
			secret(path.Child("tlsClientAuth", "keyRef"), with.KeyRef)
		}
	}
	return all
}
