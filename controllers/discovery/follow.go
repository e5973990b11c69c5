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

package discovery

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"entente.dev/entente/controllers/rules"
	"entente.dev/entente/controllers/signal"
)

const (
	// Name is the name of the follower in logs.
	Name = "discovery"

	// interval is how often the host is read when nobody asks for it, ±10 %.
	interval = 30 * time.Second
	// atMost is how often the host is read if somebody does ask.
	atMost = 5 * time.Second
	// readTimeout bounds one read, so that a hung host does not hold it for ever.
	readTimeout = 20 * time.Second
	// patience is how long it is waited for an answer in which nothing fails. After that
	// what fails is taken for unknown.
	patience = 30 * time.Second
)

// Config is what the follower needs from outside.
type Config struct {
	// Client asks the host cluster. Required.
	Client Client
	// Clock times the reads. Required.
	Clock clock.WithTicker
}

// Follower knows what resources the host cluster has.
type Follower struct {
	client Client
	clock  clock.WithTicker
	asked  chan struct{} // holds one value if somebody asked for a read
	signal signal.Signal

	lock    sync.Mutex
	last    *snapshot // what was read last, nil before the first time
	since   time.Time // when it was read for the first time
	current *snapshot // what counts, nil before enough was read

	failing bool // used by Run only: the last read failed, and that was logged
}

// New makes the follower and starts nothing. It fails if the config is not complete.
func New(config Config) (*Follower, error) {
	if config.Client == nil || config.Clock == nil {
		return nil, errors.New("could not make the follower of the host's resources: its config is not complete")
	}
	return &Follower{client: config.Client, clock: config.Clock, asked: make(chan struct{}, 1)}, nil
}

// Current returns what is known: nil, until an answer of the host was complete or the
// first one is 30 s ago. It is the same object as long as the host says the same.
func (f *Follower) Current() rules.Resources {
	f.lock.Lock()
	defer f.lock.Unlock()
	if f.current == nil {
		return nil
	}
	return f.current
}

// Version returns the version of a resource that the host prefers. found is false if
// there is no such resource, or that is not known.
func (f *Follower) Version(group, resource string) (version string, found bool) {
	f.lock.Lock()
	defer f.lock.Unlock()
	if f.current == nil {
		return "", false
	}
	return f.current.preferred(group, resource)
}

// Subscribe has changed called after Current has become another one. It returns how to
// end that.
func (f *Follower) Subscribe(changed func()) (cancel func()) { return f.signal.Subscribe(changed) }

// Refresh asks for a read soon, for somebody who misses a resource: it may have come
// since. However often it is called, the host is read once in 5 s at most.
func (f *Follower) Refresh() {
	select {
	case f.asked <- struct{}{}:
	default:
	}
}

// Run reads the host again and again until ctx ends. It may be called again after it
// returned.
func (f *Follower) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		f.look(ctx)
		f.pause(ctx, atMost, nil)
		if f.Current() != nil {
			f.pause(ctx, wait.Jitter(interval*9/10, 2.0/9)-atMost, f.asked)
		}
	}
	return nil
}

// pause waits for a time, or less if ctx ends or until says something.
func (f *Follower) pause(ctx context.Context, duration time.Duration, until <-chan struct{}) {
	timer := f.clock.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	case <-until:
	}
}

// look reads the host once.
func (f *Follower) look(ctx context.Context) {
	reading, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	f.lock.Lock()
	last := f.last
	f.lock.Unlock()
	read, err := read(reading, f.client, last)
	if ctx.Err() != nil {
		return // what was found then is that this process ends
	}
	f.say(ctx, err)
	if err == nil && f.keep(read) {
		f.signal.Send()
	}
}

// say logs that the host cannot be read, and that it can again, once.
func (f *Follower) say(ctx context.Context, err error) {
	switch logger := klog.FromContext(ctx); {
	case err != nil && !f.failing:
		logger.Error(err, "What resources the host cluster has is as it was known before")
	case err == nil && f.failing:
		logger.Info("Read what resources the host cluster has again")
	}
	f.failing = err != nil
}

// keep keeps what was read, and tells whether something else counts now.
func (f *Follower) keep(read *snapshot) (changed bool) {
	f.lock.Lock()
	defer f.lock.Unlock()
	now := f.clock.Now()
	if f.last == nil {
		f.since = now
	}
	f.last = read
	if f.current == nil && !read.complete() && now.Sub(f.since) < patience {
		return false
	}
	if reflect.DeepEqual(f.current, read) {
		return false
	}
	f.current = read
	return true
}
