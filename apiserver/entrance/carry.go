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
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"

	"entente.dev/entente/peering/passage"
	"entente.dev/entente/peering/protocol"
)

// carry has the host cluster answer the request, for as long as that stands.
func (v *visit) carry(ctx context.Context, s *standing) {
	if v.r.ContentLength > maxBody {
		v.refuse(BodyTooLarge)
		return
	}
	ctx, release := v.entrance.streams.Hold(ctx, s.stands)
	defer release()
	v.w.ctx = ctx
	// That is stopped before release, which ends the context too.
	defer context.AfterFunc(ctx, v.w.interrupt)()
	if s.ask.lasts {
		v.w.begins = v.begins
	}
	// If it is broken off it is known why.
	defer func() {
		if ctx.Err() != nil && v.about.Reason == "" {
			v.about.Reason = s.reason()
		}
	}()
	r := v.r.WithContext(ctx)
	if v.body = limitBody(v.w, r, v.entrance.limits.Body); v.body != nil {
		r.Body = v.body
	}
	api := v.entrance.config.API
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(to *httputil.ProxyRequest) { v.rewrite(to, s) },
		Transport:     discreet{api.Plain},
		FlushInterval: -1,
		BufferPool:    v.entrance.buffers,
		ModifyResponse: func(response *http.Response) error {
			return passage.Answer(response, s.ask.upgrade)
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { v.failed(ctx, err) },
		// What it says quotes requests and answers.
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	if s.ask.upgrade {
		proxy.Transport = discreet{api.Upgrade}
	}
	proxy.ServeHTTP(v.w, r)
}

// rewrite makes the request to the host cluster. Nothing of the peer's is in it but what
// passes, and who it is from is said here and nowhere else.
func (v *visit) rewrite(to *httputil.ProxyRequest, s *standing) {
	base := v.entrance.config.API.URL
	to.Out.URL = &url.URL{
		Scheme: base.Scheme, Host: base.Host,
		Path: strings.TrimSuffix(base.Path, "/") + s.ask.path, RawQuery: s.ask.query,
	}
	to.Out.Host = ""
	to.Out.Trailer = nil
	header := passage.Request(to.In.Header, s.ask.upgrade)
	header.Set(authenticationv1.ImpersonateUserHeader, s.workload.Username)
	header.Set(authenticationv1.ImpersonateGroupHeader, protocol.UserGroup(v.peer.ClusterUUID))
	// By this the host cluster's audit and ours can be brought together.
	header.Set("Audit-Id", v.about.ID)
	to.Out.Header = header
}

// failed answers a request that the host cluster has not answered.
func (v *visit) failed(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
		// Nobody waits for it, or it stands no more and is broken off like any that is. Over
		// HTTP/1.1 a body that does not arrive ends it, too.
		v.about.Reason = v.body.reason()
		panic(http.ErrAbortHandler)
	case v.body.reason() != "":
		v.refuse(v.body.reason())
	case errors.Is(err, passage.ErrAnswer):
		v.refuse(InvalidAnswer)
	default:
		v.refuse(HostUnreachable)
	}
}

// bufferSize is how much of an answer is passed on at once, at most.
const bufferSize = 32 << 10

// buffers are used again: each answer needs one.
type buffers struct{ pool sync.Pool }

func newBuffers() *buffers {
	return &buffers{pool: sync.Pool{New: func() any { return new([bufferSize]byte) }}}
}

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte { return b.pool.Get().(*[bufferSize]byte)[:] }

// Put implements httputil.BufferPool.
func (b *buffers) Put(buffer []byte) { b.pool.Put((*[bufferSize]byte)(buffer)) }
