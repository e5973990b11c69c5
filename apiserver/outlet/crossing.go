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

	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/passage"
	"entente.dev/entente/peering/record"
)

// crossing is one request on its way to a peer.
type crossing struct {
	outlet *Outlet
	// in is the request as the caller sent it.
	in *http.Request
	on *ground
	// name is that of the ClusterPeer.
	name    string
	badge   badge
	token   record.Secret
	carrier http.RoundTripper
	// path is the one at the gateway, not escaped.
	path    string
	upgrade bool
}

// carry carries the request, once. Whoever has gone needs not be told that the answer is
// cut, and a watch may end at any time: neither is a failure, as which the server would log
// it.
func (c *crossing) carry(w http.ResponseWriter, r *http.Request) {
	defer func() {
		failure := recover()
		//nolint:errorlint // what was panicked with is compared, as net/http does
		cut := failure == http.ErrAbortHandler
		if failure != nil && (!cut || c.in.Context().Err() == nil && !isSet(c.in, "watch")) {
			panic(failure)
		}
	}()
	c.proxy().ServeHTTP(w, r)
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
	r.Out.Header.Set("Authorization", "Bearer "+string(c.token.Reveal()))
	r.Out.Trailer = nil
}

var (
	errUnknown = errors.New("the peer does not take the token")
	errFailed  = errors.New("the peer failed")
	errTooLong = errors.New("the answer is too long")
)

// admit checks an answer of the peer.
func (c *crossing) admit(response *http.Response) error {
	switch code := response.StatusCode; {
	// The caller has nothing that would help: his client must not ask him for it.
	case code == http.StatusUnauthorized, code == http.StatusProxyAuthRequired:
		c.outlet.tokens.drop(c.badge, c.token)
		return errUnknown
	case code >= http.StatusInternalServerError:
		return errFailed
	}
	if err := passage.Answer(response, c.upgrade); err != nil {
		return err
	}
	if response.StatusCode == http.StatusSwitchingProtocols || isSet(c.in, "watch") || isSet(c.in, "follow") {
		return nil
	}
	if response.ContentLength > c.outlet.limits.Body && c.in.Method != http.MethodHead {
		return errTooLong
	}
	response.Body = &bounded{ReadCloser: response.Body, left: c.outlet.limits.Body}
	return nil
}

// isSet tells whether a parameter by which an answer may last for as long as it likes is
// set. It is read as Kubernetes reads it: one without a value is set.
func isSet(r *http.Request, name string) bool {
	query := r.URL.Query()
	return query.Has(name) && query.Get(name) != "false" && query.Get(name) != "0"
}

// faultOf says why there is no answer that can be passed on, in words of ours.
func (c *crossing) faultOf(err error) error {
	var failure *client.Failure
	switch {
	case errors.Is(err, errUnknown):
		return &fault{code: http.StatusServiceUnavailable, text: "the peer does not take the token of the ServiceAccount, or not yet"}
	case errors.Is(err, errFailed):
		return &fault{code: http.StatusBadGateway, text: "the API of the peer failed"}
	case errors.Is(err, errTooLong), errors.Is(err, passage.ErrAnswer):
		return &fault{code: http.StatusBadGateway, text: "the peer's answer is not one of an API, or is too long"}
	case errors.As(err, &failure) && failure.Kind == client.Untrusted:
		return &fault{code: http.StatusBadGateway, text: "somebody else is in the place of the peer's gateway"}
	case errors.As(err, &failure):
		return &fault{code: http.StatusServiceUnavailable, retry: c.retry(), text: "the peer cannot be reached, or did not answer in time"}
	}
	if _, lost := c.outlet.stand(c.on); lost != nil && c.in.Context().Err() == nil {
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
