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

package record

import (
	"slices"
	"time"

	"entente.dev/entente/peering/pki"
)

// Steps of the life of a peering CA, in hundredths of it (P3).
const (
	publishNextAt = 60
	signByNextAt  = 80
	forceNextAt   = 95
)

// Rotation is the state of a rotation of the peering CA.
type Rotation struct {
	// Waiting are the names of the ClusterPeers whose other cluster has not acknowledged
	// the next CA, when it should already sign.
	Waiting []string
	// Forced says that it signs although some had not.
	Forced bool
}

// Rotate brings the peering CA to where it should be at that time (P1, P3): there is
// one, the next one is published, signs, and the old one goes once nothing valid hangs
// on it. It changes the authority in place, nil for none yet, makes CAs by create, and
// tells whether anything changed.
func Rotate(authority *Authority, peers []*Peer, now time.Time, create func(from time.Time) (CA, error)) (*Authority, Rotation, bool, error) {
	if authority == nil {
		first, err := create(now)
		if err != nil {
			return nil, Rotation{}, false, err
		}
		return &Authority{Current: first}, Rotation{}, true, nil
	}
	changed := false
	age := authority.Current.age(now)
	if authority.Next == nil && age >= publishNextAt {
		next, err := create(now)
		if err != nil {
			return nil, Rotation{}, false, err
		}
		authority.Next, changed = &next, true
	}
	rotation := Rotation{}
	if authority.Next != nil && age >= signByNextAt {
		rotation.Waiting = waiting(authority, peers)
		if len(rotation.Waiting) == 0 || age >= forceNextAt {
			old := authority.Current
			old.Key = Secret{}
			authority.Previous = append(authority.Previous, old)
			authority.Current, authority.Next = *authority.Next, nil
			authority.Forced = len(rotation.Waiting) > 0
			changed = true
		}
	}
	// Old CAs go that no key hangs on which may still be used or renewed.
	verifying := len(authority.Previous)
	authority.Previous = slices.DeleteFunc(authority.Previous, func(ca CA) bool { return !ca.needed(peers, now) })
	changed = changed || len(authority.Previous) < verifying
	if len(authority.Previous) == 0 && authority.Forced {
		authority.Forced, changed = false, true
	}
	rotation.Forced = authority.Forced
	return authority, rotation, changed, nil
}

// age is how much of its life is over, in hundredths.
func (c CA) age(now time.Time) int64 {
	return int64(now.Sub(c.NotBefore)) / max(1, int64(c.NotAfter.Sub(c.NotBefore))/100)
}

// waiting names the live peers that do not hold the current bundle.
func waiting(authority *Authority, peers []*Peer) []string {
	digest := pki.BundleDigest(authority.Trust())
	var names []string
	for _, peer := range peers {
		if peer.Live() && peer.Remote.Acked.Trust != digest {
			names = append(names, peer.Name)
		}
	}
	return names
}

// needed tells whether a key hangs on the CA that may still be used or renewed.
func (c CA) needed(peers []*Peer, now time.Time) bool {
	hash, err := c.Hash()
	if err != nil {
		return false
	}
	for _, peer := range peers {
		if peer.Remote == nil {
			continue
		}
		for _, key := range peer.Remote.Keys {
			if key.Issuer == hash && !key.Retired && now.Before(key.NotAfter.Add(KeyGrace)) {
				return true
			}
		}
	}
	return false
}
