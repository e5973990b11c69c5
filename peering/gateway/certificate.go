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

package gateway

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/record"
)

const (
	// servingLife is for how long a serving certificate is made.
	servingLife = 30 * 24 * time.Hour
	// renewServingAt is when the next one is made, in hundredths of its life.
	renewServingAt = 60
)

var errNoAuthority = errors.New("there is no peering CA yet")

// serving makes the certificates that the gateway presents (P1). Their key is made anew
// in each process and kept nowhere.
type serving struct {
	ledger record.Reader
	clock  clock.PassiveClock
	hosts  []string
	key    *pki.Key

	mu sync.Mutex
	// current was signed by the authority that is its second certificate, and is
	// presented until renewAt.
	current *tls.Certificate
	renewAt time.Time
}

// certificate returns the one to present now: of the authority that signs now, and with
// the authority's own, by which who joins recognises it.
func (s *serving) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	authority := s.ledger.Authority()
	if authority == nil {
		return nil, errNoAuthority
	}
	now := s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil || !bytes.Equal(s.current.Certificate[1], authority.Current.Certificate) || !now.Before(s.renewAt) {
		if err := s.renew(authority.Current, now); err != nil {
			return nil, err
		}
	}
	return s.current, nil
}

func (s *serving) renew(ca record.CA, now time.Time) error {
	authority, err := pki.NewAuthorityFrom(ca.Certificate, ca.Key.Reveal())
	if err != nil {
		return fmt.Errorf("could not make a serving certificate: %w", err)
	}
	// A peer whose clock is behind ours is to take it as well.
	leaf, err := pki.IssueGateway(authority, s.key.Public(), s.hosts, now.Add(-record.MaxSkew), now.Add(servingLife))
	if err != nil {
		return fmt.Errorf("could not make a serving certificate: %w", err)
	}
	current := s.key.TLS(leaf.Raw)
	current.Certificate = append(current.Certificate, ca.Certificate)
	s.current = &current
	s.renewAt = leaf.NotBefore.Add(leaf.NotAfter.Sub(leaf.NotBefore) / 100 * renewServingAt)
	return nil
}
