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

package offer

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"entente.dev/entente/peering/protocol"
)

const (
	// issuerFor is how long an issuer that was read counts, so that it is read once for
	// all peers, and noIssuerFor how long it counts that it could not be read.
	issuerFor   = time.Minute
	noIssuerFor = 5 * time.Second
	// issuerTimeout bounds one reading.
	issuerTimeout = 10 * time.Second
)

// issuer is the issuer of this cluster's ServiceAccount tokens.
type issuer struct {
	read  func(ctx context.Context) (*protocol.Issuer, error)
	clock clock.PassiveClock

	lock   sync.Mutex
	ever   bool // it was read once
	known  *protocol.Issuer
	err    error     // of the last reading
	lookAt time.Time // when it is to be read again
}

// get returns the issuer, nil for none. While it cannot be read that is the one that was
// read last; the error is that none ever was.
func (i *issuer) get(ctx context.Context) (*protocol.Issuer, error) {
	if i.read == nil {
		return nil, nil
	}
	i.lock.Lock()
	defer i.lock.Unlock()
	if !i.clock.Now().Before(i.lookAt) {
		i.look(ctx)
	}
	if !i.ever {
		return nil, fmt.Errorf("could not tell the issuer of this cluster: %w", i.err)
	}
	return i.known, nil
}

func (i *issuer) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, issuerTimeout)
	defer cancel()
	read, err := i.read(ctx)
	i.err = err
	if err != nil {
		i.lookAt = i.clock.Now().Add(noIssuerFor)
		return
	}
	i.known, i.ever = read, true
	i.lookAt = i.clock.Now().Add(issuerFor)
}
