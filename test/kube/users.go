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

package kube

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// controllerManagerUser is who kube-controller-manager is; Kubernetes has made the
// rights for that name.
const controllerManagerUser = "system:kube-controller-manager"

// writeKubeconfigs makes the kubeconfigs of those who are there from the start.
func (c *ControlPlane) writeKubeconfigs() error {
	if _, err := c.AddUser(Admin, "system:masters"); err != nil {
		return err
	}
	_, err := c.AddUser(controllerManagerUser)
	return err
}

// Kubeconfig is the path of a user's kubeconfig, one of AddUser or of
// ServiceAccountKubeconfig.
func (c *ControlPlane) Kubeconfig(user string) string {
	// Colons would cut the path in two in the variable KUBECONFIG.
	name := url.QueryEscape(user) + ".kubeconfig"
	if strings.HasPrefix(user, "system:") {
		return c.path("components", name)
	}
	return c.path(name)
}

// AddUser makes a user with a client certificate, and returns the path of the
// kubeconfig. Such a user may do nothing but what is granted to it, to the groups,
// and to everyone. The control plane must have been started.
func (c *ControlPlane) AddUser(name string, groups ...string) (string, error) {
	certificate, key, err := c.pki.cluster.issue(x509.Certificate{
		Subject:     pkix.Name{CommonName: name, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return "", fmt.Errorf("could not add user %s: %w", name, err)
	}
	return c.writeKubeconfig(name, &clientcmdapi.AuthInfo{ClientCertificateData: certificate, ClientKeyData: key})
}

func (c *ControlPlane) writeKubeconfig(user string, who *clientcmdapi.AuthInfo) (string, error) {
	config := clientcmdapi.NewConfig()
	cluster := clientcmdapi.NewCluster()
	cluster.Server, cluster.CertificateAuthorityData = c.URL(), c.CA()
	context := clientcmdapi.NewContext()
	context.Cluster, context.AuthInfo = c.Name, user
	name := user + "@" + c.Name
	config.Clusters[c.Name], config.AuthInfos[user], config.Contexts[name] = cluster, who, context
	config.CurrentContext = name
	content, err := clientcmd.Write(*config)
	if err != nil {
		return "", fmt.Errorf("could not write the kubeconfig of %s: %w", user, err)
	}
	path := c.Kubeconfig(user)
	return path, writeFile(path, content)
}

func loadKubeconfig(path string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("could not read the kubeconfig %s: %w", path, err)
	}
	config.QPS = -1
	return config, nil
}

// ServiceAccountUser is the user name of a ServiceAccount.
func ServiceAccountUser(namespace, name string) string {
	return serviceaccount.MakeUsername(namespace, name)
}

// ServiceAccountToken gets a token of a ServiceAccount; without audiences it is
// for kube-apiserver. Kubernetes gives none for less than 10 minutes.
func (c *ControlPlane) ServiceAccountToken(ctx context.Context, namespace, name string, lifetime time.Duration, audiences ...string) (string, error) {
	client, err := c.Clientset(Admin)
	if err != nil {
		return "", err
	}
	seconds := int64(lifetime.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences, ExpirationSeconds: &seconds}}
	answer, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("could not get a token of ServiceAccount %s/%s: %w", namespace, name, err)
	}
	return answer.Status.Token, nil
}

// ServiceAccountKubeconfig writes a kubeconfig for a ServiceAccount, with a token
// in a file of its own as in a Pod, and returns its path. From then on the
// ServiceAccount is a user like others: ServiceAccountUser is its name. Calling it
// again renews the token; clients read the file again within a minute.
func (c *ControlPlane) ServiceAccountKubeconfig(ctx context.Context, namespace, name string, lifetime time.Duration) (string, error) {
	token, err := c.ServiceAccountToken(ctx, namespace, name, lifetime)
	if err != nil {
		return "", err
	}
	file := filepath.Join(c.path("tokens"), namespace+"."+name)
	if err := writeFile(file, []byte(token)); err != nil {
		return "", err
	}
	return c.writeKubeconfig(ServiceAccountUser(namespace, name), &clientcmdapi.AuthInfo{TokenFile: file})
}
