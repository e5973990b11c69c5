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
	"bytes"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// sharedVault does what the objects of the watch cache do: all watchers get the
// same one, and each encoding of it is made once.
type sharedVault struct {
	*Vault
	mu        sync.Mutex
	encodings map[runtime.Identifier][]byte
	made      atomic.Int32
}

func newSharedVault(name string) *sharedVault {
	return &sharedVault{Vault: newVault(name), encodings: map[runtime.Identifier][]byte{}}
}

func (s *sharedVault) CacheEncode(id runtime.Identifier, encode func(runtime.Object, io.Writer) error, w io.Writer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.encodings[id]; !ok {
		s.made.Add(1)
		var out bytes.Buffer
		if err := encode(s.GetObject(), &out); err != nil {
			return err
		}
		s.encodings[id] = out.Bytes()
	}
	_, err := w.Write(s.encodings[id])
	return err
}

func (s *sharedVault) GetObject() runtime.Object { return s.Vault.DeepCopyObject() }

func always(value bool) func() bool { return func() bool { return value } }

// R8: however many watchers there are, an event is encoded once an encoder for
// all who are redacted, and once for all others; the two are never mixed up.
func TestR8EncodingsAreShared(t *testing.T) {
	encoders := map[string]runtime.Encoder{}
	for _, mediaType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML} {
		info, ok := runtime.SerializerInfoForMediaType(vaultCodecs.SupportedMediaTypes(), mediaType)
		require.True(t, ok)
		encoders[mediaType] = vaultCodecs.EncoderForVersion(info.Serializer, vaultGV)
	}
	for name, order := range map[string][]bool{
		"redacted first":   {false, true, false, true, false},
		"unredacted first": {true, false, true, false, false, true},
		"only redacted":    {false, false, false},
		"only unredacted":  {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			shared := newSharedVault("one")
			before := shared.Vault.DeepCopyObject()
			views := map[bool]bool{}
			for _, reveal := range order {
				views[reveal] = true
				inner := watch.NewFakeWithChanSize(1, false)
				inner.Add(shared)
				w := newRedactingWatch(inner, always(reveal), func() {})
				event := receive(t, w)
				w.Stop()
				for mediaType, encoder := range encoders {
					var out bytes.Buffer
					require.NoError(t, encoder.Encode(event.Object, &out), mediaType)
					if reveal {
						assert.Contains(t, out.String(), keyCanary)
						assert.NotContains(t, out.String(), "omitted")
					} else {
						assertNoCanary(t, out.String())
						assert.Contains(t, out.String(), "omitted")
					}
				}
			}
			assert.EqualValues(t, len(views)*len(encoders), shared.made.Load(), "R8: encodings")
			assert.Equal(t, before, shared.Vault, "R7")
		})
	}
}

