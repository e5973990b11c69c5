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

package outlet

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"entente.dev/entente/peering/protocol"
)

// What the gateway of the peer says by itself, before the request comes to the API.
var (
	errShut   = errors.New("the peer's gateway lets nobody in")
	errBusy   = errors.New("the peer's gateway has too much to do")
	errDenied = errors.New("the peer's gateway does not do it")
)

// deniedBy tells whether an answer that is a failure is one of the gateway: a message of the
// protocol among clusters, which no client of an API can read. The answer can be read as
// before, if it is none.
func deniedBy(response *http.Response) error {
	mediaType, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")) // it is empty if there is none
	if mediaType != protocol.ContentType || response.ContentLength <= 0 || response.ContentLength > protocol.LimitFailure {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, protocol.LimitFailure))
	if err != nil {
		return err
	}
	if !isMessage(body) {
		response.Body = &again{Reader: bytes.NewReader(body), Closer: response.Body}
		return nil
	}
	switch response.StatusCode {
	case http.StatusForbidden, http.StatusGone:
		return errShut
	case http.StatusTooManyRequests:
		return errBusy
	default:
		return errDenied
	}
}

// isMessage tells a protocol.Failure from what APIs answer, whose objects have a kind.
func isMessage(body []byte) bool {
	var message struct {
		protocol.Failure
		Kind *string `json:"kind"`
	}
	return json.Unmarshal(body, &message) == nil && message.Reason != "" && message.Kind == nil
}

// again is a body that was read before.
type again struct {
	io.Reader
	io.Closer
}
