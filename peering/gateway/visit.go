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

package gateway

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"k8s.io/klog/v2"

	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// visit is one request and its answer.
type visit struct {
	g       *Gateway
	w       http.ResponseWriter
	r       *http.Request
	control *http.ResponseController
	began   time.Time
	log     klog.Logger
	// gone is closed when nobody waits for the answer any more.
	gone <-chan struct{}
	// about is what is known of it by now.
	about Request
	// untold is what happened and the observer has not heard of.
	untold []Occurrence
}

func (g *Gateway) visit(w http.ResponseWriter, r *http.Request) *visit {
	v := &visit{
		g: g, w: w, r: r, control: http.NewResponseController(w), began: g.clock.Now(),
		log: klog.FromContext(r.Context()), gone: r.Context().Done(),
	}
	v.about.Source = sourceOf(r.RemoteAddr)
	v.about.Key = pki.HashOfCertificate(v.certificate())
	// The time of day is in some messages, where it belongs.
	w.Header()["Date"] = nil
	// Whoever sends a body slowly is not waited for, whether it is wanted or not. That is
	// a time of the system's clock, as all of connections are.
	_ = v.control.SetReadDeadline(time.Now().Add(g.limits.Body))
	// That of the last answer on this connection is not for this one.
	_ = v.control.SetWriteDeadline(time.Time{})
	return v
}

// certificate returns that of the client. There is one: else there is no connection.
func (v *visit) certificate() *x509.Certificate { return v.r.TLS.PeerCertificates[0] }

// end is deferred, and tells the observer that the request is over.
func (v *visit) end() {
	panicked := recover()
	if err, _ := panicked.(error); panicked != nil && !errors.Is(err, http.ErrAbortHandler) {
		// What it says could quote the request; where it was does not.
		v.log.Error(nil, "Panicked in a request of another cluster", "stack", string(debug.Stack()))
	}
	v.tell(v.about.Code)
	v.about.Duration = v.g.clock.Since(v.began)
	v.g.observer.Served(v.about)
	if panicked != nil {
		panic(http.ErrAbortHandler)
	}
}

// note keeps what happened until there is an answer.
func (v *visit) note(kind Kind, reason record.Reason) {
	v.untold = append(v.untold, Occurrence{Kind: kind, Reason: reason})
}

// tell tells the observer what was noted, with the status code of the answer.
func (v *visit) tell(code int) {
	v.about.Duration = v.g.clock.Since(v.began)
	for _, what := range v.untold {
		what.Request = v.about
		what.Code = code
		v.g.observer.Occurred(what)
	}
	v.untold = nil
}

// isPost tells whether the request can be one with a message, and why not.
func (v *visit) isPost() *denial {
	mediaType, _, err := mime.ParseMediaType(v.r.Header.Get("Content-Type"))
	switch {
	case v.r.Method != http.MethodPost:
		return &noMethod
	case err != nil, mediaType != protocol.ContentType, len(v.r.Header.Values("Content-Encoding")) > 0:
		return &noMedia
	}
	return nil
}

// read reads the message of the request.
func (v *visit) read(limit int64, into any) *denial {
	if protocol.Read(v.r.Body, limit, into) != nil {
		return &invalid
	}
	// From here on the client may be silent: it waits.
	_ = v.control.SetReadDeadline(time.Time{})
	return nil
}

// update changes the ledger. What it did may be told once it returns.
func (v *visit) update(ctx context.Context, change func(record.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, v.g.limits.Update)
	defer cancel()
	return v.g.ledger.Update(ctx, change)
}

// part has the connection closed after the answer: nothing more is expected on it.
func (v *visit) part() { v.w.Header().Set("Connection", "close") }

// deny answers that it is not done.
func (v *visit) deny(d *denial) {
	if d.kind != "" {
		v.note(d.kind, d.reason)
	}
	v.answer(d.code, protocol.Failure{Reason: d.failure})
}

// succeed answers with a message.
func (v *visit) succeed(message any) { v.answer(http.StatusOK, message) }

func (v *visit) answer(code int, message any) {
	select {
	case <-v.gone:
		return
	default:
	}
	body, err := json.Marshal(message)
	if err != nil {
		v.log.Error(errors.New("it cannot be encoded"), "Could not answer another cluster")
		code, body = broken.code, []byte(`{"reason":"Unavailable"}`)
	}
	header := v.w.Header()
	header.Set("Content-Type", protocol.ContentType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("Cache-Control", "no-store")
	v.about.Code = code
	v.tell(code)
	wait := v.g.limits.Write
	if code >= http.StatusBadRequest {
		wait = min(wait, refusalTimeout)
	}
	_ = v.control.SetWriteDeadline(time.Now().Add(wait))
	v.w.WriteHeader(code)
	_, _ = v.w.Write(body)
	// While it waits to be taken the request is still under way, and counted.
	_ = v.control.Flush()
}
