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
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	authenticationcel "k8s.io/apiserver/pkg/authentication/cel"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/peering/protocol"
)

const (
	// MaxToken is how long a token may be, in bytes.
	MaxToken = 16 << 10
	// remembered is how many tokens are remembered as verified, and how many as refused,
	// each time those used last.
	remembered = 512
)

// Workload is who a token is of.
type Workload struct {
	// Username is how it is named here: with the prefix of its cluster.
	Username string
	// Namespace and Name are those of the ServiceAccount, in its cluster.
	Namespace, Name string
	// Expires is when the token ends.
	Expires time.Time
}

// Verifier verifies the tokens of one issuer, for one peer. If the peer publishes others,
// or other keys, it takes another Verifier: what this one remembers goes with it.
type Verifier struct {
	issuer  string
	ours    string
	prefix  string
	keys    *keySet
	clock   clock.PassiveClock
	compile authenticationcel.Compiler

	lock sync.Mutex
	// authenticators are those by capability: each has an audience of its own.
	authenticators map[string]authenticator.Token

	// verifying is held while one token is looked at: no peer takes more than one processor,
	// and no token is looked at by two.
	verifying sync.Mutex
	// verified and refused are what was found of tokens. The ones do not make room for the
	// others, of which there may be many.
	verified, refused *lru.Cache
}

// presented is a token, by its hash, that was presented for a capability.
type presented struct {
	hash       [sha256.Size]byte
	capability string
}

// finding is what was found of one.
type finding struct {
	workload *Workload
	err      error
}

// New returns a Verifier for the tokens that a peer's issuer makes for us. The UUIDs are
// those of the peer and of this cluster. It fails if the issuer's URL is not one of https,
// as OpenID Connect has it, and if its keys are not a key set, or none of them can be that
// of a token (ErrNoKey). The errors quote nothing.
func New(issuer protocol.Issuer, peerUUID, ourUUID string, clk clock.PassiveClock) (*Verifier, error) {
	if !connstring.IsUUID(peerUUID) || !connstring.IsUUID(ourUUID) || clk == nil {
		return nil, errors.New("could not set up verifying tokens: it takes the UUIDs of both clusters, and a clock")
	}
	if location, err := url.Parse(issuer.URL); err != nil || location.Scheme != "https" || location.Host == "" {
		return nil, errors.New("could not set up verifying tokens: the URL of the issuer is not one of https")
	}
	keys, err := newKeySet(issuer.JWKS)
	if err != nil {
		return nil, fmt.Errorf("could not set up verifying tokens: %w", err)
	}
	v := &Verifier{
		issuer: issuer.URL, ours: ourUUID, prefix: protocol.UserPrefix(peerUUID), keys: keys, clock: clk,
		compile:        authenticationcel.NewDefaultCompiler(),
		authenticators: map[string]authenticator.Token{},
		verified:       lru.New(remembered),
		refused:        lru.New(remembered),
	}
	// What is wrong with the issuer is wrong for any capability.
	if _, err := v.newAuthenticator("any"); err != nil {
		return nil, err
	}
	return v, nil
}

// Verify returns who a token is of, if it is one for this cluster and the capability. What
// it returns is shared, and not to be changed. It fails with a *Refusal, or if the
// capability cannot have tokens.
//
// Failures are how many tokens may be found not to be good, of whoever is behind them: once
// there are too many, only what was looked at before is known. Presented again, a token costs
// nothing, and does not count.
func (v *Verifier) Verify(ctx context.Context, token, capability string, failures *rate.Limiter) (*Workload, error) {
	if !isCompact(token) {
		return nil, &Refusal{Malformed}
	}
	this := presented{sha256.Sum256([]byte(token)), capability}
	if found, known := v.recall(this); known {
		return found.workload, found.err
	}
	v.verifying.Lock()
	defer v.verifying.Unlock()
	if found, known := v.recall(this); known {
		return found.workload, found.err
	}
	if failures.TokensAt(v.clock.Now()) < 1 {
		return nil, &Refusal{TooManyFailures}
	}
	// Whoever asks may go meanwhile, which says nothing of the token.
	workload, err := v.verify(context.WithoutCancel(ctx), token, capability)
	var refusal *Refusal
	switch {
	case err == nil:
		v.verified.Add(this, finding{workload: workload})
	case errors.As(err, &refusal):
		failures.AllowN(v.clock.Now(), 1)
		// The others stay as they are.
		if refusal.Reason != NotYetValid {
			v.refused.Add(this, finding{err: refusal})
		}
	}
	return workload, err
}

