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

package servingcert

import (
	"crypto/x509"
	"fmt"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/util/cert"

	"entente.dev/entente/peering/pki"
)

var (
	_ dynamiccertificates.CertKeyContentProvider = &Manager{}
	_ dynamiccertificates.ControllerRunner       = &Manager{}
)

// pair is a certificate that is served, as the TLS stack wants it.
type pair struct {
	certificatePEM []byte
	key            *pki.Key
	leaf           *x509.Certificate
	// authority signed it; nil for the provisional one, which nobody trusts.
	authority *x509.Certificate
}

func newPair(leaf *leaf, authority *x509.Certificate) (*pair, error) {
	content, err := cert.EncodeCertificates(leaf.certificate)
	if err != nil {
		return nil, fmt.Errorf("could not encode the serving certificate: %w", err)
	}
	return &pair{certificatePEM: content, key: leaf.key, leaf: leaf.certificate, authority: authority}, nil
}

// provisionalPair makes a certificate of which nobody knows the authority, so that
// there is a listener that tells why there is no better one.
func provisionalPair(options Options) (*pair, error) {
	now := options.Clock.Now()
	authority, err := newAuthority(options.Policy, now)
	if err != nil {
		return nil, err
	}
	leaf, err := newLeaf(authority, options.names(), options.Policy, now)
	if err != nil {
		return nil, err
	}
	return newPair(leaf, nil)
}

func (p *pair) provisional() bool { return p.authority == nil }

func (p *pair) expired(now time.Time) bool { return !now.Before(p.leaf.NotAfter) }

// Name names the certificate in logs and the check among the health checks.
func (m *Manager) Name() string { return "serving-certificate" }

// CurrentCertKeyContent implements dynamiccertificates.CertKeyContentProvider. There
// always is a certificate: a provisional one until the Secret has one.
func (m *Manager) CurrentCertKeyContent() (certificate, key []byte) {
	inUse := m.inUse.Load()
	return inUse.certificatePEM, inUse.key.PEM()
}

// AddListener implements dynamiccertificates.Notifier. The listener is told whenever
// another certificate is to be served.
func (m *Manager) AddListener(listener dynamiccertificates.Listener) {
	m.listenersLock.Lock()
	defer m.listenersLock.Unlock()
	m.listeners = append(m.listeners, listener)
}

// serve has a leaf of the Secret served from now on.
func (m *Manager) serve(leaf *leaf, authority *x509.Certificate) error {
	inUse := m.inUse.Load()
	if !inUse.provisional() && inUse.leaf.Equal(leaf.certificate) {
		return nil
	}
	next, err := newPair(leaf, authority)
	if err != nil {
		return err
	}
	m.inUse.Store(next)
	m.listenersLock.Lock()
	defer m.listenersLock.Unlock()
	for _, listener := range m.listeners {
		listener.Enqueue()
	}
	return nil
}