// R8: so it is when they all come at once.
func TestR8EncodingsAreSharedConcurrently(t *testing.T) {
	shared := newSharedVault("one")
	info, _ := runtime.SerializerInfoForMediaType(vaultCodecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	encoder := vaultCodecs.EncoderForVersion(info.Serializer, vaultGV)
	var group sync.WaitGroup
	texts := make([]string, 100)
	for i := range texts {
		group.Go(func() {
			object := redactEvent(shared)
			if i%2 == 0 {
				object = shared
			}
			var out bytes.Buffer
			assert.NoError(t, encoder.Encode(object, &out))
			texts[i] = out.String()
		})
	}
	group.Wait()
	for i, text := range texts {
		assert.Equal(t, texts[i%2], text)
	}
	assertNoCanary(t, texts[1])
	assert.Contains(t, texts[0], keyCanary)
	assert.EqualValues(t, 2, shared.made.Load())
}

// R5, R7: the face that a redacted watcher sees shows no value by any method, and
// what it gives away is the caller's own.
func TestR5FaceOfASharedObject(t *testing.T) {
	shared := newSharedVault("one")
	face, ok := redactEvent(shared).(runtime.CacheableObject)
	require.True(t, ok)
	object := face.GetObject().(*Vault)
	assert.Equal(t, redactedVault("one"), object)
	assert.Equal(t, redactedVault("one"), face.(runtime.Object).DeepCopyObject())
	object.Spec.Label, object.Spec.Door.Color, object.Spec.Key.Hint = "mine", "mine", "mine"
	assert.Equal(t, newVault("one"), shared.Vault)
	assert.Same(t, shared.GetObjectKind(), face.(runtime.Object).GetObjectKind())
	_, hasMeta := face.(metav1.Object)
	assert.False(t, hasMeta, "a setter on it would reach the shared object")

	// An encoder that fails tells so, and what it was given is redacted.
	failure := errors.New("no")
	err := face.CacheEncode("id", func(obj runtime.Object, _ io.Writer) error {
		assert.Equal(t, redactedVault("one"), obj)
		return failure
	}, io.Discard)
	assert.ErrorIs(t, err, failure)
}

// sharedPlain is a shared object of a type that names no sensitive fields.
type sharedPlain struct{ Plain }

func (s *sharedPlain) CacheEncode(_ runtime.Identifier, encode func(runtime.Object, io.Writer) error, w io.Writer) error {
	return encode(s.GetObject(), w)
}
func (s *sharedPlain) GetObject() runtime.Object { return s.Plain.DeepCopyObject() }

// R5: events of every type and with every object are redacted, or are an error.
func TestR5WatchEvents(t *testing.T) {
	bookmark := &Vault{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
	full := newVault("one") // some stores send a whole object as a bookmark
	full.Annotations = bookmark.Annotations
	redactedFull := redactedVault("one")
	redactedFull.Annotations = bookmark.Annotations
	gone := &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Code: 410, Message: "too old"}
	for name, test := range map[string]struct {
		in   watch.Event
		want runtime.Object
	}{
		"added":              {watch.Event{Type: watch.Added, Object: newVault("one")}, redactedVault("one")},
		"modified":           {watch.Event{Type: watch.Modified, Object: newVault("one")}, redactedVault("one")},
		"deleted":            {watch.Event{Type: watch.Deleted, Object: newVault("one")}, redactedVault("one")},
		"bookmark":           {watch.Event{Type: watch.Bookmark, Object: bookmark}, bookmark.DeepCopyObject()},
		"a full bookmark":    {watch.Event{Type: watch.Bookmark, Object: full}, redactedFull},
		"error":              {watch.Event{Type: watch.Error, Object: gone}, gone.DeepCopy()},
		"error of an object": {watch.Event{Type: watch.Error, Object: newVault("one")}, redactedVault("one")},
		"no object":          {watch.Event{Type: watch.Error}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inner := watch.NewFakeWithChanSize(1, false)
			inner.Action(test.in.Type, test.in.Object)
			w := newRedactingWatch(inner, always(false), func() {})
			defer w.Stop()
			assert.Equal(t, watch.Event{Type: test.in.Type, Object: test.want}, receive(t, w))
		})
	}
	for name, object := range map[string]runtime.Object{
		"a foreign object": &Plain{Value: keyCanary}, "a shared foreign object": &sharedPlain{Plain{Value: keyCanary}},
	} {
		t.Run(name, func(t *testing.T) {
			got := redactEvent(object)
			if shared, ok := got.(runtime.CacheableObject); ok {
				assert.Error(t, shared.CacheEncode("id", func(runtime.Object, io.Writer) error { t.Error("encoded"); return nil }, io.Discard))
				got = shared.GetObject()
			}
			status, ok := got.(*metav1.Status)
			require.True(t, ok, "%T", got)
			assert.EqualValues(t, 500, status.Code)
			assertNoCanary(t, status.Message)
		})
	}
}

