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

package controllers

import (
	"context"
	"errors"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// A controller that ends is run again after restartDelay, which doubles up to
// maxRestartDelay with each time, and starts anew after restartReset without one.
const (
	restartDelay    = time.Second
	maxRestartDelay = time.Minute
	restartReset    = 10 * time.Minute
)

var errPanicked = errors.New("it panicked")

// keepRunning runs a controller until the context ends. A fault of one of them is
// no reason to end the API server, nor to leave its work undone until the next
// start: it is logged and the controller is run again.
func keepRunning(ctx context.Context, clk clock.WithTicker, controller controller) {
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "controller", controller.name)
	ctx = klog.NewContext(ctx, logger)
	delay := wait.Backoff{Duration: restartDelay, Factor: 2, Jitter: 0.1, Cap: maxRestartDelay, Steps: 10}.
		DelayWithReset(clk, restartReset)
	for ctx.Err() == nil {
		logger.V(1).Info("Starting controller")
		err := runOnce(ctx, controller)
		if ctx.Err() != nil {
			break
		}
		pause := delay()
		logger.Error(err, "Controller ended before it was stopped, starting it again", "after", pause)
		timer := clk.NewTimer(pause)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
		}
	}
	logger.V(1).Info("Stopped controller")
}

// runOnce runs a controller and turns a panic into an error, after the usual
// handlers have logged and counted it.
func runOnce(ctx context.Context, controller controller) (err error) {
	err = errPanicked // unless it returns
	defer func() {
		// HandleCrash panics again, unless it was told not to.
		_ = recover()
	}()
	defer utilruntime.HandleCrashWithContext(ctx)
	return controller.run(ctx)
}
