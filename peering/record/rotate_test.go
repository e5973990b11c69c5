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

package record_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/record"
)

// year is a whole number of hundredths.
const year = 36500 * time.Hour / 4

func at(hundredths float64) time.Time {
	return noon.Add(time.Duration(hundredths / 100 * float64(year)))
}

// authority rotates a CA over and over.
type authority struct {
	t *testing.T
	*record.Authority
	peers []*record.Peer
	made  int
}

func (a *authority) rotate(now time.Time) (record.Rotation, bool) {
	a.t.Helper()
	next, rotation, changed, err := record.Rotate(a.Authority, a.peers, now, func(from time.Time) (record.CA, error) {
		a.made++
		key, err := pki.NewKey()
		if err != nil {
			return record.CA{}, err
		}
		ca, err := pki.NewAuthority(fmt.Sprint("CA ", a.made), key, from, from.Add(year))
		if err != nil {
			return record.CA{}, err
		}
		return record.CA{Certificate: ca.Certificate.Raw, Key: record.NewSecret(key.PEM()), NotBefore: from, NotAfter: from.Add(year)}, nil
	})
	require.NoError(a.t, err)
	a.Authority = next
	return rotation, changed
}

func (a *authority) hash(der []byte) record.Digest {
	a.t.Helper()
	certificate, err := pki.ParseCertificate(der)
	require.NoError(a.t, err)
	return pki.HashOfCertificate(certificate)
}

func (a *authority) acknowledged() string { return pki.BundleDigest(a.Trust()) }

// P1, P3: the CA is made, the next one published at 60 %, signs at 80 % once every live
// peer holds it, and the old one goes when no key hangs on it.
func TestP3Rotation(t *testing.T) {
	peer := &record.Peer{UID: uid, Name: "west", Remote: &record.Remote{ClusterUUID: west, ConfirmedAt: noon}}
	dead := &record.Peer{UID: other, Name: "dead", Remote: &record.Remote{ClusterUUID: north, ConfirmedAt: noon, Fault: record.PeerLeft}}
	a := &authority{t: t, peers: []*record.Peer{peer, dead, {UID: "no remote"}}}
	_, changed := a.rotate(noon)
	require.True(t, changed)
	first := a.Current
	peer.Remote.Acked.Trust = a.acknowledged()
	peer.Remote.Keys = []record.Key{{Hash: key(1), Role: record.RoleControl, Issuer: a.hash(first.Certificate), NotAfter: at(85)}}

	_, changed = a.rotate(at(59.9))
	assert.False(t, changed)
	_, changed = a.rotate(at(60))
	require.True(t, changed)
	require.NotNil(t, a.Next)
	require.Len(t, a.Trust(), 2)
	for range 3 {
		_, changed = a.rotate(at(79.9))
		assert.False(t, changed, "one next CA, and not yet")
	}
	rotation, changed := a.rotate(at(80))
	assert.False(t, changed)
	assert.Equal(t, []string{"west"}, rotation.Waiting)
	assert.Equal(t, first.Certificate, a.Current.Certificate)

	before := a.acknowledged()
	peer.Remote.Acked.Trust = before
	rotation, changed = a.rotate(at(80))
	assert.True(t, changed)
	assert.Empty(t, rotation.Waiting)
	assert.False(t, rotation.Forced)
	assert.NotEqual(t, first.Certificate, a.Current.Certificate)
	assert.Equal(t, before, a.acknowledged(), "nobody has to acknowledge the switch")
	require.Len(t, a.Previous, 1)
	assert.Equal(t, first.Certificate, a.Previous[0].Certificate)
	assert.True(t, a.Previous[0].Key.IsZero(), "it signs no more")

	end := at(85).Add(record.KeyGrace)
	_, changed = a.rotate(end.Add(-time.Second))
	assert.False(t, changed, "its key may still be renewed")
	peer.Remote.Keys = append(peer.Remote.Keys, record.Key{Hash: key(2), Role: record.RoleControl, Issuer: a.hash(a.Current.Certificate), NotAfter: end.Add(time.Hour)})
	_, changed = a.rotate(end)
	assert.True(t, changed)
	assert.Empty(t, a.Previous)
	assert.Equal(t, 2, a.made)
}

// P3: a peer that is away holds the rotation up until 95 %, and not longer.
func TestP3Forced(t *testing.T) {
	peer := &record.Peer{UID: uid, Name: "west", Remote: &record.Remote{ClusterUUID: west, ConfirmedAt: noon}}
	a := &authority{t: t, peers: []*record.Peer{peer}}
	a.rotate(noon)
	peer.Remote.Keys = []record.Key{{Hash: key(1), Issuer: a.hash(a.Current.Certificate), NotAfter: at(96)}}
	a.rotate(at(70))
	_, changed := a.rotate(at(94.9))
	assert.False(t, changed)
	rotation, changed := a.rotate(at(95))
	assert.True(t, changed)
	assert.True(t, rotation.Forced)
	assert.Equal(t, []string{"west"}, rotation.Waiting)
	rotation, _ = a.rotate(at(95.1))
	assert.True(t, rotation.Forced, "said while the old one is there")

	peer.Remote.Keys[0].Retired = true
	rotation, changed = a.rotate(at(96))
	assert.True(t, changed)
	assert.False(t, rotation.Forced)
}

// A server that was off for longer than a CA lives rotates at once.
func TestP3AfterALongTime(t *testing.T) {
	a := &authority{t: t}
	a.rotate(noon)
	_, changed := a.rotate(at(300))
	assert.True(t, changed)
	a.rotate(at(300))
	assert.Equal(t, at(300), a.Current.NotBefore)
	assert.Empty(t, a.Previous)
}

// P3: keys name who certified them by the hash of its public key.
func TestHashOfCA(t *testing.T) {
	a := &authority{t: t}
	a.rotate(noon)
	hash, err := a.Current.Hash()
	require.NoError(t, err)
	assert.Equal(t, a.hash(a.Current.Certificate), hash)

	key, err := pki.NewKey()
	require.NoError(t, err)
	leaf, err := pki.SelfSigned(key, noon, at(1))
	require.NoError(t, err)
	for name, der := range map[string][]byte{"none": nil, "garbage": []byte("CANARY"), "no authority": leaf.Raw} {
		hash, err := record.CA{Certificate: der}.Hash()
		require.Error(t, err, name)
		assert.NotContains(t, err.Error(), "CANARY")
		assert.Zero(t, hash, name)
	}
}
