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

package peeringca

import (
	"context"
	"fmt"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/utils/clock"

	"entente.dev/entente/peering/record"
)

const (
	// Name is the name of the controller in logs.
	Name = "peeringca"

	// interval is how often it looks, besides after every change of the ledger.
	interval = time.Minute
	// lookTimeout bounds one look, so that a hung store does not hold it for ever.
	lookTimeout = 30 * time.Second
)

// Config is what the controller needs from outside. All of it is required.
type Config struct {
	// Ledger is where the records are.
	Ledger record.Ledger
	// ClusterUUID is that of this cluster.
	ClusterUUID string
	// Clock tells the time.
	Clock clock.WithTicker
}

// Controller keeps the peering CA as it should be.
type Controller struct {
	ledger      record.Ledger
	clusterUUID string
	clock       clock.WithTicker
	// said is what of a rotation was logged last, so that it is logged once.
	said string
}

// New makes the controller and starts nothing. It fails if the config is not complete.
func New(config Config) (*Controller, error) {
	if config.Ledger == nil || config.ClusterUUID == "" || config.Clock == nil {
		return nil, fmt.Errorf("could not make controller %s: its config is not complete", Name)
	}
	return &Controller{ledger: config.Ledger, clusterUUID: config.ClusterUUID, clock: config.Clock}, nil
}

// Run works until ctx ends. It may be called again after it returned.
func (c *Controller) Run(ctx context.Context) error {
	// Of many changes in a row one look is made.
	changes := make(chan struct{}, 1)
	cancel := c.ledger.Subscribe(func(string) {
		select {
		case changes <- struct{}{}:
		default:
		}
	})
	defer cancel()
	ticker := c.clock.NewTicker(interval)
	defer ticker.Stop()
	for {
		if err := c.look(ctx); err != nil && ctx.Err() == nil {
			utilruntime.HandleErrorWithContext(ctx, err, "Could not look after the peering CA, trying again later")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		case <-changes:
		}
	}
}

// look brings everything to where it should be.
func (c *Controller) look(ctx context.Context) error {
	if err := c.ledger.Fresh(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	if err := c.rotate(ctx); err != nil {
		return fmt.Errorf("could not rotate the peering CA: %w", err)
	}
	if err := c.identify(ctx); err != nil {
		return fmt.Errorf("could not record the identity of this cluster: %w", err)
	}
	if err := c.sweep(ctx); err != nil {
		return fmt.Errorf("could not forget peerings that are long over: %w", err)
	}
	return nil
}
