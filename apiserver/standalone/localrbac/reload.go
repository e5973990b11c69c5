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

package localrbac

import (
	"context"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// maxUnsettled is for how many times the settle time a folder may go on changing
// before it counts as it is; else a busy folder would keep a revoked right alive.
const maxUnsettled = 10

// Run follows changes of the manifests until ctx ends. It leaves no goroutine
// behind. It must not run twice at once.
func (a *Authorizer) Run(ctx context.Context) {
	logger := klog.FromContext(ctx).WithName("rbac")
	watcher := a.newWatcher(logger)
	var (
		events <-chan fsnotify.Event
		errs   <-chan error
	)
	if watcher != nil {
		events, errs = watcher.Events, watcher.Errors
		defer func() {
			if err := watcher.Close(); err != nil {
				logger.Error(err, "Could not close the watch on the RBAC manifests")
			}
		}()
	}
	ticker := a.options.Clock.NewTicker(a.options.PollInterval)
	defer ticker.Stop()
	change := &pendingChange{clock: a.options.Clock, after: a.options.SettleTime}
	defer change.forget()

	// What happened between New and the watch is not told of.
	a.look(logger, change, false)
	for {
		settled := false
		select {
		case <-ctx.Done():
			return
		case <-events:
		case err := <-errs:
			logger.V(2).Info("The watch on the RBAC manifests missed something", "err", err)
		case <-ticker.C():
			a.renewWatch(logger, watcher)
		case <-change.settled():
			settled = true
		}
		a.look(logger, change, settled)
	}
}

// look reads the folder, and makes it count if it differs from what counts and
// has settled.
func (a *Authorizer) look(logger klog.Logger, change *pendingChange, settled bool) {
	found := readFolder(a.options.Dir)
	switch {
	case found.digest == a.current.Load().digest:
		change.forget()
	case change.ripe(found.digest, settled):
		change.forget()
		if err := a.apply(logger, found); err != nil {
			logger.Error(err, "The RBAC manifests count as before")
		}
	default:
		change.await(found.digest, settled)
	}
}

// apply makes what was found count, and logs each problem that is new.
func (a *Authorizer) apply(logger klog.Logger, found folder) error {
	next, err := load(found)
	if err != nil {
		return err
	}
	before := a.current.Swap(next)
	for _, problem := range next.problems {
		if !slices.Contains(before.problems, problem) {
			logger.Error(nil, "RBAC manifests grant less than they say", "folder", a.options.Dir, "file", problem.File, "problem", problem.Message)
		}
	}
	logger.V(1).Info("RBAC manifests count as read now", "folder", a.options.Dir, "files", len(found.files), "problems", len(next.problems))
	return nil
}

// newWatcher asks the system to tell of changes. It is nil if that cannot be
// had; polling is enough then.
func (a *Authorizer) newWatcher(logger klog.Logger) *fsnotify.Watcher {
	if a.options.pollOnly {
		return nil
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		logger.Info("Changes of the RBAC manifests are noticed by polling only", "interval", a.options.PollInterval, "err", err)
		return nil
	}
	a.renewWatch(logger, watcher)
	return watcher
}

// renewWatch watches the folder, also if it is another one of the same name by
// now.
func (a *Authorizer) renewWatch(logger klog.Logger, watcher *fsnotify.Watcher) {
	if watcher == nil {
		return
	}
	if err := watcher.Add(a.options.Dir); err != nil {
		logger.V(2).Info("The RBAC manifests cannot be watched at the moment", "folder", a.options.Dir, "err", err)
	}
}

// pendingChange is a state of the folder that does not count yet.
type pendingChange struct {
	clock  clock.WithTicker
	after  time.Duration
	timer  clock.Timer
	digest digest
	// since is when the folder began to differ from what counts.
	since time.Time
}

// settled tells when to look again; never if nothing is pending.
func (c *pendingChange) settled() <-chan time.Time {
	if c.timer == nil {
		return nil
	}
	return c.timer.C()
}

// ripe tells whether a state may count; settled says that the timer fired.
func (c *pendingChange) ripe(found digest, settled bool) bool {
	if c.timer == nil {
		return false
	}
	return settled && c.digest == found || c.clock.Since(c.since) >= maxUnsettled*c.after
}

// await starts the wait for this state, unless it is being waited for.
func (c *pendingChange) await(found digest, settled bool) {
	switch {
	case c.timer == nil:
		c.since = c.clock.Now()
	case c.digest == found && !settled:
		return
	default:
		c.timer.Stop()
	}
	c.timer = c.clock.NewTimer(c.after)
	c.digest = found
}

func (c *pendingChange) forget() {
	if c.timer != nil {
		c.timer.Stop()
	}
	c.timer = nil
}
