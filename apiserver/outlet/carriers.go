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

package outlet

import (
	"bytes"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/record"
)

// grace is for how long requests go on over connections that were opened with what is
// outdated since: no stream outlasts its token.
const grace = tokenLife

// carriers keeps the connections to each peer, for as long as where it is, how it is
// recognised and who we are to it stay the same.
type carriers struct {
	dialer *client.Dialer
	ledger record.Reader
	clock  clock.PassiveClock
	// requests is how many there may be to one peer.
	requests int

	lock    sync.Mutex
	closed  bool
	current map[string]*carrier // by the UID of the ClusterPeer
	retired map[*carrier]bool
}

// carrier is the way to one peer. What it is made of is not changed.
type carrier struct {
	*client.Carrier
	uid                string
	endpoints          []string
	trust, certificate []byte

	users int
	// until is when a carrier ends that was replaced, used or not.
	until time.Time
}

func newCarriers(dialer *client.Dialer, ledger record.Reader, clk clock.PassiveClock, requests int) *carriers {
	return &carriers{dialer: dialer, ledger: ledger, clock: clk, requests: requests, current: map[string]*carrier{}, retired: map[*carrier]bool{}}
}

// of returns the way to a peer, to be released after use. It fails with a *fault. It dials
// nobody.
func (c *carriers) of(peer *record.Peer) (way http.RoundTripper, release func(), err error) {
	remote := peer.Remote
	if len(remote.Endpoints) == 0 {
		return nil, nil, &fault{code: http.StatusServiceUnavailable, retry: retryLater, text: "the peer has no endpoint: only the other cluster can dial this one"}
	}
	if !c.isValid(remote.Data) {
		return nil, nil, &fault{code: http.StatusServiceUnavailable, retry: retryLater, text: "the peer has not let workloads in yet: there is no certificate for them"}
	}
	wanted := &carrier{
		uid: peer.UID, endpoints: remote.Endpoints, trust: bytes.Join(remote.Trust, nil), certificate: remote.Data.Certificate,
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.closed {
		return nil, nil, &fault{code: http.StatusServiceUnavailable, retry: retrySoon, text: "this replica is about to end"}
	}
	used := c.current[peer.UID]
	if !used.equals(wanted) {
		if wanted.Carrier, err = c.connect(remote); err != nil {
			return nil, nil, &fault{code: http.StatusServiceUnavailable, retry: retryLater, text: "what was agreed with the peer does not do to connect to it"}
		}
		if used != nil {
			used.until = c.clock.Now().Add(grace)
			c.retired[used] = true
		}
		used = wanted
		c.current[peer.UID] = used
	}
	used.users++
	return used, sync.OnceFunc(func() { c.release(used) }), nil
}

func (c *carriers) isValid(data *record.Credential) bool {
	// From when it is valid is for the peer to judge, by the clock that it was made by.
	return data != nil && len(data.Certificate) > 0 && c.clock.Now().Before(data.NotAfter)
}

func (c *carriers) connect(remote *record.Remote) (*client.Carrier, error) {
	target, err := client.TargetOf(remote, remote.Data)
	if err != nil {
		return nil, err
	}
	return c.dialer.Carrier(target, c.requests)
}

// equals tells whether they lead to the same peer in the same way.
func (c *carrier) equals(other *carrier) bool {
	return c != nil && slices.Equal(c.endpoints, other.endpoints) && bytes.Equal(c.trust, other.trust) && bytes.Equal(c.certificate, other.certificate)
}

func (c *carriers) release(used *carrier) {
	c.lock.Lock()
	used.users--
	last := used.users == 0 && c.retired[used]
	if last {
		delete(c.retired, used)
	}
	c.lock.Unlock()
	if last {
		used.Close()
	}
}

// sweep ends the ways to peers that have no access any more, and those that were replaced
// long ago.
func (c *carriers) sweep() {
	c.endThose(func(used *carrier) bool {
		if !c.ledger.Peer(used.uid).GivesAccess() {
			return true
		}
		return c.retired[used] && (used.users == 0 || !c.clock.Now().Before(used.until))
	})
}

// close ends all, and none is made any more.
func (c *carriers) close() {
	c.lock.Lock()
	c.closed = true
	c.lock.Unlock()
	c.endThose(func(*carrier) bool { return true })
}

func (c *carriers) endThose(over func(*carrier) bool) {
	c.lock.Lock()
	var ended []*carrier
	for uid, used := range c.current {
		if over(used) {
			delete(c.current, uid)
			ended = append(ended, used)
		}
	}
	for used := range c.retired {
		if over(used) {
			delete(c.retired, used)
			ended = append(ended, used)
		}
	}
	c.lock.Unlock()
	for _, used := range ended {
		used.Close()
	}
}
