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
	"strconv"
)

// errTooLarge is what reading an answer ends with when it is larger than it may be.
var errTooLarge = errors.New("the answer is too large")

// bounded bounds answers, after their decompression, and lets none lead elsewhere.
type bounded struct {
	next http.RoundTripper
	// limit is of a body, in bytes; of a watch it is of one event.
	limit int64
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
	body := &boundedBody{ReadCloser: response.Body, limit: b.limit}
	if watch, err := strconv.ParseBool(request.URL.Query().Get("watch")); err == nil && watch {
		body.events = &events{}
	}
	response.Body = body
	return response, nil
}

// boundedBody fails to be read beyond the limit.
type boundedBody struct {
	io.ReadCloser
	limit int64
	// size is of what was read, of a watch since the last event.
	size   int64
	events *events
}

// Read implements io.Reader.
func (b *boundedBody) Read(buffer []byte) (int, error) {
	if b.size > b.limit {
		return 0, errTooLarge
	}
	n, err := b.ReadCloser.Read(buffer)
	if b.events != nil {
		b.size = b.events.after(buffer[:n], b.size, b.limit)
	} else {
		b.size += int64(n)
	}
	if b.size > b.limit {
		return 0, errTooLarge
	}
	return n, err
}

// events finds where the events of a watch end, each of which is a JSON object. What is
// not one is not taken apart: whoever decodes it fails.
type events struct {
	depth             int
	inString, escaped bool
}

// after returns the size of an event after data, from its size before. That is above the
// limit if it was at any time.
func (e *events) after(data []byte, size, limit int64) int64 {
	for _, c := range data {
		if size++; size > limit {
			return size
		}
		switch {
		case e.escaped:
			e.escaped = false
		case e.inString:
			e.escaped, e.inString = c == '\\', c != '"'
		case c == '"':
			e.inString = true
		case c == '{', c == '[':
			e.depth++
		case (c == '}' || c == ']') && e.depth > 0:
			if e.depth--; e.depth == 0 {
				size = 0
			}
		}
	}
	return size
}
