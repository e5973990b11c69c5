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
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"entente.dev/entente/peering/record"
)

// updateTimeout is when a store that does not answer is given up, if the caller has more
// patience.
const updateTimeout = 30 * time.Second

// Update implements record.Ledger. While Run follows the store, it returns when the
// reader sees what was written.
//
// An error after the change returned may hide that it was written. Then it can be made
// again: nothing is told before the epoch is kept outside the store.
func (l *Ledger) Update(ctx context.Context, change func(record.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	floor, err := l.guard.begin(ctx)
	if err != nil {
		return err
	}
	done, err := l.transact(ctx, func(t *tx) error {
		number, err := t.Epoch()
		if err != nil {
			return err
		}
		if number < floor {
			l.guard.see(number, floor)
			l.announce(ctx, false)
			return record.ErrRestored
		}
		return change(t)
	})
	if err != nil {
		return err
	}
	number, err := done.tx.Epoch()
	if err != nil {
		return err
	}
	if err := l.guard.keep(ctx, number); err != nil {
		return err
	}
	if done.tx.wrote {
		l.await(ctx, done.revision)
	}
	return nil
}

// committed is a transaction that was.
type committed struct {
	tx       *tx
	revision int64
}

// transact runs change until nobody else wrote what it read. Errors of change are
// returned as they are.
func (l *Ledger) transact(ctx context.Context, change func(*tx) error) (committed, error) {
	// Most change the epoch, so of many at once each would be run again for each other.
	// One that lost waits for its turn among those of this replica that did.
	queued := false
	defer func() {
		if queued {
			<-l.retrying
		}
	}()
	for {
		attempt := &attempt{ledger: l, change: change, once: !queued}
		response, err := attempt.run(ctx)
		switch {
		case err == nil:
			return committed{attempt.tx, response.Header.Revision}, nil
		case errors.Is(err, errLost):
			select {
			case l.retrying <- struct{}{}:
				queued = true
			case <-ctx.Done():
			}
			continue
		case attempt.failed != nil:
			return committed{}, attempt.failed
		case ctx.Err() != nil:
			return committed{}, fmt.Errorf("could not change the ledger: %w", ctx.Err())
		// It reads as of the revision that it began with, which may be gone, or not have
		// reached another member of etcd yet.
		case errors.Is(err, rpctypes.ErrCompacted), errors.Is(err, rpctypes.ErrFutureRev):
			continue
		}
		return committed{}, fmt.Errorf("could not change the ledger: %w", err)
	}
}

type attempt struct {
	ledger *Ledger
	change func(*tx) error
	// once says that it is not to be run again by the library, which would do so with
	// what it read when the first run lost.
	once bool
	// tx is the last one that was tried.
	tx *tx
	// failed is the error of the change.
	failed error
	// panicked is with what the change panicked.
	panicked any
}

var (
	errPanicked = errors.New("the change panicked")
	// errLost means that somebody else wrote what the change had read.
	errLost = errors.New("somebody else was faster")
)

func (a *attempt) run(ctx context.Context) (*clientv3.TxnResponse, error) {
	response, err := concurrency.NewSTM(a.ledger.client,
		func(stm concurrency.STM) error { return a.try(ctx, stm) },
		concurrency.WithIsolation(concurrency.SerializableSnapshot), concurrency.WithAbortContext(ctx))
	if a.panicked != nil {
		panic(a.panicked)
	}
	return response, err
}

// try runs in a goroutine of the library, in which a panic would be the end of the
// process. It is carried to who called Update.
func (a *attempt) try(ctx context.Context, stm concurrency.STM) (err error) {
	if a.once && a.tx != nil {
		return errLost
	}
	a.tx = &tx{ctx: ctx, stm: stm, keys: a.ledger.keys, sealer: a.ledger.sealer, plain: map[string][]byte{}}
	defer func() {
		if a.tx.inStore {
			return // the library's own way to end
		}
		if a.panicked = recover(); a.panicked != nil {
			err = errPanicked
		}
	}()
	a.failed = a.change(a.tx)
	return a.failed
}
