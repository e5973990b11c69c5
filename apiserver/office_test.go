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

package apiserver

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

const officeDeadline = 20 * time.Second

// term stands for the controllers of one term of office.
type term struct {
	running atomic.Bool
	hung    chan struct{} // if set, they end only when it is closed
}

func (c *term) Start(context.Context) error {
	c.running.Store(true)
	return nil
}

func (c *term) Stop(ctx context.Context) error {
	if c.hung != nil {
		select {
		case <-c.hung:
		case <-ctx.Done():
			return errors.New("still running: hung")
		}
	}
	c.running.Store(false)
	return nil
}

// always leads, for one term.
func always(ctx context.Context, work func(context.Context)) error {
	work(ctx)
	return nil
}

// inTerms leads for as many terms as it is told to, each until lost gets something.
func inTerms(n int, lost <-chan struct{}) func(context.Context, func(context.Context)) error {
	return func(ctx context.Context, work func(context.Context)) error {
		for range n {
			ctx, cancel := context.WithCancel(ctx)
			ended := make(chan struct{})
			go func() { defer close(ended); work(ctx) }()
			select {
			case <-lost:
			case <-ctx.Done():
			}
			cancel()
			<-ended
		}
		return nil
	}
}

// Each term has controllers of its own, and those of the one before have ended then.
func TestOfficeMakesControllersForEachTerm(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	made := make(chan *term, 3)
	lost := make(chan struct{})
	o := newOffice(inTerms(3, lost), func() (catalog, error) {
		c := &term{}
		made <- c
		return c, nil
	})
	o.start(t.Context())
	o.start(t.Context()) // does nothing
	var before *term
	for i := range 3 {
		c := <-made
		assert.True(t, before == nil || !before.running.Load(), "two at a time")
		require.Eventually(t, c.running.Load, officeDeadline, time.Millisecond)
		if before = c; i < 2 {
			lost <- struct{}{}
		}
	}
	require.NoError(t, o.stop(t.Context()))
	assert.False(t, before.running.Load())
	require.NoError(t, o.stop(t.Context()), "a second stop")
	assert.Empty(t, made)
}

// A stop that overtakes the start is not lost.
func TestOfficeStoppedBeforeItStarts(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	o := newOffice(always, func() (catalog, error) { return nil, errors.New("nobody was to ask") })
	require.NoError(t, o.stop(t.Context()))
	o.start(t.Context())
	assert.Nil(t, o.cancel)
}

// A shutdown waits no longer than it is told to, and says for what.
func TestOfficeStopIsBounded(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	c := &term{hung: make(chan struct{})}
	o := newOffice(always, func() (catalog, error) { return c, nil })
	o.start(t.Context())
	require.Eventually(t, c.running.Load, officeDeadline, time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, o.stop(ctx), "still running: hung")
	close(c.hung)
	require.NoError(t, o.stop(t.Context()))
	assert.False(t, c.running.Load())

	// Not the controllers hang, but what elects.
	release := make(chan struct{})
	o = newOffice(func(context.Context, func(context.Context)) error { <-release; return nil }, nil)
	o.start(t.Context())
	require.ErrorContains(t, o.stop(ctx), "could not give up the lead in time")
	close(release)
	require.NoError(t, o.stop(t.Context()))
}

// Controllers that cannot be made end the term, so that another replica may try.
func TestOfficeWithoutControllers(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	o := newOffice(always, func() (catalog, error) { return nil, errors.New("a fault of this test") })
	o.start(t.Context())
	<-o.ended
	require.NoError(t, o.stop(t.Context()))
}
