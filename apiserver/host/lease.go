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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// lease is a Lease that is there already. It logs what is wrong with it, once a reason.
type lease struct {
	resourcelock.Interface
	logger klog.Logger
	said   string
}

// Get says what keeps it from being read, but for its absence: Create does.
func (l *lease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if !apierrors.IsNotFound(err) {
		l.say(ctx, err)
	}
	return record, raw, err
}

// Create fails: the right to create Leases cannot be limited to a name.
func (l *lease) Create(ctx context.Context, _ resourcelock.LeaderElectionRecord) error {
	err := fmt.Errorf("the Lease %s is missing; create it empty, as Entente's manifests do", l.Describe())
	l.say(ctx, err)
	return err
}

// Update fails without a word if somebody else was faster.
func (l *lease) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	err := l.Interface.Update(ctx, record)
	if !apierrors.IsConflict(err) {
		l.say(ctx, err)
	}
	return err
}

// release lets somebody else be elected at once, if this replica still has the Lease.
func (l *lease) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	record, _, err := l.Get(ctx)
	if err != nil || record.HolderIdentity != l.Identity() {
		return
	}
	now := metav1.Now()
	err = l.Update(ctx, resourcelock.LeaderElectionRecord{
		LeaseDurationSeconds: 1, // 0 is not valid
		AcquireTime:          now,
		RenewTime:            now,
		LeaderTransitions:    record.LeaderTransitions,
	})
	if err == nil {
		l.logger.Info("The lease is given up", "lease", l.Describe(), "as", l.Identity())
	}
}

// say logs why the Lease is of no use, unless that was the last reason too.
func (l *lease) say(ctx context.Context, err error) {
	switch {
	case err == nil:
		l.said = ""
	case ctx.Err() == nil && err.Error() != l.said:
		l.said = err.Error()
		l.logger.Error(err, "Could not use the lease of the controllers", "lease", l.Describe())
	}
}
