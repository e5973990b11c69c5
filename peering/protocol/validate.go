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
	"time"

	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/peering/pki"
)

const (
	tokenIDDigits = 16
	tokenSize     = 32
	digestDigits  = 64
)

// The Validate methods check the form of a message, of one that came as well as of one
// that is to be sent. Each error is the Fault of the first part that is wrong. They do
// not judge whether the content may be believed, nor whether Protocol is a version that
// is spoken here: look at that before, as another version may have another form.

// Validate checks the form of the message.
func (m *JoinRequest) Validate() error {
	switch {
	case m.Protocol < 1:
		return ErrProtocol
	case !isHex(m.TokenID, tokenIDDigits):
		return ErrTokenID
	case len(m.Token) != tokenSize:
		return ErrToken
	case !isDER(m.CSR):
		return ErrCSR
	}
	if err := m.Self.Validate(); err != nil {
		return err
	}
	// Without them nobody could ever dial it.
	if len(m.Endpoints) > 0 && len(m.Trust) == 0 {
		return ErrTrust
	}
	return nil
}

// Validate checks the form of the message.
func (m *JoinResponse) Validate() error {
	switch {
	case m.Protocol < 1:
		return ErrProtocol
	case !isDER(m.Certificate):
		return ErrCertificate
	case !isDER(m.CSR):
		return ErrCSR
	}
	if err := m.Self.Validate(); err != nil {
		return err
	}
	// Without them the joiner could never dial again.
	if len(m.Trust) == 0 {
		return ErrTrust
	}
	return nil
}

// Validate checks the form of it.
func (s *Self) Validate() error {
	if !connstring.IsUUID(s.ClusterUUID) {
		return ErrClusterUUID
	}
	if s.Time <= 0 || time.Unix(s.Time, 0).UTC().Year() > 9999 {
		return ErrTime
	}
	if len(s.Endpoints) > connstring.MaxEndpoints || !unique(s.Endpoints, connstring.IsEndpoint) {
		return ErrEndpoints
	}
	if !isDigest(s.TrustDigest) {
		return ErrTrustDigest
	}
	if len(s.Trust) == 0 {
		return nil
	}
	if _, err := pki.ParseBundle(s.Trust); err != nil {
		return ErrTrust
	}
	if pki.BundleDigest(s.Trust) != s.TrustDigest {
		return ErrTrustDigest
	}
	return nil
}

// Validate checks the form of the message.
func (m *SyncRequest) Validate() error {
	switch {
	case m.Protocol < 1:
		return ErrProtocol
	case m.Wait < 0 || m.Wait > MaxWait:
		return ErrWait
	}
	return m.State.Validate()
}

// Validate checks the form of the message.
func (m *SyncResponse) Validate() error {
	if m.Protocol < 1 {
		return ErrProtocol
	}
	return m.State.Validate()
}

// Validate checks the form of it, of the body of the offer last.
func (s *State) Validate() error {
	if err := s.Self.Validate(); err != nil {
		return err
	}
	switch {
	case !isDigest(s.Offer.Digest):
		return ErrOfferHeader
	case !isDigest(s.Holds.Offer.Digest) || !isDigest(s.Holds.Trust):
		return ErrHolds
	case len(s.CSR) > pki.MaxCertificate:
		return ErrCSR
	case len(s.Certificate) > pki.MaxCertificate:
		return ErrCertificate
	}
	if s.OfferBody == nil {
		return nil
	}
	return s.OfferBody.Validate()
}

// Validate checks the form of the message.
func (m *RenewRequest) Validate() error {
	switch {
	case m.Role != pki.RoleControl && m.Role != pki.RoleData:
		return ErrRole
	case !isDER(m.CSR):
		return ErrCSR
	}
	return nil
}

// Validate checks the form of the message.
func (m *RenewResponse) Validate() error {
	if !isDER(m.Certificate) {
		return ErrCertificate
	}
	return nil
}

// isDER tells whether it can be a certificate or a signing request at all. Whoever is to
// use it parses it.
func isDER(der []byte) bool { return len(der) > 0 && len(der) <= pki.MaxCertificate }

// isDigest tells whether it is a digest, or none.
func isDigest(text string) bool { return text == "" || isHex(text, digestDigits) }
