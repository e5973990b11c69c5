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

package gateway

import (
	"context"
	"log" //nolint:depguard // the type of a field of http.Server
	"log/slog"
	"strings"

	"k8s.io/klog/v2"
)

// errorLog is where http.Server writes what goes wrong with connections. What it writes
// quotes them, so only what is about our own end is passed on.
func errorLog(ctx context.Context) *log.Logger {
	return slog.NewLogLogger(quiet{logger: klog.FromContext(ctx)}, slog.LevelError)
}

type quiet struct{ logger klog.Logger }

// Enabled implements slog.Handler.
func (q quiet) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (q quiet) Handle(_ context.Context, record slog.Record) error {
	if strings.HasPrefix(record.Message, "http: Accept error") {
		q.logger.Error(nil, "Could not accept a connection of another cluster, going on")
	} else {
		q.logger.V(4).Info("A connection of another cluster ended by an error")
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (q quiet) WithAttrs([]slog.Attr) slog.Handler { return q }

// WithGroup implements slog.Handler.
func (q quiet) WithGroup(string) slog.Handler { return q }
