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
	"bytes"

	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
)

// Allowances are what a kubeconfig may ask for only if the administrator lets it.
type Allowances struct {
	// InsecureTLS is insecure-skip-tls-verify.
	InsecureTLS bool
	// ProxyURL is proxy-url.
	ProxyURL bool
}

// ParseKubeconfig returns the access of the current context of a kubeconfig, in YAML or
// JSON, of at most 1 MiB. Nothing is run or read for it (C2). It fails with a *Fault.
//
// What a kubeconfig has besides, e.g. a namespace, extensions and other contexts, makes no
// difference, unless it cannot be decoded.
func ParseKubeconfig(data []byte, allow Allowances) (*Access, error) {
	config, fault := decode(data)
	if fault != nil {
		return nil, fault
	}
	cluster, user, fault := current(config)
	if fault != nil {
		return nil, fault
	}
	m, fault := clusterOf(cluster, allow)
	if fault != nil {
		return nil, fault
	}
	if fault := m.login(user); fault != nil {
		return nil, fault
	}
	return newAccess(m), nil
}

// current returns what the current context is of.
func current(config *clientcmdv1.Config) (*clientcmdv1.Cluster, *clientcmdv1.AuthInfo, *Fault) {
	// Without them it is taken for one of now, by kubectl as well.
	if config.Kind != "" && config.Kind != "Config" {
		return nil, nil, &Fault{fieldKind, FaultKind}
	}
	if config.APIVersion != "" && config.APIVersion != "v1" {
		return nil, nil, &Fault{fieldAPIVersion, FaultAPIVersion}
	}
	context, fault := find(config.Contexts, config.CurrentContext, fieldContexts, fieldCurrent,
		func(named *clientcmdv1.NamedContext) (string, *clientcmdv1.Context) {
			return named.Name, &named.Context
		})
	if fault != nil {
		return nil, nil, fault
	}
	cluster, fault := find(config.Clusters, context.Cluster, fieldClusters, fieldContextCluster,
		func(named *clientcmdv1.NamedCluster) (string, *clientcmdv1.Cluster) {
			return named.Name, &named.Cluster
		})
	if fault != nil {
		return nil, nil, fault
	}
	user, fault := find(config.AuthInfos, context.AuthInfo, fieldUsers, fieldContextUser,
		func(named *clientcmdv1.NamedAuthInfo) (string, *clientcmdv1.AuthInfo) {
			return named.Name, &named.AuthInfo
		})
	if fault != nil {
		return nil, nil, fault
	}
	return cluster, user, nil
}

// find returns what has a name. Programs differ in which they take of two with the same one.
func find[N, T any](all []N, name, field, reference string, of func(*N) (string, *T)) (*T, *Fault) {
	var found *T
	names := map[string]bool{}
	for i := range all {
		itsName, it := of(&all[i])
		if itsName == "" {
			return nil, &Fault{field, FaultMissing}
		}
		if names[itsName] {
			return nil, &Fault{field, FaultDuplicate}
		}
		names[itsName] = true
		if itsName == name {
			found = it
		}
	}
	switch {
	case name == "":
		return nil, &Fault{reference, FaultMissing}
	case found == nil:
		return nil, &Fault{reference, FaultDangling}
	default:
		return found, nil
	}
}

// clusterOf takes over what a cluster is said to be.
func clusterOf(cluster *clientcmdv1.Cluster, allow Allowances) (*material, *Fault) {
	m := &material{ca: bytes.Clone(cluster.CertificateAuthorityData), plain: cluster.DisableCompression}
	var fault *Fault
	if m.server, fault = parseServer(cluster.Server, fieldClusterServer); fault != nil {
		return nil, fault
	}
	if cluster.CertificateAuthority != "" {
		return nil, &Fault{fieldClusterCAFile, FaultFile}
	}
	if fault := checkCA(m.ca, fieldClusterCA); fault != nil {
		return nil, fault
	}
	if cluster.InsecureSkipTLSVerify {
		if !allow.InsecureTLS {
			return nil, &Fault{fieldClusterSkip, FaultNotAllowed}
		}
		if len(m.ca) > 0 {
			return nil, &Fault{fieldClusterSkip, FaultCAInsecure}
		}
		m.insecure = true
	}
	if cluster.TLSServerName != "" {
		if !isHost(cluster.TLSServerName) {
			return nil, &Fault{fieldClusterName, FaultServerName}
		}
		m.serverName = cluster.TLSServerName
	}
	if cluster.ProxyURL != "" {
		if !allow.ProxyURL {
			return nil, &Fault{fieldClusterProxy, FaultNotAllowed}
		}
		if m.proxy, fault = parseProxy(cluster.ProxyURL, fieldClusterProxy); fault != nil {
			return nil, fault
		}
	}
	return m, nil
}

// login takes over who a user is said to be.
func (m *material) login(user *clientcmdv1.AuthInfo) *Fault {
	if fault := refused(user); fault != nil {
		return fault
	}
	var fault *Fault
	if m.token, fault = checkedToken(user.Token, fieldUserToken); fault != nil {
		return fault
	}
	if fault := checkPair(user.ClientCertificateData, user.ClientKeyData, fieldUserCert, fieldUserKey); fault != nil {
		return fault
	}
	m.certificate, m.key = bytes.Clone(user.ClientCertificateData), bytes.Clone(user.ClientKeyData)
	if m.token == "" && len(m.certificate) == 0 {
		return &Fault{fieldUser, FaultNoLogin}
	}
	return nil
}
