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

package protocol

import (
	"crypto"
	"crypto/sha256"
	"time"
)

// PathAPI is what the paths begin with under which a workload with a token of its own
// cluster reaches the API of the other one (G7). A capability follows, and then the path
// in that API.
const PathAPI = "/peering/v1/api/"

// MaxTokenLife is for how long the token of a workload may have been made valid.
const MaxTokenLife = time.Hour

// Audience returns the audience that a token must have, and no other, to reach a cluster
// under a capability.
func Audience(clusterUUID, capability string) string {
	return "peering.entente.dev:" + clusterUUID + ":" + capability
}

// UserPrefix returns what the names begin with that the ServiceAccounts of a cluster have in
// another one.
func UserPrefix(clusterUUID string) string { return UserGroup(clusterUUID) + ":" }

// UserGroup returns the group of those users.
func UserGroup(clusterUUID string) string { return "peer:" + clusterUUID }

// Thumbprints returns the RFC 7638 thumbprints of the keys in a JSON Web Key Set, by which
// the same key is recognised however it is written. The error is ErrJWKS.
func Thumbprints(jwks string) ([][sha256.Size]byte, error) {
	keys, err := ParseJWKS(jwks)
	if err != nil {
		return nil, err
	}
	out := make([][sha256.Size]byte, len(keys))
	for i := range keys {
		thumbprint, err := keys[i].Thumbprint(crypto.SHA256)
		if err != nil {
			return nil, ErrJWKS
		}
		out[i] = [sha256.Size]byte(thumbprint)
	}
	return out, nil
}
