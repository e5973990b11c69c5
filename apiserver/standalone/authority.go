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
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"entente.dev/entente/apiserver/etcd/datadir"
)

const (
	// leafLifetime is how long client and serving certificates are valid.
	leafLifetime = 365 * 24 * time.Hour
	// renewBefore is how long before its end a certificate is renewed.
	renewBefore = leafLifetime / 3
	// backdate makes up for clocks that run behind ours.
	backdate = time.Hour
)

// authority is a certificate authority (ECDSA P-256, valid for ten years).
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	// pem is the encoded certificate.
	pem []byte
}

// keyFile is where the key of the certificate in certFile is.
func keyFile(certFile string) string {
	return strings.TrimSuffix(certFile, filepath.Ext(certFile)) + ".key"
}

// ensureAuthority reads an authority, or makes one. One that lost its key, that
// does not fit together or that has expired is an error: to replace it is to
// invalidate every certificate that it signed, which is for a person to decide.
func ensureAuthority(certFile, name string, now time.Time) (*authority, error) {
	content, err := os.ReadFile(certFile)
	if errors.Is(err, fs.ErrNotExist) {
		return newAuthority(certFile, name, now)
	}
	if err != nil {
		return nil, fmt.Errorf("could not read a certificate authority: %w", err)
	}
	hint := fmt.Sprintf("(restore it, or delete %s and %s to start with new certificates)", certFile, keyFile(certFile))
	certificates, err := cert.ParseCertsPEM(content)
	if err != nil {
		return nil, fmt.Errorf("could not read the certificate authority %s: %w %s", certFile, err, hint)
	}
	key, err := readKey(keyFile(certFile))
	if err != nil {
		return nil, fmt.Errorf("could not read the certificate authority %s: %w %s", certFile, err, hint)
	}
	a := &authority{certificate: certificates[0], key: key, pem: content}
	switch {
	case !a.certificate.IsCA:
		return nil, fmt.Errorf("could not use the certificate authority %s: it is no authority %s", certFile, hint)
	case !matches(a.certificate, key):
		return nil, fmt.Errorf("could not use the certificate authority %s: the key is another one's %s", certFile, hint)
	case now.After(a.certificate.NotAfter):
		return nil, fmt.Errorf("could not use the certificate authority %s: it expired on %s %s", certFile, a.certificate.NotAfter.Format(time.DateOnly), hint)
	}
	return a, nil
}

func newAuthority(certFile, name string, now time.Time) (*authority, error) {
	// The key goes first: one without a certificate has signed nothing.
	key, err := ensureKey(keyFile(certFile))
	if err != nil {
		return nil, err
	}
	certificate, err := cert.NewSelfSignedCACert(cert.Config{CommonName: name, NotBefore: now.Add(-backdate)}, key)
	if err != nil {
		return nil, fmt.Errorf("could not make the certificate authority %s: %w", name, err)
	}
	content, err := cert.EncodeCertificates(certificate)
	if err != nil {
		return nil, fmt.Errorf("could not make the certificate authority %s: %w", name, err)
	}
	return &authority{certificate: certificate, key: key, pem: content}, datadir.WriteFile(certFile, content)
}

// issue signs a certificate for key, made of the subject, the names and the
// usages of template. It ends with the authority at the latest.
func (a *authority) issue(template x509.Certificate, key crypto.Signer, now time.Time) ([]byte, error) {
	template.NotBefore = now.Add(-backdate)
	template.NotAfter = now.Add(leafLifetime)
	if template.NotAfter.After(a.certificate.NotAfter) {
		template.NotAfter = a.certificate.NotAfter
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.BasicConstraintsValid = true
	der, err := x509.CreateCertificate(rand.Reader, &template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("could not sign a certificate: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("could not sign a certificate: %w", err)
	}
	return cert.EncodeCertificates(certificate)
}

// current tells whether the certificate is this authority's, for this key, and
// not about to expire.
func (a *authority) current(certificate *x509.Certificate, key crypto.Signer, now time.Time) bool {
	return certificate.CheckSignatureFrom(a.certificate) == nil &&
		matches(certificate, key) &&
		!now.Before(certificate.NotBefore) &&
		now.Add(renewBefore).Before(certificate.NotAfter)
}

func matches(certificate *x509.Certificate, key crypto.Signer) bool {
	public, ok := certificate.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(key.Public())
}

// ensureKey reads a private key, or makes one.
func ensureKey(path string) (crypto.Signer, error) {
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	key, content, err := newKey()
	if err != nil {
		return nil, err
	}
	return key, datadir.WriteFile(path, content)
}

func newKey() (crypto.Signer, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("could not make a key: %w", err)
	}
	content, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, nil, fmt.Errorf("could not make a key: %w", err)
	}
	return key, content, nil
}

// readKey refuses a key that others than its owner may read.
func readKey(path string) (crypto.Signer, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("could not read a private key: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("could not read the private key %s: its mode is %04o, others may open it (chmod 600)", path, mode)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("could not read a private key: %w", err)
	}
	key, err := parseKey(content)
	if err != nil {
		return nil, fmt.Errorf("could not read the private key %s: %w", path, err)
	}
	return key, nil
}

func parseKey(content []byte) (crypto.Signer, error) {
	parsed, err := keyutil.ParsePrivateKeyPEM(content)
	if err != nil {
		// The library's error may quote what it could not parse.
		return nil, errors.New("it is not a PEM file with a private key")
	}
	key, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, errors.New("keys of its kind cannot sign")
	}
	return key, nil
}
