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

package passage

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// ErrAnswer means that an answer is none of an API: it leads elsewhere, or is a page.
var ErrAnswer = errors.New("the answer is not one of an API")

// answerHeaders pass; http.Header has them in this form.
func answerHeaders() []string {
	return []string{
		"Audit-Id", "Cache-Control", "Content-Encoding", "Content-Length", "Content-Type", "Etag", "Last-Modified", "Retry-After", "Vary", "Warning",
	}
}

// switchHeaders pass with an answer that makes the connection a WebSocket.
func switchHeaders() []string {
	return []string{"Sec-Websocket-Accept", "Sec-Websocket-Extensions", "Sec-Websocket-Protocol"}
}

// mediaTypes are those of Kubernetes APIs. Plain text is that of logs and errors.
func mediaTypes() []string {
	return []string{
		"application/json", "application/yaml", "application/cbor", "application/cbor-seq",
		"application/vnd.kubernetes.protobuf",
		"application/com.github.proto-openapi.spec.v2.v1.0+protobuf", "application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
		"text/plain",
	}
}

// formerOpenAPI is how older API servers call their OpenAPI, version 2. It is not of
// the form that types have, so that the library does not read it.
const formerOpenAPI = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"

// Answer checks an answer and leaves only those headers that pass; upgrade tells whether
// the request was to become a WebSocket. Trailers do not pass. It fails with ErrAnswer.
func Answer(response *http.Response, upgrade bool) error {
	switching := response.StatusCode == http.StatusSwitchingProtocols
	switch {
	case switching && (!upgrade || !isWebSocket(response.Header)), response.StatusCode < http.StatusOK && !switching:
		return ErrAnswer
	case response.StatusCode >= http.StatusMultipleChoices && response.StatusCode < http.StatusBadRequest && response.StatusCode != http.StatusNotModified:
		return ErrAnswer
	case !switching && !isOfAPI(response):
		return ErrAnswer
	}
	header := http.Header{}
	if switching {
		pass(response.Header, header, switchHeaders())
		header.Set("Connection", "Upgrade")
		header.Set("Upgrade", "websocket")
	} else {
		pass(response.Header, header, answerHeaders())
		// No browser is to make more of it than it says it is.
		header.Set("X-Content-Type-Options", "nosniff")
		response.Body = &withoutTrailer{ReadCloser: response.Body, of: response}
	}
	response.Header, response.Trailer = header, nil
	// The text beside the code is the other side's as well.
	response.Status = strconv.Itoa(response.StatusCode) + " " + http.StatusText(response.StatusCode)
	return nil
}

// isWebSocket tells whether the header of an answer makes the connection a WebSocket.
func isWebSocket(header http.Header) bool {
	given := header.Values("Upgrade")
	return len(given) == 1 && strings.EqualFold(given[0], "websocket")
}

// withoutTrailer is the body of an answer. With its end the transport fills in the trailer,
// announced or not.
type withoutTrailer struct {
	io.ReadCloser
	of *http.Response
}

// Read implements io.Reader.
func (b *withoutTrailer) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if err != nil {
		b.of.Trailer = nil
	}
	return n, err
}

// Close implements io.Closer. It may read what is left.
func (b *withoutTrailer) Close() error {
	err := b.ReadCloser.Close()
	b.of.Trailer = nil
	return err
}

// isOfAPI tells whether the body is of a type that APIs answer with, or there is none.
func isOfAPI(response *http.Response) bool {
	given := response.Header.Values("Content-Type")
	if len(given) == 0 {
		return response.ContentLength == 0 || response.StatusCode == http.StatusNoContent || response.StatusCode == http.StatusNotModified
	}
	if len(given) > 1 {
		return false
	}
	mediaType, _, err := mime.ParseMediaType(given[0])
	return given[0] == formerOpenAPI || (err == nil && slices.Contains(mediaTypes(), mediaType))
}
