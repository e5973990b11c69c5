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

// Cluster returns the UUID of the other cluster that this record holds, so that no
// other record may: that of its Remote, or else that of its Join unless it was refused;
// empty: it holds none.
func (p *Peer) Cluster() string {
	switch {
	case p.Remote != nil:
		return p.Remote.ClusterUUID
	case p.Join != nil && p.Join.Refused == nil:
		return p.Join.ClusterUUID
	}
	return ""
}

// Token returns the ID of the token that leads to this record, or nothing.
func (p *Peer) Token() string {
	if p.Invite == nil {
		return ""
	}
	return p.Invite.TokenID
}

// longestID is longer than any UID, UUID and token ID.
const longestID = 128

// ValidID tells whether a UID, UUID or token ID is of a form that a ledger keeps:
// letters, digits and `-._:`, and not too long.
func ValidID(id string) bool {
	if id == "" || len(id) > longestID {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '-', c == '.', c == '_', c == ':':
		default:
			return false
		}
	}
	return true
}
