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
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"

	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// join has a stranger use an invite up (P6). Until the ledger knows the token, nothing
// that differs from one try to the next leaves the gateway.
func (g *Gateway) join(ctx context.Context, v *visit) {
	v.part()
	if g.ledger.Fresh() != nil {
		v.deny(&unavailable)
		return
	}
	if !g.joins.allow(v.about.Source, g.clock.Now()) {
		v.deny(&busy)
		return
	}
	var request protocol.JoinRequest
	public, denied := v.applicant(&request)
	if denied != nil {
		v.deny(denied)
		return
	}
	v.about.ClusterUUID = request.ClusterUUID
	// Bodies are read by then: nobody who is slow is in here.
	turn, cancel := context.WithTimeout(ctx, g.limits.Update)
	defer cancel()
	select {
	case g.joining <- struct{}{}:
		defer func() { <-g.joining }()
	case <-turn.Done():
		v.deny(&busy)
		return
	}
	done, err := g.redeem(ctx, v, &request, public)
	if err != nil {
		v.deny(g.unredeemed(ctx, v, &request, err))
		return
	}
	answer, err := g.welcome(done, &request, public)
	if err != nil {
		// The token is used, and the same try gets an answer once this is mended.
		v.log.Error(err, "Could not answer a cluster that used an invite up", "clusterPeer", done.peer.Name)
		if errors.Is(err, exchange.ErrNoSigner) {
			v.deny(&refused)
			return
		}
		v.deny(&unavailable)
		return
	}
	if done.first {
		v.note(InviteUsed, "")
	}
	v.succeed(answer)
}

// applicant reads a request to join, and checks all that can be without the ledger: its
// form, and that certificate and CSR are of one key, which signed both.
func (v *visit) applicant(request *protocol.JoinRequest) (crypto.PublicKey, *denial) {
	if denied := v.isPost(); denied != nil {
		return nil, denied
	}
	certificate := v.certificate()
	if !forJoin(certificate) {
		return nil, &refused
	}
	if denied := v.read(protocol.LimitJoin, request); denied != nil {
		return nil, denied
	}
	if denied := spoken(request.Protocol, InviteRefused); denied != nil {
		return nil, denied
	}
	if request.Validate() != nil {
		return nil, &invalid
	}
	public, err := pki.ParseCSR(request.CSR)
	if err != nil {
		return nil, &invalid
	}
	// The CSR's key is of a kind that is cheap to check: so now is the certificate's.
	hash, err := pki.HashOf(public)
	if err != nil || hash != v.about.Key || !signedItself(certificate) {
		return nil, &refused
	}
	return public, nil
}

// forJoin tells whether a certificate is of the form of one that is signed by its own
// key. When it is valid does not matter: it proves nothing but who has the key.
func forJoin(certificate *x509.Certificate) bool {
	return bytes.Equal(certificate.RawIssuer, certificate.RawSubject) &&
		slices.Equal(certificate.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth})
}

// signedItself is what CheckSignatureFrom says of authorities only.
func signedItself(certificate *x509.Certificate) bool {
	return certificate.CheckSignature(certificate.SignatureAlgorithm, certificate.RawTBSCertificate, certificate.Signature) == nil
}

// redeemed is a token that was used up.
type redeemed struct {
	peer      *record.Peer
	key       *record.Key
	authority *record.Authority
	// first says that it was by this request; else by an earlier one of the same.
	first bool
}

func (g *Gateway) redeem(ctx context.Context, v *visit, request *protocol.JoinRequest, public crypto.PublicKey) (redeemed, error) {
	control, err := pki.NewKey()
	if err != nil {
		return redeemed{}, err
	}
	attempt := record.Redemption{
		TokenID: request.TokenID,
		Token:   record.NewSecret(request.Token),
		Self:    request.Self,
		Ours:    g.self.ClusterUUID,
		Now:     g.clock.Now(),
		Control: record.NewSecret(control.PEM()),
	}
	var done redeemed
	err = v.update(ctx, func(tx record.Tx) (err error) {
		if done.authority, err = tx.Authority(); err != nil {
			return err
		}
		attempt.Key, err = exchange.NewKey(done.authority, public, record.RoleControl, record.KeyLife, attempt.Now)
		if err != nil {
			return err
		}
		done.peer, done.key, err = record.Redeem(tx, g.specs, attempt)
		return err
	})
	if err != nil {
		return redeemed{}, err
	}
	v.about.UID, v.about.Name = done.peer.UID, done.peer.Name
	done.first = bytes.Equal(done.key.Serial, attempt.Key.Serial)
	return done, nil
}

// unredeemed returns what to say about a token that was not used up. Who knew it may be
// told why, and its owner is.
func (g *Gateway) unredeemed(ctx context.Context, v *visit, request *protocol.JoinRequest, err error) *denial {
	var refusal *record.Refusal
	if !errors.As(err, &refusal) {
		return denialOf(ctx, err)
	}
	if peer := g.ledger.Peer(refusal.UID); peer != nil {
		v.about.UID, v.about.Name = peer.UID, peer.Name
	}
	if !refusal.Known {
		denied := refused
		denied.kind = InviteRefused
		return &denied
	}
	denied := told(refusal.Reason, InviteRefused)
	note := record.Refused{Reason: refusal.Reason, ClusterUUID: request.ClusterUUID, At: g.clock.Now()}
	err = v.update(ctx, func(tx record.Tx) error { return record.Refuse(tx, refusal.UID, request.TokenID, note) })
	if err != nil {
		v.log.Error(err, "Could not note that an invite was refused", "clusterPeer", v.about.Name)
	}
	return &denied
}

// welcome makes the answer to who used a token up: its certificate, and our own CSR (P7).
func (g *Gateway) welcome(done redeemed, request *protocol.JoinRequest, public crypto.PublicKey) (*protocol.JoinResponse, error) {
	certificate, err := exchange.Certify(done.authority, done.peer.Remote.ClusterUUID, *done.key, public)
	if err != nil {
		return nil, err
	}
	ours, err := pki.ParseKey(done.peer.Remote.Ours.Key.Reveal())
	if err != nil {
		return nil, fmt.Errorf("could not read our own key: %w", err)
	}
	csr, err := pki.NewCSR(ours)
	if err != nil {
		return nil, err
	}
	return &protocol.JoinResponse{
		Protocol:    request.Protocol,
		Certificate: certificate,
		CSR:         csr,
		Self:        g.self.About(done.authority, "", g.clock.Now()),
	}, nil
}
