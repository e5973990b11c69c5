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
	"errors"
	"fmt"
)

var errCSR = errors.New("it is not a signing request for an ECDSA key on P-256, signed by that key")

// NewCSR asks for a certificate for a key (PKCS #10, DER). It names no subject: whoever
// signs it knows by other means who is asking (P2).
func NewCSR(key *Key) (der []byte, err error) {
	der, err = x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return nil, fmt.Errorf("could not make a signing request: %w", err)
	}
	return der, nil
}

// ParseCSR returns the public key that a signing request (DER, at most MaxCertificate
// bytes) asks a certificate for. The request is signed by that key, ECDSA on P-256.
// Its subject, its names and its extensions are ignored. The error quotes nothing.
func ParseCSR(der []byte) (public crypto.PublicKey, err error) {
	if len(der) > MaxCertificate {
		return nil, errCSR
	}
	request, err := x509.ParseCertificateRequest(der)
	// The kind of key comes first: to check a signature of another kind can cost much.
	if err != nil || !isP256(request.PublicKey) || request.CheckSignature() != nil {
		return nil, errCSR
	}
	return request.PublicKey, nil
}
