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

package peersync

import (
	"context"
	"math/rand/v2"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
)

const (
	// wait is for how long the other gateway may hold its answer back, ±10 % (P9).
	wait = 15 * time.Second
	// A beat that failed is followed by another one within firstBackoff, which doubles
	// up to maxBackoff with each failure in a row; at a random point of that, so that
	// peers which lost a cluster at once do not come back at once.
	firstBackoff = time.Second
	maxBackoff   = time.Minute
	// Beats come at a rate of beatsPerSecond at the most, beatBurst in a row at any time:
	// a gateway that answers at once, and always something else, costs no more.
	beatsPerSecond = 1
	beatBurst      = 10
	// idle is how long it takes until a beat that could not be made is tried again.
	idle = time.Second
)

// waitSeconds returns for how long the next answer may be held back.
func waitSeconds() int {
	jittered := wait*9/10 + rand.N(wait/5+1)
	return int(jittered.Round(time.Second) / time.Second)
}

// backoff returns how long to pause after so many failures in a row.
func backoff(failures int) time.Duration {
	ceiling := maxBackoff
	if doublings := failures - 1; doublings < 6 {
		ceiling = min(maxBackoff, firstBackoff<<doublings)
	}
	return rand.N(ceiling) + 1
}

func newLimiter() *rate.Limiter { return rate.NewLimiter(beatsPerSecond, beatBurst) }

// pause returns after that time, or when ctx ends.
func pause(ctx context.Context, clk clock.Clock, duration time.Duration) {
	if duration <= 0 {
		return
	}
	timer := clk.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-ctx.Done():
	}
}
