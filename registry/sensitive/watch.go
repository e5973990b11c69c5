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

package sensitive

import (
	"io"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// watchBuffer lets the handler take several events before it flushes; without
// it each event would go out alone.
const watchBuffer = 100

// redactingWatch passes on the events of another watch, redacted for as long as
// reveal says no. reveal is asked for every event and must not block; end is called
// when the watch has ended, whichever way.
type redactingWatch struct {
	inner  watch.Interface
	reveal func() bool
	end    func()
	result chan watch.Event
	done   chan struct{}
	stop   sync.Once
}

func newRedactingWatch(inner watch.Interface, reveal func() bool, end func()) *redactingWatch {
	w := &redactingWatch{inner: inner, reveal: reveal, end: end, result: make(chan watch.Event, watchBuffer), done: make(chan struct{})}
	go w.run()
	return w
}

// Stop ends the watch; its goroutine ends whether or not anybody still reads.
func (w *redactingWatch) Stop() {
	w.stop.Do(func() {
		close(w.done)
		w.inner.Stop()
	})
}

func (w *redactingWatch) ResultChan() <-chan watch.Event { return w.result }

func (w *redactingWatch) run() {
	defer close(w.result)
	defer w.end()
	for event := range w.inner.ResultChan() {
		if !w.reveal() {
			event.Object = redactEvent(event.Object)
		}
		select {
		case w.result <- event:
		case <-w.done:
			return
		}
	}
}

// redactEvent redacts what a watch hands out. The cache delivers live events as
// CacheableObjects that all watchers share, initial events and bookmarks as
// plain objects, errors as a Status. Anything else is replaced by an error
// rather than passed on.
func redactEvent(obj runtime.Object) runtime.Object {
	if shared, ok := obj.(sharedObject); ok {
		return redactedObject{shared}
	}
	redacted, err := redactAny(obj)
	if err != nil {
		return &apierrors.NewInternalError(err).ErrStatus
	}
	return redacted
}

// sharedObject is what the watch cache hands out for a live event.
type sharedObject interface {
	runtime.Object
	runtime.CacheableObject
}

// redactedObject is the redacted face of an object that all watchers of an event
// share. The redacted encodings are kept by that object beside the plain ones, so
// that each is made once an event and encoder, however many redacted watchers
// there are (R8).
type redactedObject struct {
	inner sharedObject
}

var _ sharedObject = redactedObject{}

// CacheEncode writes the redacted encoding, from the cache if it is there.
func (o redactedObject) CacheEncode(id runtime.Identifier, encode func(runtime.Object, io.Writer) error, w io.Writer) error {
	return o.inner.CacheEncode("redacted/"+id, func(obj runtime.Object, w io.Writer) error {
		redacted, err := redactAny(obj)
		if err != nil {
			return err
		}
		return encode(redacted, w)
	}, w)
}

// GetObject returns a redacted copy.
func (o redactedObject) GetObject() runtime.Object { return redactEvent(o.inner.GetObject()) }

// GetObjectKind returns the kind of the object behind.
func (o redactedObject) GetObjectKind() schema.ObjectKind { return o.inner.GetObjectKind() }

// DeepCopyObject returns a redacted copy.
func (o redactedObject) DeepCopyObject() runtime.Object { return o.GetObject() }
