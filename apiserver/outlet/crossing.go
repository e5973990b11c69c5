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
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"

	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/passage"
)

// crossing is one request on its way to a peer.
type crossing struct {
	outlet *Outlet
	// in is the request as the caller sent it.
	in *http.Request
	on *standing
	// name is that of the ClusterPeer.
	name    string
	badge   badge
	token   *token
	carrier http.RoundTripper
	// path is the one at the gateway, not escaped.
	path     string
	upgrade  bool
	duration duration
	// quiet says that the answer may end at any time.
	quiet bool
}

// carry carries the request, once. An answer that is cut ends so that its reader sees that,
// but for two: whoever has gone reads none, and a watch ends as those of API servers do, by
// no more events, whether it has lost what it stood on or the peer has ended it.
func (c *crossing) carry(w http.ResponseWriter, r *http.Request) {
	defer func() {
		failure := recover()
		err, _ := failure.(error)
		if failure != nil && (!errors.Is(err, http.ErrAbortHandler) || !c.quiet && c.in.Context().Err() == nil) {
			panic(failure)
		}
	}()
	c.proxy().ServeHTTP(w, r)
}

// Limits of what a gateway takes before the body, in bytes: a request beyond them would be
// broken off there, which looks like a gateway that cannot be reached.
const (
	maxURL    = 8 << 10
	maxHeader = 15 << 10
	// fieldOverhead is what a field counts besides its name and value (RFC 9113, 6.5.2).
	fieldOverhead = 32
)

// checkSize fails with a *fault if the request is larger before its body than the gateway of
// a peer takes it.
func (c *crossing) checkSize() error {
	length := len((&url.URL{Path: c.path}).EscapedPath()) + len(c.in.URL.RawQuery)
	if length > maxURL {
		return &fault{code: http.StatusRequestURITooLong, text: "path and query are longer than a peer takes them"}
	}
	size := length + len(c.token.secret.Reveal())
	for name, values := range passage.Request(c.in.Header, c.upgrade) {
		for _, value := range values {
			size += len(name) + len(value) + fieldOverhead
		}
	}
	if size > maxHeader {
		return &fault{code: http.StatusRequestHeaderFieldsTooLarge, text: "the header is larger than a peer takes it"}
	}
	return nil
}

// proxy is what carries it.
func (c *crossing) proxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:        c.rewrite,
		Transport:      c.carrier,
		FlushInterval:  -1, // events of a watch are not to wait for each other
		ErrorLog:       slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		ModifyResponse: c.admit,
		// The other request holds the token.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			c.outlet.refuse(w, c.in, c.name, c.faultOf(err))
		},
	}
}

// rewrite makes the request that the peer gets. Scheme and host are the carrier's.
func (c *crossing) rewrite(r *httputil.ProxyRequest) {
	r.Out.URL.Path, r.Out.URL.RawPath = c.path, ""
	r.Out.Host = ""
	r.Out.Header = passage.Request(r.In.Header, c.upgrade)
	// Nothing is to grow on its way to the caller (P11).
	r.Out.Header.Del("Accept-Encoding")
	r.Out.Header.Set("Authorization", "Bearer "+string(c.token.secret.Reveal()))
	r.Out.Trailer = nil
}

var (
	errUnknown = errors.New("the peer does not take the token")
	errFailed  = errors.New("the peer failed")
	errOutage  = errors.New("the peer cannot answer now")
	errTooLong = errors.New("the answer is too long")
)

// admit checks an answer of the peer.
func (c *crossing) admit(response *http.Response) error {
	switch code := response.StatusCode; {
	// The caller has nothing that would help: his client must not ask him for it.
	case code == http.StatusUnauthorized, code == http.StatusProxyAuthRequired:
		c.outlet.tokens.drop(c.badge, c.token)
		return errUnknown
	case code == http.StatusServiceUnavailable, code == http.StatusGatewayTimeout:
		return errOutage
	case code >= http.StatusInternalServerError:
		return errFailed
	case code >= http.StatusBadRequest:
		if err := deniedBy(response); err != nil {
			return err
		}
	}
	if isEncoded(response.Header) {
		return passage.ErrAnswer
	}
	response.Header.Del("Content-Encoding")
	if err := passage.Answer(response, c.upgrade); err != nil {
		return err
	}
	if response.StatusCode == http.StatusSwitchingProtocols {
		return nil
	}
	if c.duration != complete && response.StatusCode == http.StatusOK {
		c.quiet = c.duration == watching
		return nil
	}
	if response.ContentLength > c.outlet.limits.Body && c.in.Method != http.MethodHead {
		return errTooLong
	}
	response.Body = &bounded{ReadCloser: response.Body, left: c.outlet.limits.Body}
	return nil
}

// isEncoded tells whether an answer would have to be decoded, which nobody asked for.
func isEncoded(header http.Header) bool {
	return slices.ContainsFunc(header.Values("Content-Encoding"), func(v string) bool { return !strings.EqualFold(v, "identity") })
}

// faultOf says why there is no answer that can be passed on, in words of ours.
func (c *crossing) faultOf(err error) error {
	var failure *client.Failure
	switch {
	case errors.Is(err, errUnknown):
		return &fault{code: http.StatusServiceUnavailable, text: "the peer does not take the token of the ServiceAccount, or not yet"}
	case errors.Is(err, errShut):
		return &fault{code: http.StatusServiceUnavailable, retry: c.retry(), text: "the peer does not let this cluster in now"}
	case errors.Is(err, errBusy), errors.As(err, &failure) && failure.Kind == client.Busy:
		return &fault{code: http.StatusTooManyRequests, retry: retrySoon, text: "there are too many requests to the peer"}
	case errors.Is(err, errOutage):
		return &fault{code: http.StatusServiceUnavailable, retry: c.retry(), text: "the API of the peer cannot answer now"}
	case errors.Is(err, errFailed):
		return &fault{code: http.StatusBadGateway, text: "the API of the peer failed"}
	case errors.Is(err, errTooLong), errors.Is(err, errDenied), errors.Is(err, passage.ErrAnswer):
		return &fault{code: http.StatusBadGateway, text: "the peer's answer is not one of an API, or is too long"}
	case errors.As(err, &failure) && failure.Kind == client.Untrusted:
		return &fault{code: http.StatusBadGateway, text: "somebody else is in the place of the peer's gateway"}
	case errors.As(err, &failure):
		return &fault{code: http.StatusServiceUnavailable, retry: c.retry(), text: "the peer cannot be reached, or did not answer in time"}
	}
	var lost *fault
	if errors.As(c.on.fault(), &lost) && c.in.Context().Err() == nil {
		if lost.retry != 0 {
			lost.retry = c.retry() // it may have reached the peer
		}
		return lost
	}
	return &fault{code: http.StatusServiceUnavailable, retry: c.retry(), text: "the request was ended"}
}

// retry is after how many seconds a request may be made again that may have reached the
// peer; 0: that is not for a client to do by itself.
func (c *crossing) retry() int32 {
	if c.in.Method == http.MethodGet || c.in.Method == http.MethodHead {
		return retrySoon
	}
	return 0
}

// bounded is a body that fails where it becomes too long.
type bounded struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLong
	}
	return n, err
}
