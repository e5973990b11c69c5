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

package host

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection" // leader_election_master_status
	"k8s.io/klog/v2"
)

// LeaseName is the Lease in the server's namespace that says which replica leads. The
// manifests create it, empty, so that the server needs no right to create Leases: get
// and update on this name are enough.
const LeaseName = "entente-controllers"

// pace says how fast a leader is missed, and how often asked.
type pace struct {
	// lease is for how long a leader that says nothing is still the leader.
	lease time.Duration
	// renew is for how long a leader tries to say something before it gives up.
	renew time.Duration
	// retry is the time between two attempts, at renewing and at being elected.
	retry time.Duration
}

// usualPace is that of Kubernetes' own controllers.
func usualPace() pace {
	return pace{lease: 15 * time.Second, renew: 10 * time.Second, retry: 2 * time.Second}
}

// releaseTimeout limits how long the end of the server waits for the Lease to be given
// up; it runs out by itself then.
const releaseTimeout = 5 * time.Second

// Lead calls work whenever this replica is elected, until ctx ends. The context that
// work gets ends with ctx, or when the Lease is lost. Nobody else is elected while it
// works, unless this replica cannot reach the host cluster: then work has the time
// between renew and lease to end. When work has returned the Lease is given up, and
// after a pause the replica stands for election again.
//
// identity is to be another one in each replica, and each time a process starts.
func (h *Host) Lead(ctx context.Context, identity string, work func(context.Context)) error {
	return h.lead(ctx, identity, usualPace(), work)
}

func (h *Host) lead(ctx context.Context, identity string, p pace, work func(context.Context)) error {
	l := &lease{
		Interface: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: h.Namespace, Name: LeaseName},
			Client:     h.urgent.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		logger: klog.FromContext(ctx),
	}
	for ctx.Err() == nil {
		if err := l.serve(ctx, p, work); err != nil {
			return fmt.Errorf("could not stand for election: %w", err)
		}
		select {
		case <-ctx.Done():
		case <-h.clock.After(p.retry):
		}
	}
	return nil
}

// serve waits to be elected, works for one term of office, and gives the Lease up.
func (l *lease) serve(ctx context.Context, p pace, work func(context.Context)) error {
	// The election outlasts ctx: the Lease is kept until the work has ended. The library
	// would log each attempt; the lease says what there is to say.
	election, stop := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), logr.Discard()))
	defer stop()
	t := &term{}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name:          LeaseName,
		Lock:          l,
		LeaseDuration: p.lease,
		RenewDeadline: p.renew,
		RetryPeriod:   p.retry,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(elected context.Context) {
				ended, ok := t.begin()
				if !ok {
					return
				}
				defer stop()
				defer ended()
				working, cancel := context.WithCancel(ctx)
				defer cancel()
				defer context.AfterFunc(elected, cancel)()
				l.logger.Info("Elected: this replica runs the controllers", "lease", l.Describe(), "as", l.Identity())
				work(working)
			},
			OnStoppedLeading: func() {},
		},
		// The library would do so while the work still goes on, and take the Lease even
		// from a successor.
		ReleaseOnCancel: false,
	})
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() {
		if t.cancel() {
			stop()
		}
	})()
	elector.Run(election)
	if election.Err() == nil {
		l.logger.Info("The lease is lost: the controllers of this replica stop", "lease", l.Describe(), "as", l.Identity())
	}
	t.await()
	if elector.IsLeader() {
		l.release(context.WithoutCancel(ctx))
	}
	return nil
}

// term is one term of office: it begins at most once, and not once it was cancelled.
type term struct {
	lock     sync.Mutex
	canceled bool
	ended    chan struct{} // nil: it has not begun
}

// begin returns what to call at the end.
func (t *term) begin() (end func(), ok bool) {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.canceled {
		return nil, false
	}
	t.ended = make(chan struct{})
	return func() { close(t.ended) }, true
}

// cancel keeps the term from beginning, and tells whether it has not begun.
func (t *term) cancel() bool {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.canceled = true
	return t.ended == nil
}

// await returns when the term is over for good.
func (t *term) await() {
	if !t.cancel() {
		<-t.ended
	}
}
