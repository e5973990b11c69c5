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

package harness

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	"sigs.k8s.io/yaml"
)

// AddUser makes a user with a certificate and a kubeconfig of its own, and with
// the permissions in rules and no others, and waits until they count.
func (s *Server) AddUser(t testing.TB, name string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	marker := "/marker/" + name
	s.writeManifest(t, name, append(rules, rbacv1.PolicyRule{NonResourceURLs: []string{marker}, Verbs: []string{"get"}}))
	s.writeKubeconfig(t, name)
	s.awaitPath(t, name, marker, true)
}

// SetRules replaces the permissions of a user that AddUser made, and waits until
// they count.
func (s *Server) SetRules(t testing.TB, name string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	marker := "/marker/" + name + "/" + rand.Text()
	s.writeManifest(t, name, append(rules, rbacv1.PolicyRule{NonResourceURLs: []string{marker}, Verbs: []string{"get"}}))
	s.awaitPath(t, name, marker, true)
}

// Rule is a rule on resources of the group peering.entente.dev; names may be empty.
func Rule(verbs, resources []string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{"peering.entente.dev"}, Resources: resources, Verbs: verbs, ResourceNames: names}
}

// awaitPath waits until a user may, or may not, ask for a path that nobody serves.
func (s *Server) awaitPath(t testing.TB, user, path string, allowed bool) {
	t.Helper()
	client := s.HTTP(t, user)
	Eventually(t, "the permissions of "+user+" count", func(ctx context.Context) bool {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Base+path, nil)
		require.NoError(t, err)
		resp, err := client.Do(req)
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return (resp.StatusCode == http.StatusNotFound) == allowed
	})
}

func (s *Server) writeManifest(t testing.TB, user string, rules []rbacv1.PolicyRule) {
	t.Helper()
	role := rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: "test:" + user},
		Rules:      rules,
	}
	binding := rbacv1.ClusterRoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: "test:" + user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "test:" + user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}
	var content []byte
	for _, obj := range []any{role, binding} {
		document, err := yaml.Marshal(obj)
		require.NoError(t, err)
		content = append(append(content, "---\n"...), document...)
	}
	path := filepath.Join(s.Dir, "rbac", "test-"+user+".yaml")
	require.NoError(t, os.WriteFile(path+".tmp", content, 0o600))
	require.NoError(t, os.Rename(path+".tmp", path))
}

func (s *Server) writeKubeconfig(t testing.TB, user string) {
	t.Helper()
	certificate, key := s.clientCertificate(t, user)
	config, err := clientcmd.LoadFromFile(s.Kubeconfig(Admin))
	require.NoError(t, err)
	for _, info := range config.AuthInfos {
		info.ClientCertificateData, info.ClientKeyData = certificate, key
	}
	require.NoError(t, clientcmd.WriteToFile(*config, s.Kubeconfig(user)))
}

// clientCertificate signs a certificate for a user with the server's client CA.
func (s *Server) clientCertificate(t testing.TB, user string) (certificate, key []byte) {
	t.Helper()
	ca, err := certutil.CertsFromFile(filepath.Join(s.Dir, "keys", "client-ca.crt"))
	require.NoError(t, err)
	caKey, err := keyutil.PrivateKeyFromFile(filepath.Join(s.Dir, "keys", "client-ca.key"))
	require.NoError(t, err)
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: user},
		NotBefore:    time.Now().Add(-time.Minute),
		NotAfter:     time.Now().Add(time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca[0], private.Public(), caKey)
	require.NoError(t, err)
	key, err = keyutil.MarshalPrivateKeyToPEM(private)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key
}
