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

package servingcert

import (
	"bytes"
	"context"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// log is everything that was logged in its context, at any verbosity.
type log struct {
	context context.Context
	lock    sync.Mutex
	buffer  bytes.Buffer
}

func logged(t testing.TB) *log {
	l := &log{}
	l.context = klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Verbosity(10), textlogger.Output(l))))
	return l
}

func (l *log) Write(line []byte) (int, error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.buffer.Write(line)
}

func (l *log) String() string {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.buffer.String()
}

// quiet is a context in which nothing is logged.
func quiet(t testing.TB) context.Context { return klog.NewContext(t.Context(), logr.Discard()) }

// mergeLog has ctx log there.
func mergeLog(ctx context.Context, l *log) context.Context {
	return klog.NewContext(ctx, klog.FromContext(l.context))
}
