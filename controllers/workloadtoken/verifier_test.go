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
	"bytes"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	"k8s.io/klog/v2"

	"entente.dev/entente/peering/protocol"
)

func reasonOf(t *testing.T, err error) Reason {
	t.Helper()
	var refusal *Refusal
	require.ErrorAs(t, err, &refusal)
	return refusal.Reason
}

// G6: a token of the peer's issuer, for us and the capability, is taken, whatever its key
// is of. Who it is of has the prefix of the peer.
func TestG6TokensAreTaken(t *testing.T) {
	clock := newClock()
	rs, rs2 := newRSA(t, "rs"), newRSA(t, "rs2")
	rs2.algorithm = jose.PS384
	es256, es384, es512 := newEC(t, "es256", elliptic.P256(), jose.ES256), newEC(t, "es384", elliptic.P384(), jose.ES384), newEC(t, "es512", elliptic.P521(), jose.ES512)
	v := newVerifier(t, clock, rs, rs2, es256, es384, es512)
	for _, s := range []*signer{rs, rs2, es256, es384, es512} {
		claims := good(clock.Now())
		for name, token := range map[string]string{
			"list":         s.sign(claims),
			"one audience": s.sign(claims.with(claimSet{"aud": protocol.Audience(east, logs)})),
			"no nbf":       s.sign(claims.with(claimSet{"nbf": nil})),
			"a whole hour": s.sign(claims.with(claimSet{"iat": clock.Now().Add(-30 * time.Minute).Unix(), "exp": clock.Now().Add(30 * time.Minute).Unix()})),
			"keys of its own": s.sign(claims, map[jose.HeaderKey]any{
				"jwk": jose.JSONWebKey{Key: newRSA(t, "x").private.Public()}, "jku": "https://192.0.2.1/",
			}),
		} {
			workload, err := v.Verify(t.Context(), token, logs, lenient())
			require.NoError(t, err, "%s %s", s.algorithm, name)
			assert.Equal(t, "peer:"+west+":system:serviceaccount:module-logs:controller", workload.Username)
			assert.Equal(t, []string{"module-logs", "controller"}, []string{workload.Namespace, workload.Name})
			assert.WithinDuration(t, clock.Now().Add(20*time.Minute), workload.Expires, 11*time.Minute)
		}
	}
}

// G6: a token costs few signatures, however many keys there are: it names its key, unless
// there is one only, and of several keys of that name two are tried.
func TestG6FewKeysAreTried(t *testing.T) {
	clock := newClock()
	one, two, three, other := newRSA(t, "key"), newRSA(t, "key"), newRSA(t, "key"), newRSA(t, "other")
	anonymous := *one
	anonymous.kid = ""
	for name, test := range map[string]struct {
		by        *signer
		published []*signer
		want      bool
	}{
		"no name, one key":                 {&anonymous, []*signer{one}, true},
		"no name, one key without name":    {&anonymous, []*signer{&anonymous}, true},
		"no name, two keys":                {&anonymous, []*signer{one, other}, false},
		"no name, one of two without name": {&anonymous, []*signer{&anonymous, other}, false},
		"the second of a name":             {two, []*signer{one, other, two}, true},
		"the third of a name":              {three, []*signer{one, two, three}, false},
	} {
		v := newVerifier(t, clock, test.published...)
		_, err := v.Verify(t.Context(), test.by.sign(good(clock.Now())), logs, lenient())
		assert.Equal(t, test.want, err == nil, name)
		if err != nil {
			assert.Equal(t, BadSignature, reasonOf(t, err), name)
		}
	}
}

