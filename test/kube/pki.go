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
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	// lifetime is how long certificates are valid: longer than a control plane runs.
	lifetime = 365 * 24 * time.Hour
	backdate = time.Hour
)

// pki is what the processes of a control plane trust each other by. All of it is
// in files of one folder, as the processes want it.
type pki struct {
	dir string
	// cluster signs serving certificates, users and the cluster's own components;
	// frontProxy signs only the certificate that kube-apiserver shows to extension
	// servers.
	cluster, frontProxy *authority
}

// authority is a certificate authority.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	pem         []byte
}

func newPKI(dir, name string) (*pki, error) {
	p := &pki{dir: dir}
	var err error
	if p.cluster, err = newAuthority(name); err != nil {
		return nil, err
	}
	if err := p.write("ca.crt", p.cluster.pem); err != nil {
		return nil, err
	}
	if err := p.newFrontProxy(); err != nil {
		return nil, err
	}
	if err := p.write("front-proxy-ca.crt", p.frontProxy.pem); err != nil {
		return nil, err
	}
	if err := p.writeFrontProxyClient(); err != nil {
		return nil, err
	}
	for name, hosts := range map[string][]string{
		"apiserver":          {"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
		"controller-manager": {"localhost"},
	} {
		certificate, key, err := p.cluster.issue(x509.Certificate{
			Subject:     pkix.Name{CommonName: name},
			DNSNames:    hosts,
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP(firstService)},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		})
		if err != nil {
			return nil, err
		}
		if err := p.writePair(name, certificate, key); err != nil {
			return nil, err
		}
	}
	if err := p.writeServiceAccountKeys(); err != nil {
		return nil, err
	}
	return p, nil
}

// writeServiceAccountKeys makes the keys for tokens: RSA, as most clusters have it.
func (p *pki) writeServiceAccountKeys() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return fmt.Errorf("could not make the key of ServiceAccounts: %w", err)
	}
	private, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return fmt.Errorf("could not make the key of ServiceAccounts: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("could not make the key of ServiceAccounts: %w", err)
	}
	if err := p.write("sa.key", private); err != nil {
		return err
	}
	return p.write("sa.pub", pem.EncodeToMemory(&pem.Block{Type: keyutil.PublicKeyBlockType, Bytes: public}))
}

// newFrontProxy replaces the authority for the proxy, in memory.
func (p *pki) newFrontProxy() error {
	var err error
	p.frontProxy, err = newAuthority("front-proxy")
	return err
}

// writeFrontProxyClient makes the certificate that kube-apiserver shows to
// extension servers.
func (p *pki) writeFrontProxyClient() error {
	certificate, key, err := p.frontProxy.issue(x509.Certificate{
		Subject:     pkix.Name{CommonName: frontProxyName},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return err
	}
	return p.writePair(frontProxyName, certificate, key)
}

func (p *pki) file(name string) string { return filepath.Join(p.dir, name) }

// write writes a file in one step: whoever reads it again when it changes never
// sees a part.
func (p *pki) write(name string, content []byte) error {
	return writeFile(p.file(name), content)
}

func (p *pki) writePair(name string, certificate, key []byte) error {
	if err := p.write(name+".key", key); err != nil {
		return err
	}
	return p.write(name+".crt", certificate)
}

// writeFile writes a file of the owner's in one step.
func writeFile(path string, content []byte) error {
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return fmt.Errorf("could not write a file: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("could not write a file: %w", err)
	}
	return nil
}

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("could not make the certificate authority %s: %w", name, err)
	}
	certificate, err := certutil.NewSelfSignedCACert(certutil.Config{CommonName: name, NotBefore: time.Now().Add(-backdate)}, key)
	if err != nil {
		return nil, fmt.Errorf("could not make the certificate authority %s: %w", name, err)
	}
	content, err := certutil.EncodeCertificates(certificate)
	if err != nil {
		return nil, fmt.Errorf("could not make the certificate authority %s: %w", name, err)
	}
	return &authority{certificate: certificate, key: key, pem: content}, nil
}

// issue signs a certificate of the subject, names and usages in template, with a
// new key; both in PEM.
func (a *authority) issue(template x509.Certificate) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("could not issue a certificate: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, fmt.Errorf("could not issue a certificate: %w", err)
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-backdate)
	template.NotAfter = time.Now().Add(lifetime)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.BasicConstraintsValid = true
	der, err := x509.CreateCertificate(rand.Reader, &template, a.certificate, private.Public(), a.key)
	if err != nil {
		return nil, nil, fmt.Errorf("could not issue a certificate: %w", err)
	}
	if key, err = keyutil.MarshalPrivateKeyToPEM(private); err != nil {
		return nil, nil, fmt.Errorf("could not issue a certificate: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateBlockType, Bytes: der}), key, nil
}
