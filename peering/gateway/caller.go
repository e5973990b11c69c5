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

package gateway

import (
	"bytes"
	"context"
	"crypto/x509"
	"net/http"
	"sync"
	"time"

	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/record"
)

// caller is a peer that asks, as the ledger has it now. Nothing of it is to be changed.
type caller struct {
	peer *record.Peer
	key  *record.Key
	spec record.Spec
}

// admit finds out which peer a request is of, and whether it may do now what role is for
// (P2); an empty role is that of its key. It looks at nothing but the certificate, and
// is asked again while a request lasts.
func (g *Gateway) admit(r *http.Request, role record.Role, renewing bool) (*caller, *denial) {
	// Who cannot see the ledger cannot see who was revoked (S3).
	if g.ledger.Fresh() != nil {
		return nil, &unavailable
	}
	now := g.clock.Now()
	certificate := r.TLS.PeerCertificates[0]
	clusterUUID, claimed, ok := pki.PeerOf(certificate)
	if !ok {
		return nil, &refused
	}
	hash := record.Digest(pki.HashOfCertificate(certificate))
	// The handshake has shown that the client has the key, and that says it all: the
	// authority that certified it may be gone (P12).
	if t := g.ledger.Tombstone(hash); t != nil && t.ClusterUUID == clusterUUID && now.Before(t.Until) {
		return nil, gone()
	}
	peer := g.ledger.PeerOfCluster(clusterUUID)
	if peer == nil {
		return nil, &refused
	}
	key := peer.Remote.Key(hash)
	if key == nil || claimed != string(key.Role) || !sameSerial(certificate, key) ||
		!connectionOf(r).signedBy(certificate, g.ledger.Authority(), key.Issuer) {
		return nil, &refused
	}
	c := &caller{peer: peer, key: key}
	if role == "" {
		role = key.Role
	}
	if err := peer.Authorize(clusterUUID, hash, role, renewing, now); err != nil {
		return c, denialOf(r.Context(), err)
	}
	if !valid(certificate, renewing, now) {
		d := told(record.TrustExpired, Unauthorized)
		return c, &d
	}
	if c.spec, ok = g.specs(peer.UID); !ok {
		// It is not seen yet, or gone, and its record is about to follow. To say which
		// is not for who cannot tell.
		return c, &unavailable
	}
	if c.spec.Deleting {
		return c, gone()
	}
	if role == record.RoleData && !c.mayWork() {
		return c, &refused
	}
	return c, nil
}

// mayWork tells whether the peer's workloads are let in: there is a peering, with the
// cluster that is expected.
func (c *caller) mayWork() bool {
	return c.peer.Live() && c.spec.Expects(c.peer.Remote.ClusterUUID)
}

// of returns the record in a transaction, in which the caller is still allowed what it
// was when it was admitted: another replica may have written since.
func (c *caller) of(tx record.Tx, role record.Role, renewing bool, now time.Time) (*record.Peer, error) {
	peer, err := tx.Peer(c.peer.UID)
	if err != nil {
		return nil, err
	}
	err = peer.Authorize(c.peer.Remote.ClusterUUID, c.key.Hash, role, renewing, now)
	return peer, err
}

func gone() *denial {
	d := told(record.PeerLeft, Unauthorized)
	return &d
}

func sameSerial(certificate *x509.Certificate, key *record.Key) bool {
	return bytes.Equal(certificate.SerialNumber.Bytes(), bytes.TrimLeft(key.Serial, "\x00"))
}

// valid tells whether a certificate is valid by its own dates: the ledger's may be later,
// as no certificate outlives its authority.
func valid(certificate *x509.Certificate, renewing bool, now time.Time) bool {
	end := certificate.NotAfter
	if renewing {
		end = end.Add(record.KeyGrace)
	}
	return !now.Before(certificate.NotBefore) && now.Before(end)
}

// connection remembers which authority signed the client's certificate, so that it is
// worked out once: a connection has one certificate.
type connection struct {
	mu sync.Mutex
	// authority is the certificate (DER) of the authority that signed, if that is known,
	// and issuer the hash of its key.
	authority []byte
	issuer    record.Digest
}

type connectionKey struct{}

// remembering is http.Server.ConnContext.
func remembering(ctx context.Context) context.Context {
	return context.WithValue(ctx, connectionKey{}, &connection{})
}

func connectionOf(r *http.Request) *connection {
	if c, ok := r.Context().Value(connectionKey{}).(*connection); ok {
		return c
	}
	return &connection{}
}

// signedBy tells whether the authority whose key has that hash is one of ours now, and
// has signed the certificate.
func (c *connection) signedBy(certificate *x509.Certificate, authority *record.Authority, issuer record.Digest) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.authority != nil && c.issuer == issuer && trusts(authority, c.authority) {
		return true
	}
	ca := issuerOf(authority, issuer)
	if ca == nil || certificate.CheckSignatureFrom(ca) != nil {
		return false
	}
	c.authority, c.issuer = ca.Raw, issuer
	return true
}

// issuerOf returns the authority whose key has that hash: the one that signs, or one
// that did. The next one has signed nothing yet.
func issuerOf(authority *record.Authority, hash record.Digest) *x509.Certificate {
	if authority == nil {
		return nil
	}
	for _, ca := range append([]record.CA{authority.Current}, authority.Previous...) {
		if its, err := ca.Hash(); err != nil || its != hash {
			continue
		}
		if certificate, err := pki.ParseAuthority(ca.Certificate); err == nil {
			return certificate
		}
	}
	return nil
}

func trusts(authority *record.Authority, der []byte) bool {
	for _, each := range authority.Trust() {
		if bytes.Equal(each, der) {
			return true
		}
	}
	return false
}
