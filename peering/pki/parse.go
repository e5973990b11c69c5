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
	"crypto/x509"
	"errors"
)

// MaxCertificate is the length in bytes that a certificate or a signing request of
// another cluster may have.
const MaxCertificate = 4 << 10

var (
	errCertificate = errors.New("it is not a certificate for an ECDSA key on P-256")
	errAuthority   = errors.New("it is not the certificate of a certificate authority with an ECDSA key on P-256")
)

// ParseCertificate reads a certificate (DER, at most MaxCertificate bytes) for an ECDSA
// key on P-256. It verifies nothing. The error quotes nothing.
func ParseCertificate(der []byte) (*x509.Certificate, error) {
	if len(der) > MaxCertificate {
		return nil, errCertificate
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil || !isP256(certificate.PublicKey) {
		return nil, errCertificate
	}
	return certificate, nil
}

// ParseAuthority reads the certificate of an authority, as ParseCertificate does.
func ParseAuthority(der []byte) (*x509.Certificate, error) {
	certificate, err := ParseCertificate(der)
	if err != nil || !mayIssue(certificate) {
		return nil, errAuthority
	}
	return certificate, nil
}

func mayIssue(certificate *x509.Certificate) bool {
	return certificate.BasicConstraintsValid && certificate.IsCA && certificate.KeyUsage&x509.KeyUsageCertSign != 0
}