// G6: so many tokens may be bad. Then none is looked at, whatever it is, but those of which
// it is known, for the time being.
func TestG6FailuresAreLimited(t *testing.T) {
	clock := newClock()
	key, forger := newEC(t, "key", elliptic.P256(), jose.ES256), newEC(t, "key", elliptic.P256(), jose.ES256)
	v := newVerifier(t, clock, key)
	failures := rate.NewLimiter(1, 3)
	fresh := func(by *signer) string { return by.sign(good(clock.Now()).with(claimSet{"jti": rand.Text()})) }
	verify := func(token string) error {
		_, err := v.Verify(t.Context(), token, logs, failures)
		return err
	}
	known, bad := fresh(key), fresh(forger)
	require.NoError(t, verify(known))
	for range 10 {
		assert.Equal(t, BadSignature, reasonOf(t, verify(bad)), "the same once more does not count")
		require.NoError(t, verify(fresh(key)), "nor does a good one")
	}
	wrong := key.sign(good(clock.Now()).with(claimSet{"aud": "x"}))
	for range 10 {
		assert.Equal(t, WrongAudience, reasonOf(t, verify(wrong)))
	}
	assert.Equal(t, BadSignature, reasonOf(t, verify(fresh(forger))))
	for range 2 {
		assert.Equal(t, TooManyFailures, reasonOf(t, verify(fresh(forger))))
		assert.Equal(t, TooManyFailures, reasonOf(t, verify(fresh(key))))
		assert.Equal(t, BadSignature, reasonOf(t, verify(bad)))
		require.NoError(t, verify(known))
	}
	clock.Step(time.Second)
	require.NoError(t, verify(fresh(key)))
	assert.Equal(t, BadSignature, reasonOf(t, verify(fresh(forger))))
	assert.Equal(t, TooManyFailures, reasonOf(t, verify(fresh(key))))
}

// G6: a token of the future may be presented again later.
func TestG6GoodTokensAreNotRememberedAsBad(t *testing.T) {
	clock := newClock()
	key := newEC(t, "key", elliptic.P256(), jose.ES256)
	v := newVerifier(t, clock, key)
	early, now := key.sign(good(clock.Now())), clock.Now()
	clock.SetTime(now.Add(-2 * time.Minute))
	_, err := v.Verify(t.Context(), early, logs, lenient())
	assert.Equal(t, NotYetValid, reasonOf(t, err))
	clock.SetTime(now)
	_, err = v.Verify(t.Context(), early, logs, lenient())
	require.NoError(t, err)
	// Nor is one that is of the future to the authenticator alone.
	early = key.sign(good(now.Add(2 * time.Minute)))
	clock.SetTime(now.Add(90 * time.Second))
	_, err = v.Verify(t.Context(), early, logs, lenient())
	assert.Equal(t, NotYetValid, reasonOf(t, err))
}

