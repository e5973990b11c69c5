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

package standalone

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"

	"entente.dev/entente/apiserver/etcd/datadir"
	"entente.dev/entente/peering/pki"
)

// clusterName is what the kubeconfigs call this server.
const clusterName = "entente"

// localUser is a user with a client certificate.
type localUser struct {
	name  string
	group string
}

// localUsers are the users that standalone mode has. What they may do is in the
// default manifests, by group.
func localUsers() []localUser {
	return []localUser{
		{name: "admin", group: "entente:admins"},
		{name: "operator", group: "entente:operators"},
		{name: "viewer", group: "entente:viewers"},
	}
}

// ensureKubeconfig makes the kubeconfig of a user, or brings what it says of this
// server up to date: the port, the authority, the client certificate. Whatever
// else is in the file stays, and a file that is up to date is not touched.
func (e *Environment) ensureKubeconfig(user localUser) error {
	path := e.Kubeconfigs[user.name]
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("could not read the kubeconfig of user %s: %w", user.name, err)
	}
	config, err := clientcmd.Load(before)
	if err != nil {
		// The library's error may quote the file, which has a key in it.
		return fmt.Errorf("could not read the kubeconfig of user %s: %s is not a kubeconfig (delete it to get a new one)", user.name, path)
	}
	unchanged, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("could not read the kubeconfig of user %s: %w", user.name, err)
	}
	if err := e.update(config, user); err != nil {
		return fmt.Errorf("could not update the kubeconfig of user %s: %w", user.name, err)
	}
	after, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("could not update the kubeconfig of user %s: %w", user.name, err)
	}
	if len(before) > 0 && bytes.Equal(unchanged, after) {
		return nil
	}
	return datadir.WriteFile(path, after)
}

func (e *Environment) update(config *clientcmdapi.Config, user localUser) error {
	// Load leaves the maps of a file without these lists nil.
	if config.Clusters == nil {
		config.Clusters = map[string]*clientcmdapi.Cluster{}
	}
	if config.AuthInfos == nil {
		config.AuthInfos = map[string]*clientcmdapi.AuthInfo{}
	}
	if config.Contexts == nil {
		config.Contexts = map[string]*clientcmdapi.Context{}
	}
	cluster := config.Clusters[clusterName]
	if cluster == nil {
		cluster = clientcmdapi.NewCluster()
		config.Clusters[clusterName] = cluster
	}
	cluster.Server = serverURL(cluster.Server, e.config.Port)
	cluster.CertificateAuthority = ""
	cluster.CertificateAuthorityData = e.serverCA.pem
	cluster.InsecureSkipTLSVerify = false

	who := config.AuthInfos[user.name]
	if who == nil {
		who = clientcmdapi.NewAuthInfo()
		config.AuthInfos[user.name] = who
	}
	if !e.fits(who, user) {
		key, err := pki.NewKey()
		if err != nil {
			return err
		}
		certPEM, err := e.clientCA.issue(x509.Certificate{
			Subject:     pkix.Name{CommonName: user.name, Organization: []string{user.group}},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}, key, e.config.Clock.Now())
		if err != nil {
			return err
		}
		who.ClientCertificate, who.ClientKey = "", ""
		who.ClientCertificateData, who.ClientKeyData = certPEM, key.PEM()
	}

	name := user.name + "@" + clusterName
	if config.Contexts[name] == nil {
		config.Contexts[name] = clientcmdapi.NewContext()
	}
	config.Contexts[name].Cluster, config.Contexts[name].AuthInfo = clusterName, user.name
	if config.CurrentContext == "" {
		config.CurrentContext = name
	}
	return nil
}

// fits tells whether the client certificate is still that user's and good for a
// while.
func (e *Environment) fits(who *clientcmdapi.AuthInfo, user localUser) bool {
	key, err := pki.ParseKey(who.ClientKeyData)
	if err != nil {
		return false
	}
	certificates, err := cert.ParseCertsPEM(who.ClientCertificateData)
	if err != nil {
		return false
	}
	subject := certificates[0].Subject
	return e.clientCA.current(certificates[0], key, e.config.Clock.Now()) &&
		subject.CommonName == user.name && slices.Equal(subject.Organization, []string{user.group})
}

// serverURL is the URL of the server. The host that a user may have written for
// access from elsewhere stays, the port is ours.
func serverURL(present string, port int) string {
	host := "127.0.0.1"
	if parsed, err := url.Parse(present); err == nil && parsed.Hostname() != "" {
		host = parsed.Hostname()
	}
	return "https://" + net.JoinHostPort(host, strconv.Itoa(port))
}
