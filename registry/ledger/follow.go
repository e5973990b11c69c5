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
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// progressInterval is the time between two requests for progress, by which a replica
	// knows that nothing happened.
	progressInterval = 3 * time.Second
	// askTimeout is how long one question to the store may take.
	askTimeout = 5 * time.Second
	// page is how many values are read at once: a record may be 1 MiB.
	page = 50
)

// errQuiet ends a watch that does not answer. That need be no fault of the store: one
// that was resumed does not until something is written, however long that takes.
var errQuiet = errors.New("the watch gave no sign of life")

// Run follows the store until ctx ends. Whatever goes wrong, it begins again.
func (l *Ledger) Run(ctx context.Context) {
	defer l.lose()
	backoff := wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 7, Cap: progressInterval}
	delay := backoff.DelayWithReset(clock.RealClock{}, time.Minute)
	_ = delay.Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		err := l.follow(ctx)
		if ctx.Err() == nil {
			klog.FromContext(ctx).V(2).Info("Reading the ledger anew", "because", err)
		}
		return false, nil
	})
}

// lose says that nothing is known of the store.
func (l *Ledger) lose() { l.view.change(func() { l.view.heard = time.Time{} }) }

// follow reads the ledger and then watches it. It returns when that ends.
func (l *Ledger) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	revision, err := l.list(ctx)
	if err != nil {
		return err
	}
	return l.watch(ctx, revision)
}

// list reads everything. The epoch outside is read first: the store is never behind it,
// unless it was restored.
func (l *Ledger) list(ctx context.Context) (revision int64, err error) {
	was := l.guard.isBehind()
	floor, err := l.guard.load(ctx)
	if err != nil {
		return 0, err
	}
	asked := l.clock.Now()
	read, revision, err := l.read(ctx)
	if err != nil {
		return 0, err
	}
	l.guard.see(read.epoch, floor)
	if !l.guard.isBehind() {
		if err := l.guard.keep(ctx, read.epoch); err != nil {
			return 0, err
		}
	}
	var changed changes
	l.view.change(func() {
		changed = l.keys.difference(l.view.content, read)
		l.view.content, l.view.revision, l.view.heard = read, revision, asked
	})
	l.view.sync()
	l.tell(changed)
	l.announce(ctx, was)
	return revision, nil
}

func (l *Ledger) read(ctx context.Context) (*content, int64, error) {
	read, revision := newContent(), int64(0)
	err := l.pages(ctx, func(response *clientv3.GetResponse) error {
		revision = response.Header.Revision
		for _, kv := range response.Kvs {
			kind, id := l.keys.split(string(kv.Key))
			plain, err := l.open(ctx, kind, kv)
			if err != nil {
				return err
			}
			if err := read.set(string(kv.Key), kind, id, plain); err != nil {
				return err
			}
			read.revisions[string(kv.Key)] = kv.ModRevision
		}
		return nil
	})
	return read, revision, err
}

// pages reads everything as it is at one revision.
func (l *Ledger) pages(ctx context.Context, each func(*clientv3.GetResponse) error, options ...clientv3.OpOption) error {
	from := string(l.keys)
	options = append(options, clientv3.WithRange(clientv3.GetPrefixRangeEnd(from)), clientv3.WithLimit(page))
	for {
		response, err := l.get(ctx, from, options...)
		if err != nil {
			return err
		}
		if from == string(l.keys) {
			options = append(slices.Clip(options), clientv3.WithRev(response.Header.Revision))
		}
		if err := each(response); err != nil {
			return err
		}
		if !response.More {
			return nil
		}
		from = string(response.Kvs[len(response.Kvs)-1].Key) + "\x00"
	}
}

func (l *Ledger) get(ctx context.Context, key string, options ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	response, err := l.client.Get(ctx, key, options...)
	if err != nil {
		return nil, fmt.Errorf("could not read the ledger: %w", err)
	}
	return response, nil
}

