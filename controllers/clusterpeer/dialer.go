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

package clusterpeer

import (
	"context"
	"fmt"
	"time"

	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

const (
	// joinTimeout bounds one attempt to use a connection string, at all endpoints
	// together, so that a cluster that is out of reach does not hold a worker for ever.
	joinTimeout = 30 * time.Second
	// leaveTimeout is for how long the other cluster is tried to be told (P12).
	leaveTimeout = 5 * time.Second
)

// Dialer talks to the gateways of other clusters.
type Dialer interface {
	// Join uses a connection string up, and returns the endpoint that answered. It fails
	// with a *client.Failure.
	Join(ctx context.Context, params client.JoinParams) (answer protocol.JoinResponse, endpoint string, err error)
	// Leave tells a cluster that was paired that the peering is over.
	Leave(ctx context.Context, remote *record.Remote) error
}

// NewDialer returns a Dialer that dials.
func NewDialer(d *client.Dialer) Dialer { return dialer{d} }

type dialer struct{ *client.Dialer }

// Leave implements Dialer.
func (d dialer) Leave(ctx context.Context, remote *record.Remote) error {
	target, err := client.TargetOf(remote, &remote.Ours)
	if err != nil {
		return fmt.Errorf("could not leave: %w", err)
	}
	conn, err := d.Connect(target)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Leave(ctx)
}
