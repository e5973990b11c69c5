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

package ledger

import (
	"context"
	"errors"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"entente.dev/entente/peering/record"
)

// Config says where the ledger is.
type Config struct {
	// Client reads and writes the store. It has no other user: the answers to its
	// requests for progress wait for all its watches. Required.
	Client *clientv3.Client
	// Prefix is the etcd prefix below which everything of ours is. Required.
	Prefix string
	// Transformers encrypt what is stored (R17). Required.
	Transformers value.ResourceTransformers
	// Epoch keeps the epoch outside the store (S2). Required.
	Epoch EpochStore
	// Clock tells how old the view is, and drives Run. Default: the real one.
	Clock clock.WithTicker
}

// Ledger is the record.Ledger of one replica.
type Ledger struct {
	client *clientv3.Client
	keys   keys
	sealer sealer
	clock  clock.WithTicker
	guard  *guard
	view   *view
	// retrying is held by the one Update that is run again.
	retrying chan struct{}
	notices
}

var _ record.Ledger = &Ledger{}

// New makes a ledger that is stale until Run has read it. It touches nothing yet.
func New(config Config) (*Ledger, error) {
	if config.Client == nil || config.Transformers == nil || config.Epoch == nil || strings.Trim(config.Prefix, "/") == "" {
		return nil, errors.New("could not make the ledger: it needs a client, a prefix, encryption and a place for the epoch")
	}
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	return &Ledger{
		client:   config.Client,
		keys:     newKeys(config.Prefix),
		sealer:   sealer{config.Transformers.TransformerForResource(Resource())},
		clock:    config.Clock,
		guard:    newGuard(config.Epoch),
		view:     newView(),
		retrying: make(chan struct{}, 1),
	}, nil
}

// Synced is closed once Run has read the ledger for the first time.
func (l *Ledger) Synced() <-chan struct{} { return l.view.synced }

// Fresh implements record.Reader.
func (l *Ledger) Fresh() error {
	if l.guard.isBehind() {
		return record.ErrRestored
	}
	if l.clock.Since(l.view.heardAt()) > staleAfter {
		return record.ErrStale
	}
	return nil
}

// staleAfter is how old the view may be (S3).
const staleAfter = 10 * time.Second

// announce logs and tells that the store was found to be behind the epoch, or no longer
// is, if it was not known before.
func (l *Ledger) announce(ctx context.Context, was bool) {
	behind := l.guard.isBehind()
	if behind == was {
		return
	}
	logger := klog.FromContext(ctx).WithValues("epoch", l.guard.store.Location())
	if behind {
		logger.Error(record.ErrRestored, "Not ready: no other cluster is served. If the store was restored on purpose, start with --accept-restored-store: all open invites die and all peers are suspended")
	} else {
		logger.Info("The store is not behind the epoch any more")
	}
	l.tell(everything(l.view.peerUIDs()))
}
