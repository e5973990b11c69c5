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
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func numbered(prefix string, count int) []string {
	var names []string
	for i := range count {
		names = append(names, fmt.Sprint(prefix, i))
	}
	return names
}

func capabilities(count int) []Capability {
	var all []Capability
	for _, name := range numbered("c", count) {
		all = append(all, Capability{Name: name})
	}
	return all
}

func projects(count int) []Project {
	var all []Project
	for _, name := range numbered("p", count) {
		all = append(all, Project{Name: name})
	}
	return all
}

// P10, P11: an offer that is over a limit, or has a wrong character, is refused whole.
func TestP10ValidateOffer(t *testing.T) {
	long := strings.Repeat("a", 64)
	for _, test := range []struct {
		name   string
		change func(*Offer)
		want   error
	}{
		{"sound", func(*Offer) {}, nil},
		{"empty", func(o *Offer) { *o = Offer{} }, nil},

		{"256 capabilities", func(o *Offer) { o.Capabilities = capabilities(256) }, nil},
		{"257 capabilities", func(o *Offer) { o.Capabilities = capabilities(257) }, ErrCapabilities},
		{"capability twice", func(o *Offer) { o.Capabilities = append(o.Capabilities, o.Capabilities[0]) }, ErrCapabilities},
		{"capability without name", func(o *Offer) { o.Capabilities[0].Name = "" }, ErrCapabilities},
		{"long capability", func(o *Offer) { o.Capabilities[0].Name = long[:63] }, nil},
		{"longer capability", func(o *Offer) { o.Capabilities[0].Name = long }, ErrCapabilities},
		{"capability, upper case", func(o *Offer) { o.Capabilities[0].Name = "A" }, ErrCapabilities},
		{"capability, dot", func(o *Offer) { o.Capabilities[0].Name = "a.b" }, ErrCapabilities},
		{"capability, dash", func(o *Offer) { o.Capabilities[0].Name = "a-" }, ErrCapabilities},
		{"capability, dash first", func(o *Offer) { o.Capabilities[0].Name = "-a" }, ErrCapabilities},
		{"long version", func(o *Offer) { o.Capabilities[0].Version = long }, nil},
		{"longer version", func(o *Offer) { o.Capabilities[0].Version = long + "a" }, ErrCapabilities},
		{"version, space", func(o *Offer) { o.Capabilities[0].Version = "1 2" }, ErrCapabilities},
		{"version, line break", func(o *Offer) { o.Capabilities[0].Version = "1\n" }, ErrCapabilities},
		{"scope", func(o *Offer) { o.Capabilities[0].Scope = []string{"world"} }, ErrCapabilities},
		{"scope twice", func(o *Offer) { o.Capabilities[0].Scope = []string{"project", "project"} }, ErrCapabilities},

		{"500 projects", func(o *Offer) { o.Projects = projects(500) }, nil},
		{"501 projects", func(o *Offer) { o.Projects = projects(501) }, ErrProjects},
		{"project twice", func(o *Offer) { o.Projects = append(o.Projects, o.Projects[0]) }, ErrProjects},
		{"project, slash", func(o *Offer) { o.Projects[0].Name = "../a" }, ErrProjects},
		{"2,000 namespaces", func(o *Offer) {
			o.Projects[0].Namespaces, o.Projects[1].Namespaces = numbered("a", 1000), numbered("b", 1000)
		}, nil},
		{"2,001 namespaces", func(o *Offer) {
			o.Projects[0].Namespaces, o.Projects[1].Namespaces = numbered("a", 1000), numbered("b", 1001)
		}, ErrNamespaces},
		{"namespace twice", func(o *Offer) { o.Projects[0].Namespaces = []string{"a", "a"} }, ErrNamespaces},
		{"namespace, colon", func(o *Offer) { o.Projects[0].Namespaces = []string{"a:b"} }, ErrNamespaces},

		{"no issuer", func(o *Offer) { o.Issuer = nil }, nil},
		{"issuer, http", func(o *Offer) { o.Issuer.URL = "http://a.example" }, ErrIssuerURL},
		{"issuer, no host", func(o *Offer) { o.Issuer.URL = "https:///a" }, ErrIssuerURL},
		{"issuer, only a port", func(o *Offer) { o.Issuer.URL = "https://:443" }, ErrIssuerURL},
		{"issuer, user", func(o *Offer) { o.Issuer.URL = "https://u@a.example" }, ErrIssuerURL},
		{"issuer, query", func(o *Offer) { o.Issuer.URL = "https://a.example?b" }, ErrIssuerURL},
		{"issuer, bell", func(o *Offer) { o.Issuer.URL = "https://a.example/\a" }, ErrIssuerURL},
		{"issuer, long", func(o *Offer) { o.Issuer.URL = "https://a.example/" + strings.Repeat("a", 2030) }, nil},
		{"issuer, longer", func(o *Offer) { o.Issuer.URL = "https://a.example/" + strings.Repeat("a", 2031) }, ErrIssuerURL},
		{"issuer, no keys", func(o *Offer) { o.Issuer.JWKS = "" }, ErrJWKS},

		{"long peeringVersion", func(o *Offer) { o.PeeringVersion = long }, nil},
		{"longer peeringVersion", func(o *Offer) { o.PeeringVersion = long + "a" }, ErrPeeringVersion},
		{"peeringVersion, markup", func(o *Offer) { o.PeeringVersion = "<b>" }, ErrPeeringVersion},
		{"long alias", func(o *Offer) { o.Alias = long }, nil},
		{"longer alias", func(o *Offer) { o.Alias = long + "a" }, ErrAlias},
		{"alias, another script", func(o *Offer) { o.Alias = "zаpad" }, ErrAlias},

		{"too large", func(o *Offer) {
			o.Projects = nil
			for i := range 500 {
				name := fmt.Sprintf("p%d-%s", i, strings.Repeat("a", 50))
				o.Projects = append(o.Projects, Project{Name: name, Namespaces: []string{name + "-a", name + "-b", name + "-c", name + "-d"}})
			}
		}, ErrOfferSize},
	} {
		offer := sampleOffer(t)
		test.change(&offer)
		err := offer.Validate()
		assertFault(t, test.want, err, test.name)
		if fault, ok := err.(Fault); ok { //nolint:errorlint // it is not wrapped
			assert.True(t, fault.OfOffer(), test.name)
		}
	}
	assert.False(t, ErrHolds.OfOffer())
	assert.False(t, Fault("").OfOffer())
}

