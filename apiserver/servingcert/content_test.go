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

package servingcert

import (
	"bytes"
	"encoding/pem"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/cert"

	"entente.dev/entente/peering/pki"
)

// canary is what a broken Secret may hold and nobody may quote.
const canary = "Y2FuYXJ5LWNhbmFyeQ=="

func canaryPEM(kind string) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: []byte(canary)})
}

// Whatever somebody does to the Secret is repaired; what is served is trusted
// meanwhile, and nobody's key is lost without need. (The invariant is checked at
// each request of steps.)
func TestRepair(t *testing.T) {
	stranger := newHost()
	strangers := stranger.replica(t, stranger.options(), nil)
	stranger.steps(t, strangers)
	foreign := stranger.data()

	for name, test := range map[string]struct {
		edit func(data map[string][]byte)
		// sameAuthority is set where the authority can stay.
		sameAuthority bool
		// sameLeaf is set where the leaf can stay.
		sameLeaf bool
		// says is what is logged about it.
		says string
	}{
		"emptied":                         {edit: func(data map[string][]byte) { clear(data) }, says: "there is no authority"},
		"all garbage":                     {edit: garble(caCert, caKey, leafCert, leafKey), says: "ca.crt is not a PEM file with one certificate"},
		"all of it PEM, none of it right": {edit: garbleEach("CERTIFICATE", caCert, caKey, leafCert, leafKey), says: "ca.crt is not a PEM file with one certificate"},
		"the leaf's certificate garbage":  {edit: garble(leafCert), sameAuthority: true, says: "tls.crt is not a PEM file"},
		"the leaf's key garbage":          {edit: garbleEach("PRIVATE KEY", leafKey), sameAuthority: true, says: "tls.key cannot be used"},
		"the leaf's key another one's":    {edit: take(foreign, leafKey), sameAuthority: true, says: "tls.key is not the key of tls.crt"},
		"a foreign leaf":                  {edit: take(foreign, leafCert, leafKey), sameAuthority: true, says: "tls.crt is not signed by the authority in ca.crt"},
		"no leaf":                         {edit: remove(leafCert, leafKey), sameAuthority: true, says: "there is no serving certificate"},
		"the authority's key garbage":     {edit: garbleEach("EC PRIVATE KEY", caKey), says: "ca.key cannot be used"},
		"the authority's key gone":        {edit: remove(caKey), says: "the authority has no key"},
		"the authority's key foreign":     {edit: take(foreign, caKey), says: "ca.key is not the key of ca.crt"},
		"the authority gone":              {edit: remove(caCert, caKey), says: "tls.crt is not signed by the authority in ca.crt"},
		"a foreign authority without key": {edit: both(take(foreign, caCert), remove(caKey)), says: "tls.crt is not signed by the authority in ca.crt"},
		"a foreign authority":             {edit: take(foreign, caCert, caKey), says: "tls.crt is not signed by the authority in ca.crt"},
		"a foreign authority and leaf":    {edit: take(foreign, caCert, caKey, leafCert, leafKey), says: "the authority of the certificate in use is not in the Secret"},
		"a leaf for an authority":         {edit: func(data map[string][]byte) { data[caCert], data[caKey] = data[leafCert], data[leafKey] }, says: "ca.crt is not the certificate of an authority"},
		"two authorities in one":          {edit: func(data map[string][]byte) { data[caCert] = append(data[caCert], foreign[caCert]...) }, says: "ca.crt is not a PEM file with one certificate"},
		"a next one without key":          {edit: func(data map[string][]byte) { data[nextCACert] = foreign[caCert] }, sameAuthority: true, sameLeaf: true, says: "next-ca.key cannot be used"},
		"a next one that is garbage":      {edit: garble(nextCACert, nextCAKey), sameAuthority: true, sameLeaf: true, says: "next-ca.crt is not a PEM file"},
		"an old one that is garbage":      {edit: garble(oldCACert, oldLeaf), sameAuthority: true, sameLeaf: true, says: "old-ca.crt and old-tls.crt are not PEM files"},
		"an old one without a leaf":       {edit: func(data map[string][]byte) { data[oldCACert], data[oldLeaf] = foreign[caCert], data[leafCert] }, sameAuthority: true, sameLeaf: true, says: "hangs on old-ca.crt"},
		"the present one as an old one":   {edit: func(data map[string][]byte) { data[oldCACert], data[oldLeaf] = data[caCert], data[leafCert] }, sameAuthority: true, sameLeaf: true, says: "hangs on old-ca.crt"},
		"a next one on purpose":           {edit: func(data map[string][]byte) { data[nextCACert], data[nextCAKey] = foreign[caCert], foreign[caKey] }, says: "the next authority is published"},
	} {
		t.Run(name, func(t *testing.T) {
			h, m := started(t)
			before := h.data()
			other := h.replica(t, h.options(), nil)
			h.steps(t, other)
			h.edit(test.edit)
			log := logged(t)
			repair := func(m *Manager) {
				t.Helper()
				for range 5 {
					require.NoError(t, ignoreUnready(m, m.RunOnce(log.context)))
					h.always(t)
					h.clock.Step(time.Minute)
				}
			}
			repair(other)
			repair(m)
			written := h.written()
			repair(other)
			repair(m)
			assert.Equal(t, written, h.written(), "all is well")

			require.NoError(t, m.Check(nil))
			require.NoError(t, other.Check(nil))
			after := h.data()
			leaf := parse(t, after[leafCert])
			assert.True(t, m.inUse.Load().leaf.Equal(leaf))
			assert.True(t, other.inUse.Load().leaf.Equal(leaf))
			require.NoError(t, h.apiService(peeringAPI).trusts(leaf, h.clock.Now()))
			_, faults, err := decode(after, h.clock.Now())
			require.NoError(t, err)
			assert.Empty(t, faults)
			assert.Equal(t, test.sameAuthority, bytes.Equal(before[caCert], after[caCert]))
			assert.Equal(t, test.sameLeaf, bytes.Equal(before[leafCert], after[leafCert]))
			if test.sameAuthority {
				assert.Len(t, h.bundle(t, peeringAPI), 1)
			} else {
				assert.Len(t, h.bundle(t, peeringAPI), 2, "the former one, for who serves a leaf of it")
			}
			assert.Contains(t, log.String(), test.says)
			assert.NotContains(t, log.String(), canary)
			assert.NotContains(t, log.String(), "PRIVATE KEY")
		})
	}
}

