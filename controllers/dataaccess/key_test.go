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

package dataaccess

import (
	"crypto/x509"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// P2: a data key is there as soon as there is somebody to certify it, and is renewed when
// two thirds of its day have passed.
func TestP2DataKey(t *testing.T) {
	f := newFixture(t)
	f.once()
	data := f.remote().Data
	require.NotNil(t, data)
	assert.Nil(t, f.remote().DataNext)
	certificate, err := exchange.Certified(data.Key, data.Certificate, f.far.authority().Trust())
	require.NoError(t, err)
	clusterUUID, role, ok := pki.PeerOf(certificate)
	assert.True(t, ok)
	assert.Equal(t, []string{west, pki.RoleData}, []string{clusterUUID, role})
	assert.Equal(t, noon.Add(record.DataKeyLife), data.NotAfter)

	for range 10 {
		again := f.once()
		assert.Positive(t, again)
		assert.LessOrEqual(t, again, data.RenewAt().Sub(noon))
	}
	f.clock.SetTime(data.RenewAt().Add(-time.Second))
	f.once()
	times, _ := f.far.asked()
	assert.Equal(t, 1, times)
	f.clock.SetTime(data.RenewAt())
	f.once()
	renewed := f.remote().Data
	assert.NotEqual(t, data.Key.Reveal(), renewed.Key.Reveal(), "with another key")
	assert.WithinDuration(t, f.clock.Now().Add(record.DataKeyLife), renewed.NotAfter, time.Second)
	times, keys := f.far.asked()
	assert.Equal(t, []int{2, 2}, []int{times, keys})
}

// P2: who is refused, or gets no answer, or an answer that is of no use, asks again for the
// same key, ever more seldom.
func TestP2SameKeyAgain(t *testing.T) {
	for name, failure := range map[string]error{
		"out of reach": &client.Failure{Kind: client.Unreachable, Detail: client.DetailConnect},
		"untrusted":    &client.Failure{Kind: client.Untrusted},
		"refused":      &client.Failure{Kind: client.Refused, Reason: protocol.FailureRefused},
		"expired":      &client.Failure{Kind: client.Refused, Reason: protocol.FailureExpired},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.far.fails(failure)
			for began := f.clock.Now(); f.clock.Since(began) < 24*time.Hour; {
				again := f.once()
				require.Positive(t, again)
				before, _ := f.far.asked()
				f.clock.Step(again / 2)
				assert.Equal(t, again-again/2, f.once(), "because something else changed")
				now, _ := f.far.asked()
				require.Equal(t, before, now, "not before its time")
				require.Nil(t, f.remote().Data)
				require.NotNil(t, f.remote().DataNext)
				f.clock.Step(again - again/2)
			}
			times, keys := f.far.asked()
			assert.Equal(t, 1, keys)
			assert.Greater(t, times, 24*3)
			assert.Less(t, times, 24*6+10)
			f.far.fails(nil)
			f.clock.Step(maxPause + maxPause/5)
			f.once()
			assert.NotNil(t, f.remote().Data)
			_, keys = f.far.asked()
			assert.Equal(t, 1, keys)
		})
	}
}

func serial(t *testing.T, der []byte) string {
	t.Helper()
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return certificate.SerialNumber.String()
}

// P2: a process that ended between the two steps goes on with the same key, and one whose
// answer was lost gets the same certificate.
func TestP2Restart(t *testing.T) {
	f := newFixture(t)
	var made protocol.RenewResponse
	wire := &wire{far: f.far}
	f.far.answers(func(request protocol.RenewRequest) (protocol.RenewResponse, error) {
		f.far.answers(nil)
		var err error
		made, err = wire.Renew(t.Context(), request)
		assert.NoError(t, err)
		return protocol.RenewResponse{}, &client.Failure{Kind: client.Unreachable}
	})
	f.once()
	assert.Nil(t, f.remote().Data)
	f.restart()
	f.once()
	require.NotNil(t, f.remote().Data)
	assert.Equal(t, serial(t, made.Certificate), serial(t, f.remote().Data.Certificate))
	_, keys := f.far.asked()
	assert.Equal(t, 1, keys)
}

