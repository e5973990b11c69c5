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

package exchange

import (
	"bytes"
	"crypto/x509"
	"slices"
	"time"

	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// Outcome is what became of a message.
type Outcome struct {
	// Changed says that the record changed, and is to be written.
	Changed bool
	// Repeat says that the other side has something that it has to send again: the body
	// of an offer or a trust bundle that it left out, or that was not taken in full.
	Repeat bool
	// Refused is why the offer was not taken; empty: it was, or there was none.
	Refused record.Reason
}

// Message is what the other cluster said, validated, and how it is to be heard.
type Message struct {
	protocol.State
	// BadOffer says that its offer breaks the rules, and the rest does not.
	BadOffer bool
	// Expected is the only cluster UUID that may peer; empty: any.
	Expected string
	// Answer says that it answers a beat of ours. One that names no endpoint leaves those
	// where they are that it was got from: without any, nobody could ask again.
	Answer bool
	// Away says that the other cluster does not count as reachable again by this: after an
	// outage one answer is not enough (P9).
	Away bool
}

// Hear takes over what the other cluster said. The record is changed in place.
func Hear(peer *record.Peer, said Message, now time.Time) Outcome {
	remote := peer.Remote
	var out Outcome
	change := func(changed bool) { out.Changed = out.Changed || changed }

	if said.Answer && len(said.Endpoints) == 0 {
		said.Endpoints = remote.Endpoints
	}
	change(contact(remote, said.Time, !said.Away, now))
	healed := false
	switch reason := mismatch(remote, said.ClusterUUID, said.Expected); {
	case reason != "":
		change(set(&remote.Fault, reason))
		out.Refused = reason
		return out
	case remote.Fault.Heals() && now.Sub(remote.Additive).Abs() < AdditiveInterval:
		// All that it was granted comes back with that.
		out.Repeat = true
		return out
	case remote.Fault.Heals():
		remote.Fault, healed = "", true
		out.Changed = true
	}
	change(set(&remote.Acked.Offer, said.Holds.Offer))
	change(set(&remote.Acked.Trust, said.Holds.Trust))
	if !slices.Equal(remote.Endpoints, said.Endpoints) {
		remote.Endpoints = slices.Clone(said.Endpoints)
		out.Changed = true
	}
	out.trust(remote, said.State)
	change(Adopt(remote, said.Certificate))
	if said.BadOffer {
		out.refuse(remote)
	} else {
		out.offer(remote, said.State, now)
	}
	if healed {
		remote.Additive = now
	}
	return out
}

// Draft returns a copy of a record on which Hear can be tried, to see whether it would
// change anything. It is cheap: what Hear only replaces as a whole is shared.
func Draft(peer *record.Peer) *record.Peer {
	draft, remote := *peer, *peer.Remote
	draft.Remote = &remote
	return &draft
}

func set[T comparable](field *T, value T) bool {
	if *field == value {
		return false
	}
	*field = value
	return true
}

// contact notes that the other cluster was in touch, and its clock: to the minute, so
// that beats do not write (P9).
func contact(remote *record.Remote, theirs int64, back bool, now time.Time) bool {
	changed := back && set(&remote.Unreachable, time.Time{})
	if now.Sub(remote.Contact).Abs() >= record.ContactStep {
		remote.Contact = now
		changed = true
	}
	// A clock that is about half a minute off is not written at every beat.
	if skew := time.Unix(theirs, 0).Sub(now); (skew - remote.Skew).Abs() > record.ContactStep {
		remote.Skew = skew.Round(record.ContactStep)
		changed = true
	}
	return changed
}

func mismatch(remote *record.Remote, clusterUUID, expected string) record.Reason {
	if clusterUUID != remote.ClusterUUID || (expected != "" && expected != clusterUUID) {
		return record.UUIDMismatch
	}
	return ""
}

// trust keeps the bundle by which the other gateway is recognised (P3). One that does
// not match its digest, or cannot be parsed, is asked for again.
func (o *Outcome) trust(remote *record.Remote, said protocol.State) {
	if said.TrustDigest == pki.BundleDigest(remote.Trust) {
		return
	}
	if len(said.Trust) == 0 || pki.BundleDigest(said.Trust) != said.TrustDigest {
		o.Repeat = true
		return
	}
	if _, err := pki.ParseBundle(said.Trust); err != nil {
		o.Repeat = true
		return
	}
	remote.Trust = said.Trust
	o.Changed = true
}

// Adopt takes the certificate that the other cluster made for our key, if it is one of
// its own for the key that waits for it. It tells whether it did.
func Adopt(remote *record.Remote, der []byte) bool {
	credential := pending(remote)
	if credential == nil || len(der) == 0 {
		return false
	}
	certificate, err := Certified(credential.Key, der, remote.Trust)
	if err != nil {
		return false
	}
	done := record.Credential{
		Key:         credential.Key,
		Certificate: bytes.Clone(der),
		NotBefore:   certificate.NotBefore,
		NotAfter:    certificate.NotAfter,
	}
	remote.Ours, remote.Next = done, nil
	return true
}

// Certified checks a certificate that another cluster made for a key of ours: that it
// is for that key and by an authority of its trust bundle. When it is valid is for the
// other cluster to judge, by its own clock.
func Certified(key record.Secret, der []byte, trust [][]byte) (*x509.Certificate, error) {
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, errCertificate
	}
	ours, err := pki.ParseKey(key.Reveal())
	if err != nil {
		return nil, err
	}
	if !ours.Fits(certificate) {
		return nil, errCertificate
	}
	authorities, err := pki.ParseBundle(trust)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(authorities, func(ca *x509.Certificate) bool { return certificate.CheckSignatureFrom(ca) == nil }) {
		return nil, errCertificate
	}
	return certificate, nil
}
