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
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/record"
)

// life is for how long a peering CA is made (P1).
const life = 365 * 24 * time.Hour

// rotate makes the next step of the life of the peering CA, if it is time for one.
func (c *Controller) rotate(ctx context.Context) error {
	now := c.clock.Now()
	// Whether there is something to do is seen on a copy, without a transaction.
	before := c.ledger.Authority()
	var tried *record.Authority
	if before != nil {
		var err error
		if tried, err = before.Clone(); err != nil {
			return err
		}
	}
	create := c.once()
	after, rotation, changed, err := record.Rotate(tried, c.ledger.Peers(), now, create)
	if err != nil {
		return err
	}
	if !changed {
		c.say(ctx, after, rotation)
		return nil
	}
	// Another leader may have been here for a moment: what counts is what is read now.
	err = c.ledger.Update(ctx, func(tx record.Tx) error {
		before, err := tx.Authority()
		if err != nil {
			return err
		}
		after, rotation, changed, err = record.Rotate(before, c.ledger.Peers(), now, create)
		if err != nil || !changed {
			return err
		}
		return tx.PutAuthority(after)
	})
	if err != nil {
		return err
	}
	c.say(ctx, after, rotation)
	if changed {
		klog.FromContext(ctx).Info("Changed the peering CA", "notAfter", after.Current.NotAfter,
			"next", after.Next != nil, "previous", len(after.Previous), "forced", after.Forced)
	}
	return nil
}

// once returns what makes a CA, and the same one again when a transaction is run
// repeatedly: a step makes one at most.
func (c *Controller) once() func(from time.Time) (record.CA, error) {
	var made *record.CA
	return func(from time.Time) (record.CA, error) {
		if made != nil {
			return *made, nil
		}
		ca, err := create(c.clusterUUID, from)
		if err == nil {
			made = &ca
		}
		return ca, err
	}
}

// create makes a CA. It begins earlier than now, so that a peer whose clock is behind
// takes it as valid.
func create(clusterUUID string, now time.Time) (record.CA, error) {
	key, err := pki.NewKey()
	if err != nil {
		return record.CA{}, err
	}
	authority, err := pki.NewAuthority("entente peering CA "+clusterUUID, key, now.Add(-record.MaxSkew), now.Add(life))
	if err != nil {
		return record.CA{}, err
	}
	return record.CA{
		Certificate: authority.Certificate.Raw,
		Key:         record.NewSecret(key.PEM()),
		NotBefore:   authority.Certificate.NotBefore,
		NotAfter:    authority.Certificate.NotAfter,
	}, nil
}

// say logs who holds up a rotation, when that changes.
func (c *Controller) say(ctx context.Context, authority *record.Authority, rotation record.Rotation) {
	var waiting []string
	if authority.Next != nil {
		waiting = slices.Sorted(slices.Values(rotation.Waiting))
	}
	said := strings.Join(waiting, ", ")
	if said != "" && said != c.said {
		klog.FromContext(ctx).Info("The next peering CA does not sign yet: peers have not acknowledged it", "clusterPeers", waiting)
	}
	c.said = said
}
