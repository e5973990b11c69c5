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

package selfcheck

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/record"
)

// interval is how often the endpoints are looked at, ±10 %.
const interval = time.Minute

// check looks at the endpoints and keeps what it found last.
type check struct {
	endpoints []string
	probe     func(ctx context.Context, endpoint string, trust [][]byte) client.ProbeResult
	ledger    record.Reader
	clock     clock.WithTicker

	lock    sync.Mutex
	last    finding
	changed func() // called when something else was found than before
}

// finding is what was found, and since when.
type finding struct {
	// known is false before the first look ended.
	known bool
	// result is nil if no endpoint is advertised.
	result *client.ProbeResult
	since  time.Time
}

// found returns what was found last.
func (c *check) found() finding {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.last
}

// subscribe has changed called whenever something else was found than before.
func (c *check) subscribe(changed func()) (cancel func()) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.changed = changed
	return func() {
		c.lock.Lock()
		defer c.lock.Unlock()
		c.changed = nil
	}
}

// run looks at once and then every interval, until ctx ends.
func (c *check) run(ctx context.Context) {
	for ctx.Err() == nil {
		changed := c.ledger.Changed("")
		c.look(ctx)
		if c.found().known {
			changed = nil // only the first look is waited for
		}
		timer := c.clock.NewTimer(wait.Jitter(interval*9/10, 2.0/9))
		select {
		case <-ctx.Done():
		case <-timer.C():
		case <-changed:
		}
		timer.Stop()
	}
}

// look looks at all endpoints at once, so that one which hangs holds no other up.
func (c *check) look(ctx context.Context) {
	authority := c.ledger.Authority()
	if authority == nil && len(c.endpoints) > 0 {
		return // the gateway cannot serve yet
	}
	results := make([]client.ProbeResult, len(c.endpoints))
	var all sync.WaitGroup
	for i, endpoint := range c.endpoints {
		all.Go(func() { results[i] = c.probe(ctx, endpoint, authority.Trust()) })
	}
	all.Wait()
	if ctx.Err() != nil {
		return // what was found then is that this process ends
	}
	c.keep(ctx, worst(results))
}

func (c *check) keep(ctx context.Context, result *client.ProbeResult) {
	c.lock.Lock()
	if c.last.known && ptr.Equal(c.last.result, result) {
		c.lock.Unlock()
		return
	}
	c.last = finding{known: true, result: result, since: c.clock.Now()}
	changed := c.changed
	c.lock.Unlock()
	if result != nil {
		klog.FromContext(ctx).Info("Looked at the own gateway from outside", "clientCert", result.ClientCert, "serverCert", result.ServerCert)
	}
	if changed != nil {
		changed()
	}
}
