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
	"slices"
	"time"

	"entente.dev/entente/peering/protocol"
)

// IssuerKey is a key by which tokens of the other cluster are verified, and since when it
// has published it.
type IssuerKey struct {
	// Thumbprint is that of RFC 7638.
	Thumbprint Digest    `json:"thumbprint"`
	Since      time.Time `json:"since"`
}

// NoteIssuer brings the keys of the issuer up to date with the offer that was accepted. A
// key that was published before keeps its time.
func (r *Remote) NoteIssuer(now time.Time) {
	var keys []IssuerKey
	for _, thumbprint := range thumbprints(r.Offer.Body.Issuer) {
		key := IssuerKey{Thumbprint: thumbprint, Since: now}
		if i := slices.IndexFunc(r.IssuerKeys, func(k IssuerKey) bool { return k.Thumbprint == thumbprint }); i >= 0 {
			key = r.IssuerKeys[i]
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	r.IssuerKeys = keys
}

// KeepIssuer forgets the keys that are not in an issuer that is not accepted yet. Those that
// are have been published all the time, and keep their time until it is: or else the other
// cluster would lose them to one that copied them, by adding a key.
func (r *Remote) KeepIssuer(published *protocol.Issuer) {
	still := thumbprints(published)
	r.IssuerKeys = slices.DeleteFunc(slices.Clone(r.IssuerKeys), func(k IssuerKey) bool { return !slices.Contains(still, k.Thumbprint) })
}

// issuerKeysOf returns the keys of a cluster that is paired anew, with their times: another
// one may have published copies of them meanwhile.
func (r *Remote) issuerKeysOf(clusterUUID string) []IssuerKey {
	if r == nil || r.ClusterUUID != clusterUUID {
		return nil
	}
	return r.IssuerKeys
}

func thumbprints(issuer *protocol.Issuer) []Digest {
	if issuer == nil {
		return nil
	}
	// What is not a key set verifies nothing.
	all, _ := protocol.Thumbprints(issuer.JWKS)
	digests := make([]Digest, len(all))
	for i, each := range all {
		digests[i] = each
	}
	return digests
}
