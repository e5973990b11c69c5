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
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"

	"entente.dev/entente/peering/protocol"
)

// Kind says what to make of a Failure.
type Kind string

// Kinds of Failure.
const (
	// Unreachable: there was no answer.
	Unreachable Kind = "Unreachable"
	// Untrusted: whoever answered is not known by the pins or the trust bundle, or not
	// under the host that was dialled, or its certificate is not valid now.
	Untrusted Kind = "Untrusted"
	// Refused: the other cluster will not, for Reason.
	Refused Kind = "Refused"
	// Gone: the peering is over.
	Gone Kind = "Gone"
	// Busy: the other cluster cannot now, but may later.
	Busy Kind = "Busy"
	// Invalid: the answer breaks the rules of the protocol.
	Invalid Kind = "Invalid"
)

// Detail says at what point an Unreachable peer was lost.
type Detail string

// Details of an Unreachable Failure.
const (
	DetailResolve Detail = "its name could not be resolved"
	DetailAddress Detail = "its address is one where no other cluster may be"
	DetailConnect Detail = "no connection, or it broke"
	DetailTLS     Detail = "no TLS, or it was ended by the other side"
	DetailTimeout Detail = "no answer in time"
)

// Failure is why a call brought no answer that can be used. It is made of constants: it
// may be shown to anybody.
type Failure struct {
	Kind Kind
	// Reason is set if Kind is Refused.
	Reason protocol.FailureReason
	// Detail is set if Kind is Unreachable.
	Detail Detail
	// Fault is what was wrong with the answer, if Kind is Invalid. It is empty if it was
	// not the message that was wrong but how it came: a redirection, an encoding, another
	// type of content, a status that says nothing.
	Fault protocol.Fault
}

// Error is made of constants.
func (f *Failure) Error() string {
	text := "the other cluster's gateway: " + string(f.Kind)
	for _, more := range []string{string(f.Reason), string(f.Detail), string(f.Fault)} {
		if more != "" {
			text += ": " + more
		}
	}
	return text
}

// errUntrusted ends a handshake with somebody who is not the one that is expected.
var errUntrusted = errors.New("not the gateway that is expected")

// failureOf says what became of a call that ended without an answer. What the error says
// is dropped: it quotes addresses, names and certificates.
func failureOf(err error) *Failure {
	var dns *net.DNSError
	var operation *net.OpError
	var record tls.RecordHeaderError
	var timeout net.Error
	detail := DetailConnect
	switch {
	case errors.Is(err, errUntrusted):
		return &Failure{Kind: Untrusted}
	case errors.Is(err, ErrAddress):
		detail = DetailAddress
	case errors.As(err, &dns):
		detail = DetailResolve
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		detail = DetailTimeout
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &operation) && operation.Op == remoteError:
		detail = DetailTLS
	}
	return &Failure{Kind: Unreachable, Detail: detail}
}

// remoteError is what crypto/tls calls an alert of the other side.
const remoteError = "remote error"
