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

package entrance

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// body is that of a request: neither too long nor too slow.
type body struct {
	io.ReadCloser
	arrived func()

	lock    sync.Mutex
	failure Reason
}

// limitBody has the body of a request arrive in time, by the clock of the system, and
// returns it; nil if there is none.
func limitBody(w *writer, r *http.Request, within time.Duration) *body {
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	_ = w.control.SetReadDeadline(time.Now().Add(within))
	return &body{
		ReadCloser: http.MaxBytesReader(w, r.Body, maxBody),
		// From here on the peer may be silent: it waits.
		arrived: sync.OnceFunc(func() { _ = w.control.SetReadDeadline(time.Time{}) }),
	}
}

// Read implements io.Reader.
func (b *body) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		b.arrived()
	case errors.As(err, &tooLarge):
		b.fail(BodyTooLarge)
	case errors.Is(err, os.ErrDeadlineExceeded):
		b.fail(BodyTooSlow)
	}
	return n, err
}

func (b *body) fail(reason Reason) {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.failure = reason
}

// reason is why the body did not arrive; empty: it did, or it was not that. The transport
// has an error of its own for it.
func (b *body) reason() Reason {
	if b == nil {
		return ""
	}
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.failure
}
