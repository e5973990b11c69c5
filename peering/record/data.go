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
	"bytes"
	"time"
)

// What is done with our data key at another cluster (P2, G8) moves no epoch. A data key
// has no successor: the other cluster lets each one in beside the others, for a day at the
// most, and takes none of them for theft. So a copy of the store from before gets one key
// more, or uses one that is let in as long as it would have been anyway. What the other
// cluster must not forget, it counts itself.

// DialsForData tells whether there is a gateway of the other cluster at which our workloads
// are to be let in, and a control key of ours by which to ask for that.
func (p *Peer) DialsForData() bool {
	return p.GivesAccess() && len(p.Remote.Endpoints) > 0 && len(p.Remote.Trust) > 0 && len(p.Remote.Ours.Certificate) > 0
}

// StartData keeps the key that is to be our data key next, in place of the one that has
// this certificate; none: it is the first one. It is kept before anybody is asked to certify
// it, so that one who asks again asks for the same key. It does nothing if one is on its
// way, or another one than that is in use.
func StartData(tx Tx, uid string, certificate []byte, key Secret) error {
	peer, err := tx.Peer(uid)
	if err != nil || !peer.DialsForData() || peer.Remote.DataNext != nil || !bytes.Equal(certificate, peer.Remote.dataCertificate()) {
		return err
	}
	peer.Remote.DataNext = &Credential{Key: key}
	return tx.PutPeer(peer)
}

func (r *Remote) dataCertificate() []byte {
	if r.Data == nil {
		return nil
	}
	return r.Data.Certificate
}

// KeepData makes the data key that was on its way the one in use, with the certificate
// (DER) that the other cluster made for it. It tells whether it did: if that key is not on
// its way any more, there has been another pairing, or an end.
func KeepData(tx Tx, uid string, key Secret, certificate []byte, notBefore, notAfter time.Time) (kept bool, err error) {
	peer, err := tx.Peer(uid)
	if err != nil || !peer.DialsForData() || !peer.Remote.awaitsData(key) {
		return false, err
	}
	peer.Remote.Data = &Credential{Key: key, Certificate: certificate, NotBefore: notBefore, NotAfter: notAfter}
	peer.Remote.DataNext = nil
	return true, tx.PutPeer(peer)
}

// AbandonData forgets a data key that was on its way, for which the other cluster makes no
// certificate that is good for anything: another one takes its place.
func AbandonData(tx Tx, uid string, key Secret) error {
	peer, err := tx.Peer(uid)
	if err != nil || peer == nil || peer.Remote == nil || !peer.Remote.awaitsData(key) {
		return err
	}
	peer.Remote.DataNext = nil
	return tx.PutPeer(peer)
}

func (r *Remote) awaitsData(key Secret) bool {
	return r.DataNext != nil && bytes.Equal(r.DataNext.Key.Reveal(), key.Reveal())
}

// DropData forgets our data keys at the other cluster, if there are any.
func DropData(tx Tx, uid string) error {
	peer, err := tx.Peer(uid)
	if err != nil || !peer.HoldsData() {
		return err
	}
	peer.Remote.Data, peer.Remote.DataNext = nil, nil
	return tx.PutPeer(peer)
}

// HoldsData tells whether there are any.
func (p *Peer) HoldsData() bool {
	return p != nil && p.Remote != nil && (p.Remote.Data != nil || p.Remote.DataNext != nil)
}
