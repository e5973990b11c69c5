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
	w *writer
	// until is when it has to have arrived, by the clock of the system.
	until time.Time

	lock    sync.Mutex
	arrived bool
	failure Reason
}

// limitBody has the body of a request arrive in time, and returns it; nil if there is none.
func limitBody(w *writer, r *http.Request, within time.Duration) *body {
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	until := time.Now().Add(within)
	_ = w.control.SetReadDeadline(until)
	return &body{ReadCloser: http.MaxBytesReader(w, r.Body, maxBody), w: w, until: until}
}

// Read implements io.Reader.
func (b *body) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		b.end(true, "")
		b.w.arrived()
	case errors.As(err, &tooLarge):
		b.end(false, BodyTooLarge)
	case errors.Is(err, os.ErrDeadlineExceeded):
		b.end(false, BodyTooSlow)
	}
	return n, err
}

func (b *body) end(arrived bool, failure Reason) {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.arrived, b.failure = arrived, failure
}

// reason is why the body did not arrive; empty: it did, or it was not that. The transport
// has an error of its own for it.
func (b *body) reason() Reason {
	if b == nil {
		return ""
	}
	b.lock.Lock()
	defer b.lock.Unlock()
	if b.failure == "" && !b.arrived && !time.Now().Before(b.until) {
		// Whoever reads it has yet to be told.
		return BodyTooSlow
	}
	return b.failure
}
