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

package target

import (
	"errors"
	"io"
	"net/http"
)

// errTooLarge is what reading an answer ends with when it is larger than it may be.
var errTooLarge = errors.New("the answer is too large")

// limits are of an answer in JSON, after its decompression.
type limits struct {
	bytes int64
	// marks bounds the values: one comes after each, and few bytes of an answer make
	// hundreds in memory.
	marks int64
}

// bounded bounds answers, lets none lead elsewhere, and has those that are decoded by others
// wait for their turn.
type bounded struct {
	next   http.RoundTripper
	limits limits
}

// RoundTrip implements http.RoundTripper.
func (b *bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	// An http.Client follows no redirection to nowhere, nor does it quote one in an error.
	if response.StatusCode/100 == 3 {
		response.Header.Del("Location")
	}
	body := &boundedBody{ReadCloser: response.Body, limits: b.limits}
	ctx := request.Context()
	if response.StatusCode/100 != 2 {
		// They need no turn: client-go may sleep between one of these and the next.
		body.limits = limits{min(b.limits.bytes, maxRefusal), min(b.limits.marks, maxRefusalMarks)}
	} else if turn := turnOf(ctx); turn != nil {
		body.whole = func() error { return turn.take(ctx) }
	}
	response.Body = body
	return response, nil
}

// boundedBody fails to be read beyond the limits.
type boundedBody struct {
	io.ReadCloser
	limits limits
	shape  shape
	// whole, if there is one, is called once all was read.
	whole func() error
	over  bool
}

// Read implements io.Reader.
func (b *boundedBody) Read(buffer []byte) (int, error) {
	if b.over {
		return 0, errTooLarge
	}
	n, err := b.ReadCloser.Read(buffer)
	if !b.shape.take(buffer[:n], b.limits) {
		b.over = true
		return 0, errTooLarge
	}
	if errors.Is(err, io.EOF) && b.whole != nil {
		if err := b.whole(); err != nil {
			return 0, err
		}
	}
	return n, err
}

// shape is that of JSON as far as it was read. What is not JSON is not taken apart: whoever
// decodes it fails, before anything is made of it.
type shape struct {
	limits            // how much it is
	inString, escaped bool
}

// take goes on with data until it is too much, which false says.
func (s *shape) take(data []byte, limit limits) bool {
	for _, c := range data {
		s.bytes++
		switch {
		case s.escaped:
			s.escaped = false
		case s.inString:
			s.escaped, s.inString = c == '\\', c != '"'
		case c == '"':
			s.inString = true
		case c == '{', c == '[', c == ',':
			s.marks++
		}
		if s.bytes > limit.bytes || s.marks > limit.marks {
			return false
		}
	}
	return true
}

// sizeOf measures a whole answer.
func sizeOf(body []byte) limits {
	var s shape
	s.take(body, limits{int64(len(body)), int64(len(body))})
	return s.limits
}