// P2: a key is given up to which a peer that answers has no answer of use, for instance as
// it certified that by an authority that signs no more. Of other keys there are never more
// than the peer lets in.
func TestP2GivesUp(t *testing.T) {
	other, err := pki.NewKey()
	require.NoError(t, err)
	nonsense := func(*fixture) (protocol.RenewResponse, error) {
		return protocol.RenewResponse{Certificate: []byte("nonsense")}, nil
	}
	for name, answer := range map[string]func(*fixture) (protocol.RenewResponse, error){
		"nonsense": nonsense,
		"busy": func(*fixture) (protocol.RenewResponse, error) {
			return protocol.RenewResponse{}, &client.Failure{Kind: client.Busy}
		},
		"not by the rules": func(*fixture) (protocol.RenewResponse, error) {
			return protocol.RenewResponse{}, &client.Failure{Kind: client.Invalid}
		},
		"another key's": func(f *fixture) (protocol.RenewResponse, error) {
			return protocol.RenewResponse{Certificate: f.far.issues(other, record.RoleData, f.clock.Now())}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.far.answers(func(protocol.RenewRequest) (protocol.RenewResponse, error) { return answer(f) })
			// passes lets an hour pass, looking whenever the controller asks to.
			passes := func() {
				for end := f.clock.Now().Add(time.Hour); f.clock.Now().Before(end); {
					f.clock.Step(min(max(f.once(), time.Second), end.Sub(f.clock.Now())))
				}
			}
			perHour := []int{}
			for range 12 {
				_, before := f.far.asked()
				passes()
				_, after := f.far.asked()
				perHour = append(perHour, after-before)
			}
			for _, keys := range perHour {
				assert.LessOrEqual(t, keys, record.MaxDataKeys, perHour)
			}
			assert.Positive(t, perHour[len(perHour)-1], "it goes on")
			assert.Nil(t, f.remote().Data)
			f.far.answers(nil)
			for range 2 { // an answer, and a key that may be made
				passes()
			}
			assert.NotNil(t, f.remote().Data)
		})
	}
}

// issues makes a certificate for a key.
func (r *far) issues(key *pki.Key, role record.Role, from time.Time) []byte {
	known, err := exchange.NewKey(r.authority(), key.Public(), role, record.DataKeyLife, from)
	assert.NoError(r.t, err)
	certificate, err := exchange.Certify(r.authority(), west, known, key.Public())
	assert.NoError(r.t, err)
	return certificate
}

// P2: what comes is for our key, of the right role and good for something.
func TestP2Useless(t *testing.T) {
	for name, test := range map[string]struct {
		role record.Role
		from time.Time
	}{
		"for something else": {record.RoleControl, noon},
		"it has ended":       {record.RoleData, noon.Add(-2 * record.DataKeyLife)},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.far.answers(func(protocol.RenewRequest) (protocol.RenewResponse, error) {
				key, err := pki.ParseKey(f.remote().DataNext.Key.Reveal())
				assert.NoError(t, err)
				return protocol.RenewResponse{Certificate: f.far.issues(key, test.role, test.from)}, nil
			})
			assert.Positive(t, f.once())
			assert.Nil(t, f.remote().Data)
		})
	}
}

// P2: the peer's CA was replaced after it had certified a key whose certificate was lost.
func TestP2Rotated(t *testing.T) {
	f := newFixture(t)
	wire := &wire{far: f.far}
	f.far.answers(func(request protocol.RenewRequest) (protocol.RenewResponse, error) {
		f.far.answers(nil)
		_, err := wire.Renew(t.Context(), request)
		assert.NoError(t, err)
		return protocol.RenewResponse{}, &client.Failure{Kind: client.Unreachable}
	})
	f.once()
	f.far.rotates()
	f.edit(func(r *record.Remote) { r.Trust = f.far.authority().Trust() })
	for range 10 {
		f.once()
		f.clock.Step(time.Minute)
	}
	require.NotNil(t, f.remote().Data)
	_, keys := f.far.asked()
	assert.Equal(t, 2, keys)
}