// G6: every other token is refused, for one of a closed set of reasons.
func TestG6TokensAreRefused(t *testing.T) {
	clock := newClock()
	now := clock.Now()
	ours, other := newRSA(t, "key"), newRSA(t, "key")
	second := newEC(t, "second", elliptic.P256(), jose.ES256)
	edwards := newEd(t, "edwards")
	v := newVerifier(t, clock, ours, second, edwards)
	claims := good(now)
	audience := protocol.Audience(east, logs)
	sub := func(s string) string { return ours.sign(claims.with(claimSet{"sub": s})) }
	public, err := x509.MarshalPKIXPublicKey(ours.private.Public())
	require.NoError(t, err)
	hmac := func(key []byte) string {
		made, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: key}, (&jose.SignerOptions{}).WithHeader("kid", "key"))
		require.NoError(t, err)
		signed, err := made.Sign([]byte(`{"iss":"` + issuerURL + `"}`))
		require.NoError(t, err)
		compact, err := signed.CompactSerialize()
		require.NoError(t, err)
		return compact
	}
	valid := ours.sign(claims)
	parts := strings.Split(valid, ".")
	encode := base64.RawURLEncoding.EncodeToString
	header := func(json string) string { return encode([]byte(json)) + "." + parts[1] + "." + parts[2] }
	wrongID := *second
	wrongID.kid = "key"
	unknownID := *ours
	unknownID.kid = "unknown"

	for name, test := range map[string]struct {
		token string
		want  Reason
	}{
		"nothing":                       {"", Malformed},
		"no token":                      {"abc", Malformed},
		"two parts":                     {parts[0] + "." + parts[1], Malformed},
		"four parts":                    {valid + ".x", Malformed},
		"no signature":                  {parts[0] + "." + parts[1] + ".", Malformed},
		"too long":                      {ours.sign(claims.with(claimSet{"x": strings.Repeat("x", MaxToken)})), Malformed},
		"a space":                       {valid + " ", Malformed},
		"JSON":                          {`{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`, Malformed},
		"payload no JSON":               {ours.sign("no JSON"), WrongIssuer},
		"another issuer":                {ours.sign(claims.with(claimSet{"iss": "https://192.0.2.1"})), WrongIssuer},
		"a longer issuer":               {ours.sign(claims.with(claimSet{"iss": issuerURL + "/"})), WrongIssuer},
		"no issuer":                     {ours.sign(claims.with(claimSet{"iss": nil})), WrongIssuer},
		"issuer of no text":             {ours.sign(claims.with(claimSet{"iss": 1})), WrongIssuer},
		"signed by another":             {other.sign(claims), BadSignature},
		"payload changed":               {parts[0] + "." + encode([]byte(`{"iss":"`+issuerURL+`","sub":"x"}`)) + "." + parts[2], BadSignature},
		"signature changed":             {parts[0] + "." + parts[1] + "." + encode([]byte("x")), BadSignature},
		"alg none":                      {header(`{"alg":"none","kid":"key"}`), Malformed},
		"alg none in capitals":          {header(`{"alg":"NONE","kid":"key"}`), Malformed},
		"alg missing":                   {header(`{"kid":"key"}`), Malformed},
		"alg of another kind of key":    {header(`{"alg":"ES256","kid":"key"}`), BadSignature},
		"alg of another hash":           {header(`{"alg":"RS512","kid":"key"}`), BadSignature},
		"HS256 with the public key":     {hmac(public), Malformed},
		"HS256 with the modulus":        {hmac([]byte(jwks(t, ours))), Malformed},
		"EdDSA":                         {edwards.sign(claims), Malformed},
		"critical header":               {ours.sign(claims, map[jose.HeaderKey]any{"crit": []string{"exp"}, "exp": 1}), BadSignature},
		"ID of a key that is not there": {unknownID.sign(claims), BadSignature},
		"ID of another key":             {wrongID.sign(claims), BadSignature},
		"another audience":              {ours.sign(claims.with(claimSet{"aud": protocol.Audience(east, "metrics")})), WrongAudience},
		"audience of another cluster":   {ours.sign(claims.with(claimSet{"aud": protocol.Audience(north, logs)})), WrongAudience},
		"two audiences":                 {ours.sign(claims.with(claimSet{"aud": []string{audience, issuerURL}})), WrongAudience},
		"the audience twice":            {ours.sign(claims.with(claimSet{"aud": []string{audience, audience}})), WrongAudience},
		"no audience":                   {ours.sign(claims.with(claimSet{"aud": nil})), Malformed},
		"an empty list of audiences":    {ours.sign(claims.with(claimSet{"aud": []string{}})), WrongAudience},
		"audience of no text":           {ours.sign(claims.with(claimSet{"aud": []any{audience, 1}})), Malformed},
		"audience in capitals, too":     {ours.sign(claims.with(claimSet{"AUD": issuerURL})), Malformed},
		"expired":                       {ours.sign(claims.with(claimSet{"iat": now.Add(-time.Hour).Unix(), "nbf": now.Add(-time.Hour).Unix(), "exp": now.Add(-time.Second).Unix()})), Expired},
		"a day old":                     {ours.sign(good(now.Add(-24 * time.Hour))), Expired},
		"no expiry":                     {ours.sign(claims.with(claimSet{"exp": nil})), Malformed},
		"expiry of text":                {ours.sign(claims.with(claimSet{"exp": "tomorrow"})), Malformed},
		"expiry beyond all times":       {ours.sign(claims.with(claimSet{"exp": 1e300})), Malformed},
		"expiry below zero":             {ours.sign(claims.with(claimSet{"exp": -1})), Malformed},
		"more than an hour":             {ours.sign(claims.with(claimSet{"exp": now.Add(time.Hour + 2*time.Second).Unix()})), TooLong},
		"a year":                        {ours.sign(claims.with(claimSet{"exp": now.Add(365 * 24 * time.Hour).Unix()})), TooLong},
		"no iat":                        {ours.sign(claims.with(claimSet{"iat": nil})), TooLong},
		"iat of text":                   {ours.sign(claims.with(claimSet{"iat": "x"})), Malformed},
		"iat after exp":                 {ours.sign(claims.with(claimSet{"iat": now.Add(11 * time.Minute).Unix()})), TooLong},
		"of the future, for an hour":    {ours.sign(good(now.Add(24 * time.Hour)).with(claimSet{"nbf": nil})), NotYetValid},
		"nbf of the future":             {ours.sign(claims.with(claimSet{"nbf": now.Add(5 * time.Minute).Unix()})), NotYetValid},
		"nbf of text":                   {ours.sign(claims.with(claimSet{"nbf": "x"})), Malformed},
		"a user":                        {sub("alice"), NotServiceAccount},
		"an admin":                      {sub("system:admin"), NotServiceAccount},
		"a node":                        {sub("system:node:n"), NotServiceAccount},
		"nobody":                        {sub(""), NotServiceAccount},
		"no subject":                    {ours.sign(claims.with(claimSet{"sub": nil})), Malformed},
		"subject of no text":            {ours.sign(claims.with(claimSet{"sub": []string{"system:serviceaccount:a:b"}})), Malformed},
		"no name":                       {sub("system:serviceaccount:module-logs:"), NotServiceAccount},
		"no namespace":                  {sub("system:serviceaccount::controller"), NotServiceAccount},
		"another colon":                 {sub("system:serviceaccount:module-logs:controller:x"), NotServiceAccount},
		"colon at the end":              {sub("system:serviceaccount:module-logs:controller:"), NotServiceAccount},
		"a prefix before":               {sub("x:system:serviceaccount:module-logs:controller"), NotServiceAccount},
		"the prefix of a peer":          {sub("peer:" + north + ":system:serviceaccount:module-logs:controller"), NotServiceAccount},
		"capitals":                      {sub("system:serviceaccount:Module-Logs:controller"), NotServiceAccount},
		"a line break":                  {sub("system:serviceaccount:module-logs:controller\nx"), NotServiceAccount},
		"a space before":                {sub(" system:serviceaccount:module-logs:controller"), NotServiceAccount},
		"a slash":                       {sub("system:serviceaccount:module-logs:a/b"), NotServiceAccount},
	} {
		t.Run(name, func(t *testing.T) {
			workload, err := v.Verify(t.Context(), test.token, logs, lenient())
			assert.Nil(t, workload)
			assert.Equal(t, test.want, reasonOf(t, err))
		})
	}
	_, err = v.Verify(t.Context(), valid, logs, lenient())
	require.NoError(t, err, "it is not all refused")
}