// R3: whether to reveal is asked for every event, so that a right that is lost or
// gained tells from the next event on.
func TestR3RevealSwitches(t *testing.T) {
	var reveal atomic.Bool
	inner := watch.NewFake() // hands over one event at a time
	w := newRedactingWatch(inner, reveal.Load, func() {})
	defer w.Stop()
	for _, now := range []bool{false, true, false, true, true, false} {
		reveal.Store(now)
		inner.Modify(newVault("one"))
		want := redactedVault("one")
		if now {
			want = newVault("one")
		}
		assert.Equal(t, want, receive(t, w).Object)
	}
}

// R8: a watch that is stopped leaves no goroutine, whatever it was doing.
func TestR8StoppedWatchLeavesNothing(t *testing.T) {
	fill := func(inner *watch.FakeWatcher, events int) {
		for range events {
			inner.Add(newVault("one"))
		}
	}
	for name, run := range map[string]func(t *testing.T){
		"idle": func(*testing.T) {
			newRedactingWatch(watch.NewFake(), always(false), func() {}).Stop()
		},
		"stopped twice": func(*testing.T) {
			w := newRedactingWatch(watch.NewFake(), always(false), func() {})
			w.Stop()
			w.Stop()
		},
		"stopped by many": func(*testing.T) {
			w := newRedactingWatch(watch.NewFake(), always(true), func() {})
			var group sync.WaitGroup
			for range 10 {
				group.Go(w.Stop)
			}
			group.Wait()
		},
		"the inner one ended first": func(t *testing.T) {
			inner := watch.NewFake()
			w := newRedactingWatch(inner, always(false), func() {})
			inner.Stop()
			_, ok := <-w.ResultChan()
			assert.False(t, ok, "the end is passed on")
			w.Stop()
		},
		"nobody stops it after the inner one ended": func(t *testing.T) {
			inner := watch.NewFake()
			w := newRedactingWatch(inner, always(false), func() {})
			inner.Stop()
			for range w.ResultChan() {
				t.Error("an event")
			}
		},
		"blocked while it sends": func(t *testing.T) {
			inner := watch.NewFakeWithChanSize(3*watchBuffer, false)
			fill(inner, 3*watchBuffer)
			w := newRedactingWatch(inner, always(false), func() {})
			require.Eventually(t, func() bool { return len(w.result) == watchBuffer }, time.Minute, time.Millisecond)
			w.Stop()
		},
		"blocked, and the inner one ended": func(t *testing.T) {
			inner := watch.NewFakeWithChanSize(3*watchBuffer, false)
			fill(inner, 3*watchBuffer)
			w := newRedactingWatch(inner, always(true), func() {})
			require.Eventually(t, func() bool { return len(w.result) == watchBuffer }, time.Minute, time.Millisecond)
			inner.Stop()
			w.Stop()
		},
		"while the reader reads": func(t *testing.T) {
			inner := watch.NewFakeWithChanSize(watchBuffer, false)
			fill(inner, watchBuffer)
			w := newRedactingWatch(inner, always(false), func() {})
			receive(t, w)
			w.Stop()
			for range w.ResultChan() { // what is left may be read, and it ends
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			run(t)
		})
	}
}

// R8: and so it is with the watches of the real cache.
func TestR8StoppedWatchOfTheCache(t *testing.T) {
	r := newRegistry(t)
	r.add(t, newVault("one"))
	// The first watch starts what the cache keeps.
	first, err := r.main.Watch(requestContext(writer, ""), listOptions(""))
	require.NoError(t, err)
	receive(t, first)
	defer first.Stop()
	ignore := goleak.IgnoreCurrent()
	for i := range 20 {
		w, err := r.main.Watch(requestContext(writer, ""), listOptions(""))
		require.NoError(t, err)
		if i%2 == 0 {
			receive(t, w)
		}
		w.Stop()
	}
	assert.NoError(t, goleak.Find(ignore))
}
