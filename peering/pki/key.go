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
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"

	"k8s.io/client-go/util/keyutil"
)

// Key is a private key and its encoding. It prints as `<omitted>`. It is a
// crypto.Signer, so that what needs a key to sign with needs no look at it.
type Key struct {
	// private returns them. They stand behind a function because fmt prints the
	// unexported fields of what holds a Key without asking the Key, through pointers
	// as well.
	private func() (crypto.Signer, []byte)
}

func newKey(signer crypto.Signer, content []byte) *Key {
	return &Key{private: func() (crypto.Signer, []byte) { return signer, content }}
}

// NewKey makes a key (ECDSA P-256).
func NewKey() (*Key, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("could not make a key: %w", err)
	}
	content, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, fmt.Errorf("could not make a key: %w", err)
	}
	return newKey(key, content), nil
}

// ParseKey reads a PEM file with a private key. Its errors quote nothing of it.
func ParseKey(content []byte) (*Key, error) {
	parsed, err := keyutil.ParsePrivateKeyPEM(content)
	if err != nil {
		// The library's error may quote what it could not parse.
		return nil, errors.New("it is not a PEM file with a private key")
	}
	signer, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, errors.New("keys of its kind cannot sign")
	}
	return newKey(signer, content), nil
}

// Public returns the public half.
func (k *Key) Public() crypto.PublicKey { return k.signer().Public() }

// Sign implements crypto.Signer.
func (k *Key) Sign(random io.Reader, digest []byte, options crypto.SignerOpts) ([]byte, error) {
	return k.signer().Sign(random, digest, options)
}

// TLS returns the key with a certificate (DER) for it, as crypto/tls wants it. It
// prints without the key.
func (k *Key) TLS(certificate []byte) tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: k}
}

// PEM returns the encoded private key. It is not to be changed.
func (k *Key) PEM() []byte {
	_, content := k.private()
	return content
}

func (k *Key) signer() crypto.Signer {
	signer, _ := k.private()
	return signer
}

// Fits tells whether the certificate is one for this key.
func (k *Key) Fits(certificate *x509.Certificate) bool {
	public, ok := certificate.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(k.Public())
}

// Format writes `<omitted>`, whatever the verb.
func (k Key) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, "<omitted>") }

// MarshalLog returns `<omitted>`, for structured logs.
func (k Key) MarshalLog() any { return "<omitted>" }
