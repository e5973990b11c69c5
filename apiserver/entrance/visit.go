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
	"crypto/sha256"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"entente.dev/entente/controllers/workloadtoken"
	"entente.dev/entente/peering/gateway"
)

// visit is one request and its answer.
type visit struct {
	entrance *Entrance
	w        *writer
	r        *http.Request
	peer     *gateway.Peer
	presence *presence
	// body is that of the request, nil unless it is being carried.
	body *body
	// about is what is known of it by now.
	about Exchange
}

func (e *Entrance) visit(w http.ResponseWriter, r *http.Request, peer *gateway.Peer) *visit {
	v := &visit{
		entrance: e, r: r, peer: peer, presence: e.presences.of(peer.UID),
		about: Exchange{ID: uuid.NewString(), Peer: *peer, Began: e.config.Clock.Now()},
	}
	v.w = newWriter(r.Context(), w, e.limits.Write)
	return v
}

func (v *visit) enter() Reason { return v.presence.enter(v.entrance.config.Clock.Now()) }

// standing finds out what the request stands on, or why it is not let in.
func (v *visit) standing(ctx context.Context) (*standing, Reason) {
	asked, reason := v.entrance.readAsk(v.r)
	if reason != "" {
		return nil, reason
	}
	v.about.Capability, v.about.Request, v.about.Lasts = asked.capability, asked.info, asked.lasts
	token, ok := bearer(v.r.Header)
	if !ok {
		return nil, NoToken
	}
	v.about.Token = sha256.Sum256([]byte(token))
	ground, reason := v.entrance.ground(v.peer, asked.capability)
	if reason != "" {
		return nil, reason
	}
	verifier, err := v.entrance.verifierOf(v.presence, v.peer, ground.issuer)
	if err != nil {
		return nil, AwaitingIssuer
	}
	workload, err := verifier.Verify(ctx, token, asked.capability, v.presence.failures)
	if err != nil {
		var refusal *workloadtoken.Refusal
		if !errors.As(err, &refusal) {
			return nil, AwaitingIssuer
		}
		return nil, Reason(refusal.Reason)
	}
	v.about.User = workload.Username
	s := &standing{entrance: v.entrance, peer: v.peer, ask: asked, issuer: ground.issuer, workload: workload}
	reason = s.fault()
	return s, reason
}

// refuse answers why the request is not let in, or not answered, and does not wait for long:
// neither for a body that is of no use any more, nor for the answer to be taken. A peer that
// asks too much, and takes no answer either, gets none.
func (v *visit) refuse(reason Reason) {
	v.about.Reason, v.about.Refused = reason, true
	if v.w.hijacked || v.w.code != 0 {
		return
	}
	if reason.limits() {
		if !v.presence.tell() {
			panic(http.ErrAbortHandler)
		}
		defer v.presence.told()
	}
	if v.body == nil {
		// Over HTTP/1.1 the server reads it before it answers, for which there has to be time.
		_ = v.w.control.SetReadDeadline(time.Now().Add(v.entrance.limits.Refuse / 2))
	}
	v.w.patience = min(v.w.patience, v.entrance.limits.Refuse)
	refusalOf(reason).write(v.w, reason)
	// As long as it is counted. What is left to the server is not.
	_ = v.w.FlushError()
}

// begins tells the auditor that the request goes on, for the time being with that code.
func (v *visit) begins(code int) {
	about := v.about
	about.Begins, about.Code, about.Duration = true, code, v.entrance.config.Clock.Since(about.Began)
	v.entrance.config.Auditor.Exchanged(about)
}

// end is deferred, and tells the auditor that the request is over.
func (v *visit) end() {
	v.about.Code = v.w.code
	v.about.Duration = v.entrance.config.Clock.Since(v.about.Began)
	if v.about.Refused {
		v.about.Flood = v.about.Reason.limits() || !v.presence.refusals.AllowN(v.entrance.config.Clock.Now(), 1)
	}
	v.entrance.config.Auditor.Exchanged(v.about)
	// What the server has yet to send is not waited for any longer than the rest was. The
	// next request on the connection begins by taking this back.
	_ = v.w.control.SetWriteDeadline(time.Now().Add(v.w.patience))
	v.w.end()
}
