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

package record

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
)

// Peer is the record of one ClusterPeer. It is keyed by the UID of that object, so
// that one which is deleted and made anew starts with nothing.
type Peer struct {
	// UID and Name are those of the ClusterPeer.
	UID  string `json:"uid"`
	Name string `json:"name"`

	// Invite is the connection string that was issued last, with type Invite.
	Invite *Invite `json:"invite,omitempty"`
	// Join is the connection string that was used last, with type Join.
	Join *Join `json:"join,omitempty"`
	// Remote is the other cluster, once it is known by a connection string that was used.
	Remote *Remote `json:"remote,omitempty"`

	// Offer is what the other cluster is to receive from this one.
	Offer Offer `json:"offer"`
}

// Invite is a connection string that was issued here. The token is not kept.
type Invite struct {
	TokenID string `json:"tokenID"`
	// Hash is what Hash makes of the token.
	Hash      Digest    `json:"hash"`
	IssuedAt  time.Time `json:"issuedAt"`
	ExpiresAt time.Time `json:"expiresAt"`
	// Delivered says that the connection string has reached the status. One that has
	// not is nobody's, and may be replaced.
	Delivered bool `json:"delivered,omitempty"`
	// Void says that the token died before it was used or expired: the store was
	// restored from a copy (S2).
	Void bool `json:"void,omitempty"`
	// Use says who used it; nil: nobody yet.
	Use *Use `json:"use,omitempty"`
	// Refused is the last time that somebody who knew the token was refused.
	Refused *Refused `json:"refused,omitempty"`
}

// Use is the one use of an invite.
type Use struct {
	ClusterUUID string    `json:"clusterUUID"`
	Key         Digest    `json:"key"`
	At          time.Time `json:"at"`
}

// Refused says why somebody who knew the token was refused.
type Refused struct {
	Reason      Reason    `json:"reason"`
	ClusterUUID string    `json:"clusterUUID,omitempty"`
	At          time.Time `json:"at"`
}

// Join is a connection string of another cluster that is used here. The string is not
// kept: the key is made before anybody is dialled, so that a join that was interrupted
// goes on with the same key, and gets the same answer.
type Join struct {
	// String is the SHA-256 hash of the connection string.
	String Digest `json:"string"`
	// TokenID, ClusterUUID and ExpiresAt are those of the string.
	TokenID     string    `json:"tokenID"`
	ClusterUUID string    `json:"clusterUUID"`
	ExpiresAt   time.Time `json:"expiresAt"`
	// Key is the private key that the other cluster is to certify, PEM.
	Key Secret `json:"-"`
	// Done says that the other cluster has let us in with it.
	Done bool `json:"done,omitempty"`
	// Refused says that the other cluster will not have this string, and why: it is
	// not tried again.
	Refused *Refused `json:"refused,omitempty"`
}

// Remote is the other cluster.
type Remote struct {
	ClusterUUID string `json:"clusterUUID"`
	// Endpoints are URLs of its gateway, none if it cannot be dialled.
	Endpoints []string `json:"endpoints,omitempty"`
	// Trust are the certificates (DER) by which its gateway is recognised.
	Trust [][]byte `json:"trust,omitempty"`

	// Keys may authenticate here as the other cluster.
	Keys []Key `json:"keys,omitempty"`
	// Ours is the key and certificate by which we authenticate there. The certificate
	// is missing until the other cluster has signed it.
	Ours Credential `json:"ours"`
	// Next replaces Ours once the other cluster has certified it; nil if no renewal is
	// on its way.
	Next *Credential `json:"next,omitempty"`

	PairedAt time.Time `json:"pairedAt"`
	// ConfirmedAt is when the other cluster first used its certificate, or let us use
	// ours; zero: not yet, and the pairing is undone at PairedAt + ConfirmWithin.
	ConfirmedAt time.Time `json:"confirmedAt,omitzero"`

	// Data is the key and certificate by which requests of our workloads are let in there;
	// nil: none yet. DataNext takes its place, or is to be the first; nil: none is on its
	// way. (Unlike the control key it may leave the server, P2.)
	Data     *Credential `json:"data,omitempty"`
	DataNext *Credential `json:"dataNext,omitempty"`

	// Offer is the other cluster's offer as it was accepted last.
	Offer AcceptedOffer `json:"offer"`
	// IssuerKeys are the keys of the issuer in it.
	IssuerKeys []IssuerKey `json:"issuerKeys,omitempty"`
	// Acked is what the other cluster holds of ours.
	Acked Acked `json:"acked"`

	// Contact is when the other cluster was last in touch, to a minute.
	Contact time.Time `json:"contact,omitzero"`
	// Skew is by how much its clock is ahead of ours, to a minute.
	Skew time.Duration `json:"skew,omitempty"`
	// Unreachable is since when it is out of reach; zero: it is not.
	Unreachable time.Time `json:"unreachable,omitzero"`
	// Fault is why there is no peering with it although it was paired; empty: there is.
	Fault Reason `json:"fault,omitempty"`
	// Additive is when something was last accepted that the other cluster did not
	// offer before (P11).
	Additive time.Time `json:"additive,omitzero"`
}