// P11: the keys of an issuer are public ones, few, and of kinds that are known.
func TestP11ParseJWKS(t *testing.T) {
	curve := func(c elliptic.Curve) *ecdsa.PrivateKey {
		key, err := ecdsa.GenerateKey(c, rand.Reader)
		require.NoError(t, err)
		return key
	}
	rivest := func(bits int) *rsa.PrivateKey {
		key, err := rsa.GenerateKey(rand.Reader, bits)
		require.NoError(t, err)
		return key
	}
	edwards, edwardsPrivate, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	set := func(keys ...any) string {
		var s jose.JSONWebKeySet
		for _, key := range keys {
			s.Keys = append(s.Keys, jose.JSONWebKey{Key: key})
		}
		return encode(t, s)
	}
	weak := rivest(2048).PublicKey
	weak.N = weak.N.Rsh(weak.N, 1024)
	huge := rivest(2048).PublicKey
	huge.N = huge.N.Lsh(huge.N, 2049)
	slow := rivest(2048).PublicKey
	slow.E = 1<<31 - 1

	for name, text := range map[string]string{
		"P-256": set(curve(elliptic.P256()).Public()), "P-521": set(curve(elliptic.P521()).Public()),
		"RSA": set(rivest(2048).Public()), "Ed25519": set(edwards), "16": sampleJWKS(t, 16),
		"indented": strings.ReplaceAll(sampleJWKS(t, 1), ",", ",\r\n\t "),
	} {
		_, err := ParseJWKS(text)
		assert.NoError(t, err, name)
	}
	for name, text := range map[string]string{
		"nothing": "", "no JSON": "canary", "null": "null", "no keys": "{}", "none": `{"keys":[]}`, "null key": `{"keys":[null]}`,
		"a list": `[]`, "17": sampleJWKS(t, 17), "unknown kind": `{"keys":[{"kty":"canary"}]}`,
		"known and unknown": strings.Replace(sampleJWKS(t, 1), `{"keys":[`, `{"keys":[{"kty":"canary"},`, 1),
		"private P-256":     set(curve(elliptic.P256())), "private RSA": set(rivest(2048)), "private Ed25519": set(edwardsPrivate),
		"symmetric": set([]byte("canary")), "short RSA": set(&weak), "long RSA": set(&huge), "slow RSA": set(&slow),
		"twice": `{"keys":[],` + sampleJWKS(t, 1)[1:], "another script": strings.Replace(sampleJWKS(t, 1), "ES256", "ЕS256", 1),
		"bell": strings.Replace(sampleJWKS(t, 1), "ES256", "\a", 1), "two sets": sampleJWKS(t, 1) + sampleJWKS(t, 1),
		"deep":      `{"keys":[],"a":` + nested("[", "]", 16) + `}`,
		"too large": strings.Repeat(" ", MaxJWKS) + sampleJWKS(t, 1),
	} {
		_, err := ParseJWKS(text)
		assert.Equal(t, ErrJWKS, err, name)
	}
}

// P10: the digest says whether two offers are the same, in whatever order they are.
func TestP10OfferDigest(t *testing.T) {
	offer := sampleOffer(t)
	before := encode(t, offer)
	digest := offer.Digest()
	assert.Len(t, digest, 64)

	var shuffled Offer
	require.NoError(t, json.Unmarshal([]byte(before), &shuffled))
	slices.Reverse(shuffled.Capabilities)
	slices.Reverse(shuffled.Capabilities[1].Scope)
	slices.Reverse(shuffled.Projects)
	slices.Reverse(shuffled.Projects[1].Namespaces)
	assert.Equal(t, digest, shuffled.Digest())
	assert.Equal(t, before, encode(t, offer), "Digest changed the offer")
	assert.Equal(t, (Offer{}).Digest(), (Offer{Projects: []Project{}}).Digest())

	for i, change := range []func(*Offer){
		func(o *Offer) { o.Capabilities[0].Name = "a" },
		func(o *Offer) { o.Capabilities[0].Version = "2.0.0" },
		func(o *Offer) { o.Capabilities[0].Scope = nil },
		func(o *Offer) { o.Projects[0].Name = "a" },
		func(o *Offer) { o.Projects[0].Namespaces = nil },
		func(o *Offer) { o.Issuer.URL = "https://a.example" },
		func(o *Offer) { o.Issuer.JWKS = "{}" },
		func(o *Offer) { o.Issuer = nil },
		func(o *Offer) { o.PeeringVersion = "" },
		func(o *Offer) { o.Alias = "" },
	} {
		var changed Offer
		require.NoError(t, json.Unmarshal([]byte(before), &changed))
		change(&changed)
		assert.NotEqual(t, digest, changed.Digest(), i)
	}
}
