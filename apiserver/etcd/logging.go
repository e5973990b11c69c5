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

package etcd

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
)

// expectedWarnings are warnings of etcd about what is meant to be as it is here.
// They would worry people at every start.
func expectedWarnings() []string {
	return []string{
		"Running http and grpc server on single port. This is not recommended for production.",
		// There is no authentication to sign tokens for: the socket is the guard.
		"simple token is not cryptographically signed",
	}
}

// newZapLogger writes to core. Entries at which etcd would end the process, or
// panic, end the goroutine that wrote them instead and are noted in failure.
func newZapLogger(core *logCore, failure *failure) *zap.Logger {
	return zap.New(core, zap.WithFatalHook(failure), zap.WithPanicHook(failure))
}

// logCore is a zapcore.Core that hands warnings and errors to a logr.Logger.
type logCore struct {
	zapcore.LevelEnabler
	logger   logr.Logger
	expected []string
	// shuttingDown says that etcd is being stopped. It complains then about
	// everything that stops, which is worth reading only for who looks into it.
	shuttingDown *atomic.Bool
}

func newLogCore(logger klog.Logger) *logCore {
	return &logCore{
		LevelEnabler: zapcore.WarnLevel,
		logger:       logger.WithName("etcd"),
		expected:     expectedWarnings(),
		shuttingDown: &atomic.Bool{},
	}
}

// With implements zapcore.Core.
func (c *logCore) With(fields []zapcore.Field) zapcore.Core {
	with := *c
	with.logger = c.logger.WithValues(keysAndValues(fields)...)
	return &with
}

// Check implements zapcore.Core.
func (c *logCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if !c.Enabled(entry.Level) || slices.Contains(c.expected, entry.Message) {
		return checked
	}
	return checked.AddCore(entry, c)
}

// Write implements zapcore.Core. There is no level between information and
// error in structured logging, so a warning is an information of level 0.
func (c *logCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	values := keysAndValues(fields)
	switch {
	case c.shuttingDown.Load() && entry.Level < zapcore.DPanicLevel:
		c.logger.V(2).Info(entry.Message, values...)
	case entry.Level > zapcore.WarnLevel:
		c.logger.Error(nil, entry.Message, values...)
	default:
		c.logger.Info(entry.Message, values...)
	}
	return nil
}

// Sync implements zapcore.Core.
func (c *logCore) Sync() error {
	return nil
}

func keysAndValues(fields []zapcore.Field) []any {
	values := make([]any, 0, 2*len(fields))
	for _, field := range fields {
		encoder := zapcore.NewMapObjectEncoder()
		field.AddTo(encoder)
		if value, ok := encoder.Fields[field.Key]; ok {
			values = append(values, field.Key, value)
		}
	}
	return values
}

// failure is the first entry at which etcd wanted to end the process.
type failure struct {
	mu      sync.Mutex
	reason  error
	noticed chan struct{}
}

func newFailure() *failure {
	return &failure{noticed: make(chan struct{})}
}

// OnWrite implements zapcore.CheckWriteHook. It does not return, as etcd relies
// on: nothing may be done after a failed write to the log on disk.
func (f *failure) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	f.note(entry.Message, fields)
	runtime.Goexit()
}

func (f *failure) note(message string, fields []zapcore.Field) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.reason != nil {
		return
	}
	f.reason = fmt.Errorf("etcd failed: %s", message)
	for _, field := range fields {
		if cause, ok := field.Interface.(error); ok && field.Type == zapcore.ErrorType {
			f.reason = fmt.Errorf("etcd failed: %s: %w", message, cause)
			break
		}
	}
	close(f.noticed)
}

func (f *failure) occurred() <-chan struct{} {
	return f.noticed
}

func (f *failure) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reason
}