// G6: the curve of a key says which algorithm it is for, whatever the library takes.
func TestG6AlgorithmFitsTheKey(t *testing.T) {
	clock := newClock()
	large := newEC(t, "key", elliptic.P384(), jose.ES384)
	for _, algorithm := range []string{"ES256", "ES512", "RS256", "PS256", "EdDSA", "HS256", "", "none"} {
		assert.False(t, fits(large.private.Public(), algorithm), algorithm)
	}
	assert.True(t, fits(large.private.Public(), "ES384"))
	assert.False(t, fits([]byte("x"), "HS256"))
	small := newEC(t, "key", elliptic.P224(), jose.ES256)
	assert.False(t, fits(small.private.Public(), "ES256"))
	// A key that is published for one algorithm, or for no signatures, is for no other.
	published := newRSA(t, "key")
	set := strings.Replace(jwks(t, published), "RS256", "RS512", 1)
	v, err := New(protocol.Issuer{URL: issuerURL, JWKS: set}, west, east, clock)
	require.NoError(t, err)
	_, err = v.Verify(t.Context(), published.sign(good(clock.Now())), logs, lenient())
	assert.Equal(t, BadSignature, reasonOf(t, err))
	encrypting := strings.Replace(jwks(t, published), `"sig"`, `"enc"`, 1)
	v, err = New(protocol.Issuer{URL: issuerURL, JWKS: encrypting}, west, east, clock)
	require.ErrorIs(t, err, ErrNoKey)
	assert.Nil(t, v)
	both := strings.Replace(encrypting, "]", ","+strings.Split(strings.Split(jwks(t, newRSA(t, "other")), "[")[1], "]")[0]+"]", 1)
	v, err = New(protocol.Issuer{URL: issuerURL, JWKS: both}, west, east, clock)
	require.NoError(t, err)
	_, err = v.Verify(t.Context(), published.sign(good(clock.Now())), logs, lenient())
	assert.Equal(t, BadSignature, reasonOf(t, err))
	// Nor is one that no token is signed with.
	_, err = New(protocol.Issuer{URL: issuerURL, JWKS: jwks(t, newEd(t, "key"))}, west, east, clock)
	require.ErrorIs(t, err, ErrNoKey)
}