// Key is a public key of the other cluster that was certified here.
type Key struct {
	// Hash is the SHA-256 hash of the public key (SubjectPublicKeyInfo, DER).
	Hash Digest `json:"hash"`
	Role Role   `json:"role"`
	// Serial, NotBefore and NotAfter are those of the certificate, Issuer is the hash
	// of the public key of the authority that signed it. With them the same certificate
	// can be made again.
	Serial    []byte    `json:"serial"`
	NotBefore time.Time `json:"notBefore"`
	NotAfter  time.Time `json:"notAfter"`
	Issuer    Digest    `json:"issuer"`
	// Successor is the key that this one was renewed to.
	Successor Digest `json:"successor,omitzero"`
	// Used says that it has authenticated.
	Used bool `json:"used,omitempty"`
	// Retired says that it may do nothing any more: its successor has been used. It is
	// kept to recognise who renews it once more.
	Retired bool `json:"retired,omitempty"`
}

// Role is what a client certificate is good for (P2).
type Role string

const (
	// RoleControl keeps the peering: sync, renew, leave.
	RoleControl Role = "control"
	// RoleData carries workloads' requests.
	RoleData Role = "data"
)

// Credential is a private key of ours and what another cluster certified it with.
type Credential struct {
	// Key is a private key, PEM.
	Key Secret `json:"-"`
	// Certificate is DER, empty until it was signed.
	Certificate []byte    `json:"certificate,omitempty"`
	NotBefore   time.Time `json:"notBefore,omitzero"`
	NotAfter    time.Time `json:"notAfter,omitzero"`
}

// Offer is an offer of this cluster to one peer.
type Offer struct {
	protocol.OfferHeader
	Body protocol.Offer `json:"body"`
}

// AcceptedOffer is an offer of the other cluster that was accepted.
type AcceptedOffer struct {
	protocol.OfferHeader
	Body protocol.Offer `json:"body"`
}

// Acked is what the other cluster says that it holds of ours.
type Acked struct {
	Offer protocol.OfferHeader `json:"offer"`
	// Trust is the digest of our trust bundle.
	Trust string `json:"trust,omitempty"`
}

// Authority is this cluster's peering CA (P1, P3): one that signs, the next one that is
// published before it does, and those that only verify what they once signed.
type Authority struct {
	Current  CA   `json:"current"`
	Next     *CA  `json:"next,omitempty"`
	Previous []CA `json:"previous,omitempty"`
	// Forced says that Current signs although not every peer had acknowledged it.
	Forced bool `json:"forced,omitempty"`
}

// CA is a certificate authority.
type CA struct {
	// Certificate is DER.
	Certificate []byte `json:"certificate"`
	// Key is the private key, PEM; empty in an authority that only verifies.
	Key       Secret    `json:"-"`
	NotBefore time.Time `json:"notBefore"`
	NotAfter  time.Time `json:"notAfter"`
}

// Hash returns the hash of the CA's public key, by which keys name who certified them. It
// fails if the certificate is not one of an authority.
func (c CA) Hash() (Digest, error) {
	certificate, err := pki.ParseAuthority(c.Certificate)
	if err != nil {
		return Digest{}, fmt.Errorf("could not read the peering CA: %w", err)
	}
	return pki.HashOfCertificate(certificate), nil
}

// Trust are the certificates (DER) by which our gateway is recognised: of the authority
// that signs, of the next one, and of those before that something may still hang on.
func (a *Authority) Trust() [][]byte {
	if a == nil {
		return nil
	}
	trust := [][]byte{a.Current.Certificate}
	if a.Next != nil {
		trust = append(trust, a.Next.Certificate)
	}
	for _, ca := range a.Previous {
		trust = append(trust, ca.Certificate)
	}
	return trust
}

// Identity is who this cluster was when it first peered.
type Identity struct {
	ClusterUUID string `json:"clusterUUID"`
}

// Tombstone says that a key belonged to a peering that is over (P12).
type Tombstone struct {
	Key         Digest    `json:"key"`
	ClusterUUID string    `json:"clusterUUID"`
	Until       time.Time `json:"until"`
}

// Digest is a SHA-256 hash. The zero Digest is none.
type Digest [sha256.Size]byte

// String returns 64 lower-case hexadecimal digits, or nothing for none.
func (d Digest) String() string {
	if d.IsZero() {
		return ""
	}
	return hex.EncodeToString(d[:])
}

// IsZero tells whether it is none.
func (d Digest) IsZero() bool { return d == Digest{} }

// MarshalText implements encoding.TextMarshaler.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Digest) UnmarshalText(text []byte) error {
	*d = Digest{}
	if len(text) == 0 {
		return nil
	}
	if len(text) != 2*len(d) {
		return errDigest
	}
	if _, err := hex.Decode(d[:], text); err != nil {
		return errDigest
	}
	return nil
}

// Hash is how the ledger knows the token of an invite of one ClusterPeer (P5): a token
// that was made for another one, or for one of this name that is gone, hashes to
// something else.
func Hash(uid string, token []byte) Digest {
	hash := sha256.New()
	hash.Write([]byte(tokenContext))
	hash.Write([]byte(uid))
	hash.Write([]byte{0})
	hash.Write(token)
	return Digest(hash.Sum(nil))
}

const tokenContext = "entente.dev peering v1 invite\x00"

// Key returns the key of the other cluster with that hash, or nil. The pointer is into
// the record.
func (r *Remote) Key(hash Digest) *Key {
	if r == nil {
		return nil
	}
	i := slices.IndexFunc(r.Keys, func(k Key) bool { return k.Hash == hash })
	if i < 0 {
		return nil
	}
	return &r.Keys[i]
}

// Live tells whether there is a peering: paired, confirmed and without fault. Whether
// the other cluster can be reached now is another question.
func (p *Peer) Live() bool {
	return p != nil && p.Remote != nil && !p.Remote.ConfirmedAt.IsZero() && p.Remote.Fault == ""
}
