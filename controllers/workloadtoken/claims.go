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

package workloadtoken

import (
	"encoding/json"
	"strings"
	"time"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"entente.dev/entente/peering/protocol"
)

// leeway is by how much a token may be of the future: the clock of the other cluster is
// not ours. It is what the authenticator allows.
const leeway = time.Minute

// claims are those of a verified token that decide.
type claims struct {
	issuer, subject string
	audiences       []string
	expires         time.Time
	// issued and notBefore are zero if the token does not say.
	issued, notBefore time.Time
	namespace, name   string
	// serviceAccount says that it is of one: of that namespace and name.
	serviceAccount bool
}

// readClaims reads the claims in a payload; false if one is missing that all tokens have,
// or is of another form. None may be there once more with other capitals: some decoders
// would take that instead.
func readClaims(payload []byte) (c claims, ok bool) {
	var raw map[string]json.RawMessage
	if json.Unmarshal(payload, &raw) != nil || ambiguous(raw) {
		return claims{}, false
	}
	for name, into := range map[string]*time.Time{"exp": &c.expires, "iat": &c.issued, "nbf": &c.notBefore} {
		if value, given := raw[name]; given {
			if *into, ok = readTime(value); !ok {
				return claims{}, false
			}
		}
	}
	if json.Unmarshal(raw["iss"], &c.issuer) != nil || json.Unmarshal(raw["sub"], &c.subject) != nil || c.expires.IsZero() {
		return claims{}, false
	}
	if c.audiences, ok = readAudiences(raw["aud"]); !ok {
		return claims{}, false
	}
	var err error
	c.namespace, c.name, err = serviceaccount.SplitUsername(c.subject)
	// Made anew it has to be the same, whatever the library takes.
	c.serviceAccount = err == nil && serviceaccount.MatchesUsername(c.namespace, c.name, c.subject)
	return c, true
}

// ambiguous tells whether a claim that decides is there with other capitals.
func ambiguous(raw map[string]json.RawMessage) bool {
	for given := range raw {
		for _, name := range []string{"iss", "sub", "aud", "exp", "iat", "nbf"} {
			if given != name && strings.EqualFold(given, name) {
				return true
			}
		}
	}
	return false
}

// readAudiences reads one audience, or a list.
func readAudiences(raw json.RawMessage) ([]string, bool) {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}, true
	}
	var list []string
	return list, json.Unmarshal(raw, &list) == nil
}

// end of all times that a token may tell, in seconds: beyond it there is no arithmetic.
const end = 1 << 36

func readTime(raw json.RawMessage) (time.Time, bool) {
	var seconds float64
	if len(raw) == 0 || json.Unmarshal(raw, &seconds) != nil || seconds <= 0 || seconds >= end {
		return time.Time{}, false
	}
	return time.Unix(int64(seconds), 0), true
}

// fault tells why the claims are not those of a token for an audience; empty: they are.
func (c *claims) fault(issuer, audience string, now time.Time) Reason {
	switch {
	case c.issuer != issuer:
		return WrongIssuer
	case len(c.audiences) != 1, c.audiences[0] != audience:
		return WrongAudience
	case !now.Before(c.expires):
		return Expired
	case c.issued.IsZero(), !c.issued.Before(c.expires), c.expires.Sub(c.issued) > protocol.MaxTokenLife:
		return TooLong
	// From before it was issued it would live longer than it says.
	case c.issued.After(now.Add(leeway)), c.notBefore.After(now.Add(leeway)):
		return NotYetValid
	case !c.serviceAccount:
		return NotServiceAccount
	}
	return ""
}
