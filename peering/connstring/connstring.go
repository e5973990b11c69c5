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

package connstring

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// Limits of a connection string.
const (
	// MaxLength is the length in characters that a connection string may have.
	MaxLength = 2048
	// MaxEndpoints is the number of endpoints that it may hold; it holds one at least.
	MaxEndpoints = 4
	// MaxPins is the number of pins that it may hold; it holds one at least.
	MaxPins = 3
)

// ConnectionString is what a connection string says. It prints without the
// token in every way; only Encode writes it out.
//
// Its content comes from whoever wrote the string: Parse checks the form, not
// that the endpoints may be dialled, nor that it has not expired, which the
// issuer decides by its own clock.
type ConnectionString struct {
	// TokenID names the token, 16 lower-case hexadecimal digits. It is not secret.
	TokenID string
	// Token is the secret by which the issuer recognises the string.
	Token Token
	// Endpoints are URLs of the issuer's gateway, 1 to 4, in the order in which
	// to try them: https://HOST or https://HOST:PORT with a lower-case host name,
	// an IPv4 address, or an IPv6 address in brackets and without a zone. Without
	// a port it is 443.
	Endpoints []string
	// Pins are hashes of the CA keys by which the gateway is recognised, 1 to 3.
	Pins []Pin
	// ClusterUUID names the cluster that issued the string, in lower case.
	ClusterUUID string
	// ExpiresAt is when the string expires by the issuer's clock, of years 1970
	// to 9999. Encode cuts it to whole seconds; Parse returns it in UTC.
	ExpiresAt time.Time
	// Protocol are the versions of the peering protocol that the issuer speaks.
	Protocol ProtocolRange
}

// ProtocolRange is a range of versions of the peering protocol, both ends
// included. Versions start at 1.
type ProtocolRange struct {
	// Min is the oldest version, Max the newest.
	Min, Max uint16
}

// Pin is the SHA-256 hash of a public key (SubjectPublicKeyInfo, DER). It is not secret.
type Pin [sha256.Size]byte

// String returns the pin as 64 lower-case hexadecimal digits.
func (p Pin) String() string { return hex.EncodeToString(p[:]) }