// P2: a peer that is dialled in another way is asked at once, but not without end.
func TestP2AnotherWay(t *testing.T) {
	f := newFixture(t)
	f.far.fails(&client.Failure{Kind: client.Unreachable})
	for range 20 {
		f.once()
		f.clock.Step(maxPause)
	}
	times, _ := f.far.asked()
	f.once()
	f.clock.Step(firstPause)
	f.once()
	now, _ := f.far.asked()
	assert.LessOrEqual(t, now, times+1)
	f.edit(func(r *record.Remote) { r.Trust = append(r.Trust, r.Trust[0]) })
	f.once()
	again, _ := f.far.asked()
	assert.Equal(t, now+1, again)
	for range 10 {
		f.edit(func(r *record.Remote) { r.Trust = append(r.Trust, r.Trust[0]) })
		f.once()
	}
	last, _ := f.far.asked()
	assert.Equal(t, again, last, "whatever it says")
}

// P2: who is known to be out of reach is not dialled, and keeps what there is.
func TestP2Unreachable(t *testing.T) {
	f := newFixture(t)
	f.edit(func(r *record.Remote) { r.Unreachable = noon })
	assert.Zero(t, f.once())
	times, _ := f.far.asked()
	assert.Zero(t, times)
	f.edit(func(r *record.Remote) { r.Unreachable = time.Time{} })
	f.once()
	require.NotNil(t, f.remote().Data)
	f.edit(func(r *record.Remote) { r.Unreachable = noon })
	f.clock.Step(48 * time.Hour)
	f.once()
	assert.NotNil(t, f.remote().Data)
	assert.Nil(t, f.remote().DataNext)
}

// P2, P12: without access there is no key.
func TestP2Dropped(t *testing.T) {
	for name, end := range map[string]func(f *fixture){
		"at fault":    func(f *fixture) { f.edit(func(r *record.Remote) { r.Fault = record.TrustExpired }) },
		"no endpoint": func(f *fixture) { f.edit(func(r *record.Remote) { r.Endpoints = nil }) },
		"being deleted": func(f *fixture) {
			peer := clusterPeer("east", uid)
			peer.DeletionTimestamp = &metav1.Time{Time: noon}
			f.shows(peer)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.once()
			f.edit(func(r *record.Remote) { r.DataNext = &record.Credential{Key: record.NewSecret([]byte("next"))} })
			end(f)
			f.once()
			assert.False(t, f.book.Peer(uid).HoldsData())
			f.clock.Step(24 * time.Hour)
			f.once()
			times, _ := f.far.asked()
			assert.Equal(t, 1, times)
		})
	}
	// A fault that comes and goes makes no more keys than the peer lets in.
	f := newFixture(t)
	for range 60 {
		f.once()
		f.edit(func(r *record.Remote) { r.Fault = record.UUIDMismatch })
		f.once()
		f.edit(func(r *record.Remote) { r.Fault = "" })
		f.clock.Step(time.Minute)
	}
	_, keys := f.far.asked()
	assert.LessOrEqual(t, keys, record.MaxDataKeys)
	assert.Greater(t, keys, 1)
}

// S3: what is not known is left as it is; what cannot be recorded is an error.
func TestS3Unknown(t *testing.T) {
	f := newFixture(t)
	for _, stale := range []error{record.ErrStale, record.ErrRestored} {
		f.book.SetFresh(stale)
		assert.Equal(t, unknownAgain, f.once())
		assert.Empty(t, f.requests())
	}
	f.book.SetFresh(nil)
	times, _ := f.far.asked()
	assert.Zero(t, times)
	ouch := errors.New("ouch")
	f.book.failing(ouch)
	_, err := f.sync(t.Context(), cache.ObjectName{Name: "east"})
	require.ErrorIs(t, err, ouch)
	times, _ = f.far.asked()
	assert.Zero(t, times, "it is recorded before anybody is asked")
	f.book.failing(nil)
	f.far.answers(func(protocol.RenewRequest) (protocol.RenewResponse, error) {
		f.book.failing(ouch)
		return protocol.RenewResponse{}, errProper
	})
	_, err = f.sync(t.Context(), cache.ObjectName{Name: "east"})
	require.ErrorIs(t, err, ouch)
	f.book.failing(nil)
	f.far.answers(nil)
	f.once()
	require.NotNil(t, f.remote().Data)
	_, keys := f.far.asked()
	assert.Equal(t, 1, keys)
	f.book.failing(ouch)
	f.edit(func(r *record.Remote) { r.Fault = record.TrustExpired })
	_, err = f.sync(t.Context(), cache.ObjectName{Name: "east"})
	require.ErrorIs(t, err, ouch)
}
