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
	"time"

	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// Self is what this cluster is, whoever it talks to.
type Self struct {
	ClusterUUID string
	// Endpoints are the advertised URLs of its gateway.
	Endpoints []string
}

// About returns what this cluster says of itself. The certificates of the authority are
// left out where the other side holds them, by the digest that it named.
func (s Self) About(authority *record.Authority, held string, now time.Time) protocol.Self {
	trust := authority.Trust()
	about := protocol.Self{
		ClusterUUID: s.ClusterUUID,
		Time:        now.Unix(),
		Endpoints:   s.Endpoints,
		TrustDigest: pki.BundleDigest(trust),
	}
	if held != about.TrustDigest {
		about.Trust = trust
	}
	return about
}

// Say returns what to tell the other cluster now: in full only what it lacks.
func Say(self Self, peer *record.Peer, authority *record.Authority, now time.Time) (protocol.State, error) {
	remote := peer.Remote
	offer := offered(peer)
	state := protocol.State{
		Self:  self.About(authority, remote.Acked.Trust, now),
		Offer: offer,
		Holds: Holds(remote),
	}
	if remote.Acked.Offer != offer {
		body := peer.Offer.Body
		state.OfferBody = &body
	}
	var err error
	state.CSR, err = wanted(remote)
	return state, err
}

// offered returns the header of what is offered, none as long as that was not worked out.
func offered(peer *record.Peer) protocol.OfferHeader {
	if peer.Offer.Digest == "" {
		return protocol.OfferHeader{}
	}
	return peer.Offer.OfferHeader
}

// Holds is what this side holds of the other one.
func Holds(remote *record.Remote) protocol.Holding {
	return protocol.Holding{Offer: remote.Offer.OfferHeader, Trust: pki.BundleDigest(remote.Trust)}
}

// wanted returns a CSR if a certificate of the other cluster is missing.
func wanted(remote *record.Remote) ([]byte, error) {
	credential := pending(remote)
	if credential == nil {
		return nil, nil
	}
	key, err := pki.ParseKey(credential.Key.Reveal())
	if err != nil {
		return nil, err
	}
	return pki.NewCSR(key)
}

// pending returns the credential that the other cluster has not certified yet, or nil.
func pending(remote *record.Remote) *record.Credential {
	switch {
	case remote.Next != nil:
		return remote.Next
	case len(remote.Ours.Certificate) == 0 && !remote.Ours.Key.IsZero():
		return &remote.Ours
	}
	return nil
}

// Lacks tells whether there is something that the other side should hear without
// waiting: it does not hold what is current.
func Lacks(peer *record.Peer, authority *record.Authority) bool {
	return peer.Remote.Acked.Offer != offered(peer) ||
		peer.Remote.Acked.Trust != pki.BundleDigest(authority.Trust())
}

// News tells whether there is something else to say by now than what was said: another
// offer, another trust bundle, or that something of the other side was taken over.
func News(said protocol.State, peer *record.Peer, authority *record.Authority) bool {
	return said.Offer != offered(peer) ||
		said.TrustDigest != pki.BundleDigest(authority.Trust()) ||
		said.Holds != Holds(peer.Remote)
}
