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

import "slices"

// Fault says what is wrong with a message, naming the part. It is an error. The
// constants of this package are the only ones, so that a text of a Fault never holds a
// byte of the message and may be shown to anybody (P11).
type Fault string

// Faults that Read finds.
const (
	// ErrIncomplete means that the message could not be read to its end: the
	// connection broke, or the time was over. It is no fault of the message.
	ErrIncomplete Fault = "the message could not be read to its end"
	// ErrTooLarge means that it is longer than a message of its kind may be.
	ErrTooLarge Fault = "the message is too large"
	// ErrTooDeep means that it is nested deeper than MaxDepth.
	ErrTooDeep Fault = "the message is nested too deep"
	// ErrDuplicate means that one object names a field twice.
	ErrDuplicate Fault = "the message names a field twice"
	// ErrMalformed means that it is no JSON object, that something follows it, or that
	// a value is of the wrong kind.
	ErrMalformed Fault = "the message is not the JSON object that is expected"
)

// Faults that Validate finds.
const (
	ErrProtocol    Fault = "protocol: not a version number"
	ErrTokenID     Fault = "tokenID: not 16 lower-case hexadecimal digits"
	ErrToken       Fault = "token: not 32 bytes"
	ErrCSR         Fault = "csr: missing, or too large"
	ErrCertificate Fault = "certificate: missing, or too large"
	ErrClusterUUID Fault = "clusterUUID: not the UUID of a cluster"
	ErrTime        Fault = "time: not a time"
	ErrEndpoints   Fault = "endpoints: not at most 4 different URLs of the form https://HOST:PORT"
	ErrTrust       Fault = "trust: not 1 to 8 certificates of authorities with ECDSA keys on P-256"
	ErrTrustDigest Fault = "trustDigest: not the digest of the trust bundle"
	ErrWait        Fault = "wait: not a number of seconds from 0 to 60"
	ErrOfferHeader Fault = "offer: not a digest"
	ErrHolds       Fault = "holds: not a digest"
	ErrRole        Fault = "role: neither control nor data"
)

// Faults of an offer (P10).
const (
	ErrOfferSize      Fault = "offer: larger than 128 KiB"
	ErrCapabilities   Fault = "offer: more than 256 capabilities, or one that is malformed or there twice"
	ErrProjects       Fault = "offer: more than 500 projects, or one that is malformed or there twice"
	ErrNamespaces     Fault = "offer: more than 2,000 namespaces, or one that is malformed or twice in a project"
	ErrIssuerURL      Fault = "offer: the URL of the issuer is not one of https"
	ErrJWKS           Fault = "offer: the keys of the issuer are not a JSON Web Key Set of 1 to 16 public keys"
	ErrPeeringVersion Fault = "offer: peeringVersion is malformed"
	ErrAlias          Fault = "offer: alias is malformed"
)

// Error names the part.
func (f Fault) Error() string { return string(f) }

// OfOffer tells whether it is the body of an offer that is wrong. Validate looks at that
// last: the rest of the message is sound then.
func (f Fault) OfOffer() bool {
	return slices.Contains([]Fault{
		ErrOfferSize, ErrCapabilities, ErrProjects, ErrNamespaces, ErrIssuerURL, ErrJWKS, ErrPeeringVersion, ErrAlias,
	}, f)
}
