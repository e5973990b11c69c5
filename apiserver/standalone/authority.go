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
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/util/cert"

	"entente.dev/entente/apiserver/etcd/datadir"
	"entente.dev/entente/peering/pki"
)

const (
	// authorityLifetime is how long a certificate authority is valid.
	authorityLifetime = 10 * 365 * 24 * time.Hour
	// leafLifetime is how long client and serving certificates are valid.
	leafLifetime = 365 * 24 * time.Hour
	// renewBefore is how long before its end a certificate is renewed.
	renewBefore = leafLifetime / 3
	// backdate makes up for clocks that run behind ours.
	backdate = time.Hour
)

// authority is a certificate authority that is kept in files.
type authority struct {
	pki.Authority
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
	a := &authority{Authority: pki.Authority{Certificate: certificates[0], Key: key}, pem: content}
	switch {
	case !a.Certificate.IsCA:
		return nil, fmt.Errorf("could not use the certificate authority %s: it is no authority %s", certFile, hint)
	case !key.Fits(a.Certificate):
		return nil, fmt.Errorf("could not use the certificate authority %s: the key is another one's %s", certFile, hint)
	case now.After(a.Certificate.NotAfter):
		return nil, fmt.Errorf("could not use the certificate authority %s: it expired on %s %s", certFile, a.Certificate.NotAfter.Format(time.DateOnly), hint)
	}
	return a, nil
}

func newAuthority(certFile, name string, now time.Time) (*authority, error) {
	// The key goes first: one without a certificate has signed nothing.
	key, err := ensureKey(keyFile(certFile))
	if err != nil {
		return nil, err
	}
	made, err := pki.NewAuthority(name, key, now.Add(-backdate), now.Add(authorityLifetime))
	if err != nil {
		return nil, err
	}
	content, err := cert.EncodeCertificates(made.Certificate)
	if err != nil {
		return nil, fmt.Errorf("could not make the certificate authority %s: %w", name, err)
	}
	return &authority{Authority: *made, pem: content}, datadir.WriteFile(certFile, content)
}

// issue signs a certificate for key, made of the subject, the names and the
// usages of template, and encodes it. It ends with the authority at the latest.
func (a *authority) issue(template x509.Certificate, key *pki.Key, now time.Time) ([]byte, error) {
	certificate, err := a.Issue(template, key.Public(), now.Add(-backdate), now.Add(leafLifetime))
	if err != nil {
		return nil, err
	}
	return cert.EncodeCertificates(certificate)
}

// current tells whether the certificate is this authority's, for this key, and
// not about to expire.
func (a *authority) current(certificate *x509.Certificate, key *pki.Key, now time.Time) bool {
	return a.Signed(certificate) &&
		key.Fits(certificate) &&
		!now.Before(certificate.NotBefore) &&
		now.Add(renewBefore).Before(certificate.NotAfter)
}

// ensureKey reads a private key, or makes one.
func ensureKey(path string) (*pki.Key, error) {
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	key, err = pki.NewKey()
	if err != nil {
		return nil, err
	}
	return key, datadir.WriteFile(path, key.PEM())
}

// readKey refuses a key that others than its owner may read.
func readKey(path string) (*pki.Key, error) {
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
	key, err := pki.ParseKey(content)
	if err != nil {
		return nil, fmt.Errorf("could not read the private key %s: %w", path, err)
	}
	return key, nil
}
