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
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"slices"

	"k8s.io/client-go/util/cert"
)

// MaxBundle is the number of certificates that a trust bundle may hold; it holds one at
// least.
const MaxBundle = 8

var errBundle = errors.New("a trust bundle has 1 to 8 certificates")

// ParseBundle reads a trust bundle: certificates (DER) of the authorities that one peer
// is recognised by. The error quotes nothing.
func ParseBundle(der [][]byte) ([]*x509.Certificate, error) {
	if len(der) < 1 || len(der) > MaxBundle {
		return nil, errBundle
	}
	var bundle []*x509.Certificate
	for _, each := range der {
		certificate, err := ParseAuthority(each)
		if err != nil {
			return nil, err
		}
		bundle = append(bundle, certificate)
	}
	return bundle, nil
}

// CertificatesPEM returns certificates (DER) as PEM, one after the other.
func CertificatesPEM(der ...[]byte) []byte {
	var out []byte
	for _, each := range der {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: each})...)
	}
	return out
}

// BundleDigest returns a SHA-256 hash over all certificates of a trust bundle, in
// hexadecimal digits, which is the same in whatever order they stand; nothing for none.
func BundleDigest(der [][]byte) string {
	if len(der) == 0 {
		return ""
	}
	hash := sha256.New()
	for _, each := range slices.SortedFunc(slices.Values(der), bytes.Compare) {
		// The length keeps apart what is only cut at another place.
		hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(each))))
		hash.Write(each)
	}
	return hex.EncodeToString(hash.Sum(nil))
}
