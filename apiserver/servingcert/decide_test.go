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
	"crypto/x509"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/pki"
)

// parts are authorities and leaves to put situations together from.
type parts struct {
	options Options
	now     time.Time
}

func newParts() parts {
	options := newHost().options().complete()
	return parts{options: options, now: start()}
}

func (p parts) authority(t *testing.T, age time.Duration) *pki.Authority {
	t.Helper()
	authority, err := newAuthority(p.options.Policy, p.now.Add(-age))
	require.NoError(t, err)
	return authority
}

func (p parts) leaf(t *testing.T, authority *pki.Authority, age time.Duration) *leaf {
	t.Helper()
	key, err := pki.NewKey()
	require.NoError(t, err)
	names := p.options.names()
	from := p.now.Add(-age)
	certificate, err := authority.Issue(x509.Certificate{
		DNSNames: names.DNSNames, IPAddresses: names.IPs, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, key.Public(), from, from.Add(p.options.Policy.LeafLifetime))
	require.NoError(t, err)
	return &leaf{certificate: certificate, key: key}
}

func (p parts) inUse(t *testing.T, authority *pki.Authority, leaf *leaf) *pair {
	t.Helper()
	out, err := newPair(leaf, authority.Certificate)
	require.NoError(t, err)
	return out
}

// holding is an APIService of ours with these authorities.
func holding(t *testing.T, authorities ...*pki.Authority) sighting {
	t.Helper()
	c := content{}
	for _, authority := range authorities {
		c.old = append(c.old, authority.Certificate)
	}
	bundle, err := c.bundle()
	require.NoError(t, err)
	return sighting{name: peeringAPI, APIService: APIService{Namespace: namespace, Service: service, CABundle: bundle}}
}

func TestDecide(t *testing.T) {
	const day = 24 * time.Hour
	p := newParts()
	present, successor, stranger := p.authority(t, 10*day), p.authority(t, 0), p.authority(t, day)
	aging := p.authority(t, 220*day)
	ending := p.authority(t, 364*day)
	keyless := &pki.Authority{Certificate: present.Certificate}
	fresh, old, expired := p.leaf(t, present, day), p.leaf(t, present, 21*day), p.leaf(t, present, 31*day)
	provisional, err := provisionalPair(p.options)
	require.NoError(t, err)
	unreadable := sighting{name: coreAPI, err: errors.New("no answer")}
	absent := sighting{name: coreAPI, absent: true}
	foreign := sighting{name: coreAPI, foreign: true}
	insecure := holding(t, present, successor)
	insecure.InsecureSkipTLSVerify = true

	for name, test := range map[string]struct {
		situation situation
		want      action
		reason    string
		rescue    bool
		takes     bool
	}{
		"nothing at all": {
			situation: situation{inUse: provisional, seen: sightings{holding(t)}},
			want:      makeNext, reason: "no authority",
		},
		"the first authority is not published yet": {
			situation: situation{content: content{next: successor}, inUse: provisional, seen: sightings{holding(t)}},
			want:      nothing,
		},
		"the first authority is published": {
			situation: situation{content: content{next: successor}, inUse: provisional, seen: sightings{holding(t, successor)}},
			want:      switchOver,
		},
		"the first authority is published where it can be seen": {
			situation: situation{content: content{next: successor}, inUse: provisional, seen: sightings{holding(t, successor), unreadable}},
			want:      nothing,
		},
		"nobody reaches us through an absent or a foreign APIService": {
			situation: situation{content: content{next: successor}, inUse: provisional, seen: sightings{holding(t, successor), absent, foreign}},
			want:      switchOver,
		},
		"nobody is trusted where nobody is verified": {
			situation: situation{content: content{next: successor}, inUse: provisional, seen: sightings{insecure}},
			want:      nothing,
		},
		"all is well": {
			situation: situation{content: content{current: present, leaf: fresh}, inUse: p.inUse(t, present, fresh), seen: sightings{holding(t, present)}},
			want:      nothing, takes: true,
		},
		"a new replica": {
			situation: situation{content: content{current: present, leaf: fresh}, inUse: provisional, seen: sightings{unreadable}},
			want:      nothing, takes: true,
		},
		"the leaf is to be renewed": {
			situation: situation{content: content{current: present, leaf: old}, inUse: p.inUse(t, present, old), seen: sightings{unreadable}},
			want:      renewLeaf, reason: "ends on", takes: true,
		},
		"the leaf ends with its authority": {
			situation: situation{
				content: content{current: ending, leaf: p.leaf(t, ending, 20*day), next: successor}, inUse: provisional, seen: sightings{holding(t)},
			},
			want: nothing, takes: true,
		},
		"the leaf lacks a name": {
			situation: situation{
				content: content{current: present, leaf: fresh}, inUse: p.inUse(t, present, fresh), seen: sightings{holding(t, present)},
				names: pki.Names(serverName, "more.example"),
			},
			want: renewLeaf, reason: "more.example", takes: true,
		},
		"the leaf is lost": {
			situation: situation{content: content{current: present}, inUse: p.inUse(t, present, fresh), seen: sightings{holding(t, present)}},
			want:      renewLeaf,
		},
		"somebody brings an authority": {
			situation: situation{content: content{current: stranger}, inUse: p.inUse(t, present, fresh), seen: sightings{holding(t, present)}},
			want:      tidyUp, reason: "is not in the Secret", rescue: true,
		},
		"somebody brings an authority and a leaf": {
			situation: situation{
				content: content{current: stranger, leaf: p.leaf(t, stranger, 0)}, inUse: p.inUse(t, present, fresh), seen: sightings{holding(t, present)},
			},
			want: tidyUp, rescue: true,
		},
		"and they are published": {
			situation: situation{
				content: content{current: stranger, leaf: p.leaf(t, stranger, 0), old: []*x509.Certificate{present.Certificate}, oldLeaves: []*x509.Certificate{fresh.certificate}},
				inUse:   p.inUse(t, present, fresh), seen: sightings{holding(t, present, stranger)},
			},
			want: nothing, takes: true,
		},
		"the Secret was emptied": {
			situation: situation{inUse: p.inUse(t, present, fresh), seen: sightings{holding(t, present)}},
			want:      makeNext, rescue: true,
		},
		"the Secret was emptied after the leaf expired": {
			situation: situation{inUse: p.inUse(t, present, expired), seen: sightings{holding(t, present)}},
			want:      makeNext,
		},
		"the authority is old": {
			situation: situation{
				content: content{current: aging, leaf: p.leaf(t, aging, day)}, inUse: provisional, seen: sightings{holding(t, aging)},
			},
			want: makeNext, reason: "ends on", takes: true,
		},
		"the authority lost its key": {
			situation: situation{content: content{current: keyless, leaf: fresh}, inUse: p.inUse(t, present, fresh), seen: sightings{holding(t, present)}},
			want:      makeNext, reason: "no key", takes: true,
		},
		"the next authority has just been published": {
			situation: situation{
				content: content{current: present, leaf: fresh, next: successor}, inUse: p.inUse(t, present, fresh), seen: sightings{holding(t, present, successor)},
			},
			want: nothing, takes: true,
		},
		"the next authority has just been published, a new replica": {
			situation: situation{
				content: content{current: present, leaf: fresh, next: successor}, inUse: provisional, seen: sightings{holding(t, present, successor)},
			},
			want: nothing, takes: true,
		},
		"the leaf is lost while another replica may serve one": {
			situation: situation{
				content: content{next: successor, old: []*x509.Certificate{present.Certificate}, oldLeaves: []*x509.Certificate{fresh.certificate}}, inUse: provisional, seen: sightings{holding(t, present, successor)},
			},
			want: nothing,
		},
		"the leaf is lost in the middle of it": {
			situation: situation{content: content{current: present, next: successor}, inUse: provisional, seen: sightings{holding(t, present, successor)}},
			want:      renewLeaf,
		},
		"the next authority has been published for a while": {
			situation: situation{
				content: content{current: present, leaf: fresh, next: successor}, inUse: p.inUse(t, present, fresh),
				seen: sightings{holding(t, present, successor)}, nextSettled: true,
			},
			want: switchOver, takes: true,
		},
		"another replica has switched, and we cannot see that it is published": {
			situation: situation{
				content: content{current: successor, leaf: p.leaf(t, successor, 0), old: []*x509.Certificate{present.Certificate}, oldLeaves: []*x509.Certificate{fresh.certificate}},
				inUse:   p.inUse(t, present, fresh), seen: sightings{unreadable},
			},
			want: nothing, takes: false,
		},
		"and our leaf has expired": {
			situation: situation{
				content: content{current: successor, leaf: p.leaf(t, successor, 0)}, inUse: p.inUse(t, present, expired), seen: sightings{unreadable},
			},
			want: nothing, takes: true,
		},
		"something useless is in the Secret": {
			situation: situation{
				content: content{current: present, leaf: fresh}, faults: []string{"a is odd", "b too"}, inUse: p.inUse(t, present, fresh), seen: sightings{holding(t, present)},
			},
			want: tidyUp, reason: "a is odd; b too", takes: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := test.situation
			s.now, s.policy = p.now, p.options.Policy
			if s.names.DNSNames == nil {
				s.names = p.options.names()
			}
			d := decide(s)
			assert.Equal(t, test.want, d.action)
			assert.Equal(t, test.rescue, d.rescue)
			assert.Contains(t, d.reason(), test.reason)
			assert.Equal(t, test.takes, s.takesLeaf())

			// What is done about it is sound.
			c, err := carryOut(d, s)
			require.NoError(t, err)
			secret := newHost().secret
			require.NoError(t, c.encode(secret))
			again, faults, err := decode(secret.Data, p.now)
			require.NoError(t, err)
			if c.current == nil || c.current.Key != nil {
				assert.Empty(t, faults)
			}
			before, err := c.bundle()
			require.NoError(t, err)
			after, err := again.bundle()
			require.NoError(t, err)
			assert.Equal(t, string(before), string(after))
			if test.rescue {
				assert.Contains(t, string(after), string(holding(t, present).CABundle))
			}
		})
	}
}

// Replicas that want different names, as during an upgrade, do not replace the leaf
// in turns.
func TestReplicasOfDifferentNames(t *testing.T) {
	h, m := started(t)
	options := h.options()
	options.Hosts = []string{"more.example"}
	more := h.replica(t, options, nil)
	options.Hosts = []string{"192.0.2.1"}
	other := h.replica(t, options, nil)
	h.steps(t, more)
	h.steps(t, other)
	written := h.written()
	for _, replica := range []*Manager{m, more, other, more, m} {
		require.NoError(t, replica.RunOnce(quiet(t)))
		leaf := replica.inUse.Load().leaf
		for _, name := range []string{serverName, "more.example", "192.0.2.1"} {
			require.NoError(t, leaf.VerifyHostname(name))
		}
	}
	assert.Equal(t, written, h.written())

	// With the next leaf the names of this replica are the only ones.
	h.clock.Step(21 * 24 * time.Hour)
	h.steps(t, more)
	require.NoError(t, more.inUse.Load().leaf.VerifyHostname("more.example"))
	require.Error(t, more.inUse.Load().leaf.VerifyHostname("192.0.2.1"))
}
