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

package pki

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"time"
)

// Authority is a certificate authority.
type Authority struct {
	Certificate *x509.Certificate
	// Key is nil for an authority that is trusted but signs no more.
	Key *Key
}

// NewAuthority makes an authority, signed by itself, that signs leaves only. (The
// library's function knows no lifetime but ten years from now.)
func NewAuthority(name string, key *Key, from, until time.Time) (*Authority, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             from,
		NotAfter:              until,
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	certificate, err := sign(template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("could not make the certificate authority %s: %w", name, err)
	}
	return &Authority{Certificate: certificate, Key: key}, nil
}

// NewAuthorityFrom puts together an authority that was kept: its certificate (DER) and
// its private key (PEM), which is empty if it is trusted but signs no more.
func NewAuthorityFrom(certificate, key []byte) (*Authority, error) {
	parsed, err := ParseAuthority(certificate)
	if err != nil {
		return nil, err
	}
	if len(key) == 0 {
		return &Authority{Certificate: parsed}, nil
	}
	private, err := ParseKey(key)
	if err != nil {
		return nil, fmt.Errorf("could not read the key of a certificate authority: %w", err)
	}
	if !private.Fits(parsed) {
		return nil, errors.New("the key of a certificate authority does not belong to its certificate")
	}
	return &Authority{Certificate: parsed, Key: private}, nil
}

// Issue signs a certificate for a public key, made of the subject, the names and
// the usages of template. It ends with the authority at the latest.
func (a *Authority) Issue(template x509.Certificate, public crypto.PublicKey, from, until time.Time) (*x509.Certificate, error) {
	if a.Key == nil {
		return nil, errors.New("could not sign a certificate: the authority has no key")
	}
	template.NotBefore = from
	template.NotAfter = until
	if until.After(a.Certificate.NotAfter) {
		template.NotAfter = a.Certificate.NotAfter
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.BasicConstraintsValid = true
	certificate, err := sign(&template, a.Certificate, public, a.Key)
	if err != nil {
		return nil, fmt.Errorf("could not sign a certificate: %w", err)
	}
	return certificate, nil
}

// Signed tells whether the certificate is this authority's.
func (a *Authority) Signed(certificate *x509.Certificate) bool {
	return certificate.CheckSignatureFrom(a.Certificate) == nil
}

// sign has the library choose a serial number and the key identifiers, by which
// two authorities of one name are told apart.
func sign(template, parent *x509.Certificate, public crypto.PublicKey, key *Key) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key.signer())
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}
