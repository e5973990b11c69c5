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
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"errors"
)

// HashOf returns the SHA-256 hash of a public key (SubjectPublicKeyInfo, DER), by which
// pins and the ledger know it.
func HashOf(public crypto.PublicKey) ([sha256.Size]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return [sha256.Size]byte{}, errors.New("keys of its kind have no hash")
	}
	return sha256.Sum256(der), nil
}

// HashOfCertificate returns the hash of a certificate's public key, as it stands there.
func HashOfCertificate(certificate *x509.Certificate) [sha256.Size]byte {
	return sha256.Sum256(certificate.RawSubjectPublicKeyInfo)
}

func isP256(public crypto.PublicKey) bool {
	key, ok := public.(*ecdsa.PublicKey)
	return ok && key.Curve == elliptic.P256()
}