// G6: equal issuer URLs are normal: each peer's verifier takes what its own keys signed,
// also if the IDs of the keys are equal.
func TestG6EqualIssuersOfTwoPeers(t *testing.T) {
	clock := newClock()
	westKey, northKey := newRSA(t, "key"), newRSA(t, "key")
	ofWest := newVerifier(t, clock, westKey)
	ofNorth, err := New(protocol.Issuer{URL: issuerURL, JWKS: jwks(t, northKey)}, north, east, clock)
	require.NoError(t, err)
	westToken, northToken := westKey.sign(good(clock.Now())), northKey.sign(good(clock.Now()))

	workload, err := ofWest.Verify(t.Context(), westToken, logs, lenient())
	require.NoError(t, err)
	assert.Equal(t, "peer:"+west+":system:serviceaccount:module-logs:controller", workload.Username)
	workload, err = ofNorth.Verify(t.Context(), northToken, logs, lenient())
	require.NoError(t, err)
	assert.Equal(t, "peer:"+north+":system:serviceaccount:module-logs:controller", workload.Username)
	_, err = ofWest.Verify(t.Context(), northToken, logs, lenient())
	assert.Equal(t, BadSignature, reasonOf(t, err))
	_, err = ofNorth.Verify(t.Context(), westToken, logs, lenient())
	assert.Equal(t, BadSignature, reasonOf(t, err))
}

// G6: a token that was verified is remembered, for its capability and until it ends.
func TestG6VerifiedTokensAreRemembered(t *testing.T) {
	clock := newClock()
	key := newRSA(t, "key")
	v := newVerifier(t, clock, key)
	token := key.sign(good(clock.Now()))
	first, err := v.Verify(t.Context(), token, logs, lenient())
	require.NoError(t, err)
	again, err := v.Verify(t.Context(), token, logs, lenient())
	require.NoError(t, err)
	assert.Same(t, first, again)
	_, err = v.Verify(t.Context(), token, "metrics", lenient())
	assert.Equal(t, WrongAudience, reasonOf(t, err))
	clock.SetTime(first.Expires.Add(-time.Second))
	_, err = v.Verify(t.Context(), token, logs, lenient())
	require.NoError(t, err)
	clock.SetTime(first.Expires)
	for range 2 {
		_, err = v.Verify(t.Context(), token, logs, lenient())
		assert.Equal(t, Expired, reasonOf(t, err), "by our clock, also once it is forgotten")
	}
}

// There are never more of anything than there is room for.
func TestG6MemoryIsBounded(t *testing.T) {
	clock := newClock()
	key := newEC(t, "key", elliptic.P256(), jose.ES256)
	v := newVerifier(t, clock, key)
	for i := range 2 * remembered {
		_, err := v.Verify(t.Context(), key.sign(good(clock.Now()).with(claimSet{"jti": fmt.Sprint(i)})), logs, lenient())
		require.NoError(t, err)
	}
	assert.Equal(t, remembered, v.verified.Len())
	for i := range 2 * remembered {
		_, err := v.Verify(t.Context(), fmt.Sprint("x.y.", i), logs, lenient())
		require.Error(t, err)
	}
	assert.Equal(t, remembered, v.refused.Len())
	assert.Equal(t, remembered, v.verified.Len(), "they are not in the place of each other")
	for i := range protocol.MaxCapabilities {
		v.authenticators[fmt.Sprint(i)] = v.authenticators[logs]
	}
	_, err := v.authenticator("metrics")
	require.NoError(t, err)
	assert.Len(t, v.authenticators, 1)
}