// recall returns what was found of a token before, if anything was.
func (v *Verifier) recall(this presented) (finding, bool) {
	for _, memory := range []*lru.Cache{v.verified, v.refused} {
		known, _ := memory.Get(this)
		found, ok := known.(finding)
		if ok && found.err == nil && !v.clock.Now().Before(found.workload.Expires) {
			return finding{err: &Refusal{Expired}}, true
		}
		if ok {
			return found, true
		}
	}
	return finding{}, false
}

func (v *Verifier) verify(ctx context.Context, token, capability string) (*Workload, error) {
	authenticator, err := v.authenticator(capability) //nolint:contextcheck // it outlives the request
	if err != nil {
		return nil, err
	}
	seen := &seen{}
	response, authentic, err := authenticator.AuthenticateToken(context.WithValue(ctx, seenKey{}, seen), token)
	authentic = authentic && err == nil && response != nil
	switch {
	case err == nil && !authentic && !seen.signature:
		// It looks at the issuer before anything else.
		return nil, &Refusal{WrongIssuer}
	case !seen.signature:
		return nil, &Refusal{Malformed}
	case seen.payload == nil:
		return nil, &Refusal{BadSignature}
	}
	claims, ok := readClaims(seen.payload)
	if !ok {
		return nil, &Refusal{Malformed}
	}
	now := v.clock.Now()
	if reason := claims.fault(v.issuer, protocol.Audience(v.ours, capability), now); reason != "" {
		return nil, &Refusal{reason}
	}
	if !authentic && (claims.issued.After(now) || claims.notBefore.After(now)) {
		// It was too early by a moment, which has passed meanwhile.
		return nil, &Refusal{NotYetValid}
	}
	// Both have to agree: on whether, and on who.
	if !authentic || response.User.GetName() != v.prefix+claims.subject {
		return nil, &Refusal{Malformed}
	}
	return &Workload{Username: response.User.GetName(), Namespace: claims.namespace, Name: claims.name, Expires: claims.expires}, nil
}

// authenticator returns the one of a capability. There are as many as an offer may have
// capabilities; then it starts anew.
func (v *Verifier) authenticator(capability string) (authenticator.Token, error) {
	v.lock.Lock()
	defer v.lock.Unlock()
	if known := v.authenticators[capability]; known != nil {
		return known, nil
	}
	made, err := v.newAuthenticator(capability)
	if err != nil {
		return nil, err
	}
	if len(v.authenticators) >= protocol.MaxCapabilities {
		clear(v.authenticators)
	}
	v.authenticators[capability] = made
	return made, nil
}

// lifeRule refuses a token that was made valid for longer than it may, or does not say for
// how long.
func lifeRule() apiserver.ClaimValidationRule {
	return apiserver.ClaimValidationRule{
		Expression: fmt.Sprintf("has(claims.iat) && has(claims.exp) && claims.iat < claims.exp && claims.exp - claims.iat <= %.1f", protocol.MaxTokenLife.Seconds()),
		Message:    "the token is valid for too long",
	}
}

func (v *Verifier) newAuthenticator(capability string) (authenticator.Token, error) {
	// Its clock is that of the system. By that the token has to be valid, and by ours.
	made, err := oidc.New(context.Background(), oidc.Options{
		JWTAuthenticator: apiserver.JWTAuthenticator{
			Issuer:               apiserver.Issuer{URL: v.issuer, Audiences: []string{protocol.Audience(v.ours, capability)}},
			ClaimValidationRules: []apiserver.ClaimValidationRule{lifeRule()},
			// No groups, no UID and nothing else: of those the other cluster has no say.
			ClaimMappings: apiserver.ClaimMappings{Username: apiserver.PrefixedClaimOrExpression{Claim: "sub", Prefix: &v.prefix}},
		},
		KeySet:               v.keys,
		Client:               &http.Client{Transport: nowhere{}},
		Compiler:             v.compile,
		SupportedSigningAlgs: oidc.AllValidSigningAlgorithms(),
	})
	if err != nil {
		// What it says quotes the URL.
		return nil, errors.New("could not set up verifying tokens: the URL of the issuer, or the capability, is not one that OpenID Connect can have")
	}
	return made, nil
}

// nowhere is a transport that reaches nobody: all that is needed is given.
type nowhere struct{}

// RoundTrip implements http.RoundTripper.
func (nowhere) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("nobody is asked")
}

// isCompact tells whether a text can be a token: three parts that are not empty, in
// base64url.
func isCompact(token string) bool {
	if len(token) > MaxToken || strings.Count(token, ".") != 2 || strings.Contains(token, "..") || token[0] == '.' || token[len(token)-1] == '.' {
		return false
	}
	for _, c := range []byte(token) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}