// open decrypts what the view is made of; it needs no index of the store.
func (l *Ledger) open(ctx context.Context, kind string, kv *mvccpb.KeyValue) ([]byte, error) {
	switch kind {
	case kindToken, kindCluster:
		return nil, nil
	}
	return l.sealer.open(ctx, string(kv.Key), kv.Value)
}

// watch follows what happens after the revision. It begins with that one: a watch that
// begins in the future says nothing of its progress before that comes.
func (l *Ledger) watch(ctx context.Context, revision int64) error {
	ctx = clientv3.WithRequireLeader(ctx)
	responses := l.client.Watch(ctx, string(l.keys), clientv3.WithPrefix(), clientv3.WithRev(revision))
	ticker := l.clock.NewTicker(progressInterval)
	defer ticker.Stop()
	var asked time.Time // zero while no answer is owed
	for {
		select {
		case response, open := <-responses:
			if err := response.Err(); err != nil {
				return fmt.Errorf("could not watch the ledger: %w", err)
			}
			if !open {
				return errors.New("could not watch the ledger: the watch has ended")
			}
			if !response.IsProgressNotify() {
				if err := l.apply(ctx, response.Events); err != nil {
					return err
				}
				continue
			}
			// What is known is as old as the question.
			if !asked.IsZero() {
				l.view.change(func() { l.view.revision, l.view.heard = max(l.view.revision, response.Header.Revision), asked })
			}
			asked = time.Time{}
		case <-ticker.C():
			if !asked.IsZero() {
				return errQuiet
			}
			asked = l.clock.Now()
			if err := l.askForProgress(ctx); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *Ledger) askForProgress(ctx context.Context) error {
	// The library waits for a connection.
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if err := l.client.RequestProgress(ctx); err != nil {
		return fmt.Errorf("could not watch the ledger: %w", err)
	}
	return nil
}

// apply takes what happened: all that was done by one transaction at once.
func (l *Ledger) apply(ctx context.Context, events []*clientv3.Event) error {
	was := l.guard.isBehind()
	plain, err := l.openAll(ctx, events)
	if err != nil {
		l.lose()
		return err
	}
	changed := newChanges()
	l.view.change(func() {
		if changed, err = l.take(events, plain); err != nil {
			l.view.heard = time.Time{}
		}
	})
	l.tell(changed)
	l.announce(ctx, was)
	return err
}

// openAll decrypts before the view is locked; of what was deleted it returns nil.
func (l *Ledger) openAll(ctx context.Context, events []*clientv3.Event) ([][]byte, error) {
	plain := make([][]byte, len(events))
	for i, event := range events {
		if event.Type == clientv3.EventTypeDelete {
			continue
		}
		var err error
		kind, _ := l.keys.split(string(event.Kv.Key))
		if plain[i], err = l.open(ctx, kind, event.Kv); err != nil {
			return nil, err
		}
	}
	return plain, nil
}

// take changes the view, whose lock is held.
func (l *Ledger) take(events []*clientv3.Event, plain [][]byte) (changes, error) {
	content, changed, revision := l.view.content, newChanges(), l.view.revision
	for i, event := range events {
		if event.Kv.ModRevision <= l.view.revision {
			continue // seen
		}
		key := string(event.Kv.Key)
		kind, id := l.keys.split(key)
		before := content.epoch
		if err := content.set(key, kind, id, plain[i]); err != nil {
			return changed, err
		}
		l.guard.follow(content.epoch, before)
		changed.add(kind, id)
		content.revisions[key] = event.Kv.ModRevision
		if event.Type == clientv3.EventTypeDelete {
			delete(content.revisions, key)
		}
		revision = event.Kv.ModRevision
	}
	l.view.revision = revision
	return changed, nil
}

// difference is what changed between two times.
func (k keys) difference(before, after *content) changes {
	changed := newChanges()
	for key, revision := range after.revisions {
		if before.revisions[key] != revision {
			changed.add(k.split(key))
		}
	}
	for key := range before.revisions {
		if _, kept := after.revisions[key]; !kept {
			changed.add(k.split(key))
		}
	}
	return changed
}