// An issuer that OpenID Connect cannot have, and keys that are none, are refused, and not
// quoted.
func TestG6IssuersThatCannotBe(t *testing.T) {
	clock := newClock()
	keys := jwks(t, newRSA(t, "key"))
	for _, issuer := range []protocol.Issuer{
		{URL: "http://" + canary, JWKS: keys},
		{URL: canary, JWKS: keys},
		{URL: "https://", JWKS: keys},
		{URL: "https://user:" + canary + "@192.0.2.1", JWKS: keys},
		{URL: "https://192.0.2.1?" + canary, JWKS: keys},
		{URL: "https://192.0.2.1#" + canary, JWKS: keys},
		{URL: "https://192.0.2.1/%zz" + canary, JWKS: keys},
		{URL: "", JWKS: keys},
		{URL: issuerURL, JWKS: `{"keys":[]}`},
		{URL: issuerURL, JWKS: canary},
		{URL: issuerURL},
	} {
		_, err := New(issuer, west, east, clock)
		require.Error(t, err, issuer.URL)
		assert.NotContains(t, err.Error(), canary)
	}
	for _, uuids := range [][2]string{{"", east}, {west, ""}, {"x:y", east}} {
		_, err := New(protocol.Issuer{URL: issuerURL, JWKS: keys}, uuids[0], uuids[1], clock)
		require.Error(t, err)
	}
}

// R15: nothing of a token is in a log at any verbosity, nor in an error.
func TestR15NothingOfATokenIsLogged(t *testing.T) {
	var flags flag.FlagSet
	klog.InitFlags(&flags)
	state := klog.CaptureState()
	t.Cleanup(state.Restore)
	require.NoError(t, flags.Set("v", "10"))
	require.NoError(t, flags.Set("logtostderr", "false"))
	require.NoError(t, flags.Set("alsologtostderr", "false"))
	require.NoError(t, flags.Set("stderrthreshold", "FATAL"))
	var buffer bytes.Buffer
	klog.SetOutput(&buffer)

	clock := newClock()
	key := newRSA(t, "key")
	v := newVerifier(t, clock, key)
	claims := good(clock.Now())
	for _, changes := range []claimSet{
		{},
		{"aud": canary},
		{"sub": canary},
		{"iss": "https://" + canary},
		{"exp": canary},
		{"iat": canary},
		{"nbf": canary},
		{"exp": 1},
		{"_claim_names": map[string]string{"groups": canary}, "_claim_sources": map[string]any{canary: map[string]string{"endpoint": "https://" + canary}}},
		{"_claim_names": map[string]string{"groups": canary}},
	} {
		token := key.sign(claims.with(changes))
		if _, err := v.Verify(t.Context(), token, logs, lenient()); err != nil {
			assert.NotContains(t, err.Error(), canary)
			assert.NotContains(t, err.Error(), token[:20])
		}
	}
	klog.Flush()
	assert.NotContains(t, buffer.String(), canary)
	assert.NotContains(t, buffer.String(), "eyJ")
}

func TestVerifyByManyAtOnce(t *testing.T) {
	clock := newClock()
	key := newEC(t, "key", elliptic.P256(), jose.ES256)
	v := newVerifier(t, clock, key)
	token := key.sign(good(clock.Now()))
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			capability, want := logs, true
			if i%2 == 1 {
				capability, want = fmt.Sprint("other-", i), false
			}
			_, err := v.Verify(t.Context(), token, capability, lenient())
			assert.Equal(t, want, err == nil)
		})
	}
	group.Wait()
}

func BenchmarkVerify(b *testing.B) {
	t := &testing.T{}
	clock := newClock()
	key := newRSA(t, "key")
	v := newVerifier(t, clock, key)
	token := key.sign(good(clock.Now()))
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			v.verified.Clear()
			if _, err := v.Verify(b.Context(), token, logs, lenient()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("again", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := v.Verify(b.Context(), token, logs, lenient()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			newVerifier(t, clock, key)
		}
	})
}