// Who replaces an authority because its key was stolen does it in two steps.
func TestRevocation(t *testing.T) {
	h, m := started(t)
	stolen := m.inUse.Load().authority
	h.edit(func(data map[string][]byte) { clear(data) })
	h.steps(t, m)
	h.clock.Step(time.Minute)
	h.steps(t, m)
	assert.Len(t, h.bundle(t, peeringAPI), 2)
	h.edit(remove(oldCACert, oldLeaf))
	h.steps(t, m)
	require.Len(t, h.bundle(t, peeringAPI), 1)
	assert.False(t, h.bundle(t, peeringAPI)[0].Equal(stolen))
	require.NoError(t, m.Check(nil))
}

// After everything has expired, as after a year without a replica, all is made anew.
func TestAllExpired(t *testing.T) {
	h, m := started(t)
	h.clock.Step(2 * 365 * 24 * time.Hour)
	require.ErrorContains(t, m.Check(nil), "expired on")
	h.steps(t, m)
	require.NoError(t, m.Check(nil))
	assert.Len(t, h.bundle(t, peeringAPI), 1)
	late := h.replica(t, h.options(), nil)
	h.steps(t, late)
	require.NoError(t, late.Check(nil))
}

// A replica with a clock that runs behind destroys nothing; some minutes are normal.
func TestClockBehind(t *testing.T) {
	h, m := started(t)
	data := h.data()
	h.clock.SetTime(start().Add(-50 * time.Minute))
	behind := h.replica(t, h.options(), nil)
	h.steps(t, behind)
	require.NoError(t, behind.Check(nil))
	h.clock.SetTime(start().Add(-2 * time.Hour))
	late := h.replica(t, h.options(), nil)
	require.ErrorContains(t, late.RunOnce(quiet(t)), "is the clock of this machine right?")
	require.ErrorContains(t, late.Check(nil), "ca.crt is not valid before")
	require.Error(t, m.RunOnce(quiet(t)))
	assert.Equal(t, data, h.data())
	h.clock.SetTime(start().Add(time.Second))
	h.steps(t, late)
	require.NoError(t, late.Check(nil))
	assert.Equal(t, data, h.data())
}

// Keys that are not ours stay, and a Secret of type kubernetes.io/tls keeps the two
// that it must have.
func TestEncode(t *testing.T) {
	p := newParts()
	authority := p.authority(t, 0)
	secret := &corev1.Secret{Data: map[string][]byte{"note": []byte("mine"), leafCert: []byte("x"), leafKey: {}, caKey: []byte("x")}}
	require.NoError(t, content{next: authority}.encode(secret))
	assert.Equal(t, map[string][]byte{
		"note": []byte("mine"), leafCert: {}, leafKey: {},
		nextCACert: holding(t, authority).CABundle, nextCAKey: authority.Key.PEM(),
	}, secret.Data)

	require.NoError(t, content{current: authority, leaf: p.leaf(t, authority, 0)}.encode(secret))
	assert.NotContains(t, secret.Data, nextCACert)
	written := maps.Clone(secret.Data)
	c, faults, err := decode(secret.Data, p.now)
	require.NoError(t, err)
	require.Empty(t, faults)
	require.NoError(t, c.encode(secret))
	assert.Equal(t, written, secret.Data)
}

// However often somebody breaks the Secret, former authorities do not pile up.
func TestOldAuthoritiesAreBounded(t *testing.T) {
	p := newParts()
	var c content
	var newest *pki.Authority
	for i := range 2 * maxOld {
		newest = p.authority(t, time.Duration(2*maxOld-i)*time.Hour)
		leaf := p.leaf(t, newest, 0)
		leaves, err := cert.ParseCertsPEM(mustEncode(t, leaf))
		require.NoError(t, err)
		c.addOld(newest.Certificate, leaves, p.now)
	}
	assert.Len(t, c.old, maxOld)
	assert.Len(t, c.oldLeaves, maxOld)
	assert.True(t, c.old[0].Equal(newest.Certificate))
}

func mustEncode(t *testing.T, leaf *leaf) []byte {
	t.Helper()
	content, err := cert.EncodeCertificates(leaf.certificate)
	require.NoError(t, err)
	return content
}

func garble(names ...string) func(map[string][]byte) {
	return func(data map[string][]byte) {
		for _, name := range names {
			data[name] = []byte(canary)
		}
	}
}

func garbleEach(kind string, names ...string) func(map[string][]byte) {
	return func(data map[string][]byte) {
		for _, name := range names {
			data[name] = canaryPEM(kind)
		}
	}
}

func remove(names ...string) func(map[string][]byte) {
	return func(data map[string][]byte) {
		for _, name := range names {
			delete(data, name)
		}
	}
}

func take(from map[string][]byte, names ...string) func(map[string][]byte) {
	return func(data map[string][]byte) {
		for _, name := range names {
			data[name] = from[name]
		}
	}
}

func both(a, b func(map[string][]byte)) func(map[string][]byte) {
	return func(data map[string][]byte) {
		a(data)
		b(data)
	}
}
