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

package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"

	"entente.dev/entente/peering/protocol"
)

// message is what can be sent and received.
type message interface{ Validate() error }

// call is one request, which may be put to several endpoints in turn.
type call struct {
	path string
	body []byte
	// limit is the length in bytes that the answer may have.
	limit int64
	// timeout is for one endpoint.
	timeout time.Duration
}

func newCall(path string, request any, limit int64, timeout time.Duration) (*call, error) {
	if m, ok := request.(message); ok {
		if err := m.Validate(); err != nil {
			return nil, fmt.Errorf("could not send a message that breaks the rules: %w", err)
		}
	}
	body, err := json.Marshal(request)
	if err != nil {
		return nil, errors.New("could not encode a message") // the cause could quote it
	}
	return &call{path: path, body: body, limit: limit, timeout: timeout}, nil
}

// on puts the request to one endpoint. It fails with a *Failure, or with the error of
// the context if it is cancelled.
func (c *call) on(ctx context.Context, l *line, answer any) error {
	within, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(within, http.MethodPost, l.endpoint+c.path, bytes.NewReader(c.body))
	if err != nil {
		return errors.New("could not make a request") // the cause quotes the endpoint
	}
	request.Header.Set("Content-Type", protocol.ContentType)
	request.Header.Set("Accept", protocol.ContentType)
	request.Header.Set("User-Agent", "entente")
	// One request, one answer: it takes a client to follow redirections, or to keep cookies.
	response, err := l.transport.RoundTrip(request)
	if err == nil {
		err = read(response, c.limit, answer)
		_ = response.Body.Close()
	}
	var fault protocol.Fault
	var failure *Failure
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("could not wait for an answer: %w", context.Canceled)
	case within.Err() != nil:
		// Whatever else it looks like.
		return &Failure{Kind: Unreachable, Detail: DetailTimeout}
	case errors.Is(err, protocol.ErrIncomplete):
		return &Failure{Kind: Unreachable, Detail: DetailConnect}
	case errors.As(err, &fault):
		return &Failure{Kind: Invalid, Fault: fault}
	case errors.As(err, &failure):
		return failure
	default:
		return failureOf(err)
	}
}

// read reads an answer, a good one into answer.
func read(response *http.Response, limit int64, answer any) error {
	if response.StatusCode != http.StatusOK {
		return readFailure(response)
	}
	if !isMessage(response) {
		return &Failure{Kind: Invalid}
	}
	if err := protocol.Read(response.Body, limit, answer); err != nil {
		return err
	}
	if m, ok := answer.(message); ok {
		return m.Validate()
	}
	return nil
}

// readFailure reads an answer that is none.
func readFailure(response *http.Response) error {
	reason := protocol.FailureReason("")
	if isMessage(response) {
		var err error
		if reason, err = protocol.ReadFailure(response.Body); errors.Is(err, protocol.ErrIncomplete) {
			return err
		}
	}
	status := response.StatusCode
	switch {
	case status == http.StatusTooManyRequests, status >= 500,
		reason == protocol.FailureBusy, reason == protocol.FailureUnavailable:
		return &Failure{Kind: Busy}
	case status < 400, reason == "":
		return &Failure{Kind: Invalid}
	case reason == protocol.FailureGone && status == http.StatusGone:
		return &Failure{Kind: Gone}
	case reason == protocol.FailureGone:
		return &Failure{Kind: Invalid}
	default:
		return &Failure{Kind: Refused, Reason: reason}
	}
}

// isMessage tells whether the body can be a message.
func isMessage(response *http.Response) bool {
	mediaType, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	return err == nil && mediaType == protocol.ContentType && len(response.Header.Values("Content-Encoding")) == 0
}
