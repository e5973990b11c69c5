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
	"encoding/json"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"entente.dev/entente/controllers/workloadtoken"
)

// Reason is why something is not let through, or has ended. There are no others than these,
// and those of workloadtoken.
type Reason string

// All reasons of this package.
const (
	// NotPeer: the request does not come through the gateway.
	NotPeer Reason = "NotPeer"
	// TooManyRequests: the peer asks too often.
	TooManyRequests Reason = "TooManyRequests"
	// TooManyStreams: too much that the peer asked for is under way.
	TooManyStreams Reason = "TooManyStreams"
	// InvalidPath: it is not CAPABILITY/PATH, or no path of an API in its shortest form.
	InvalidPath Reason = "InvalidPath"
	// InvalidQuery: the query cannot be read, or not as options of a list.
	InvalidQuery Reason = "InvalidQuery"
	// InvalidMethod: no API has that method.
	InvalidMethod Reason = "InvalidMethod"
	// InvalidUpgrade: it wants to become something else than a WebSocket.
	InvalidUpgrade Reason = "InvalidUpgrade"
	// InvalidBody: there is a body where none can be.
	InvalidBody Reason = "InvalidBody"
	// NoToken: there is no bearer token, or more than one.
	NoToken Reason = "NoToken"
	// Unavailable: this replica cannot tell now (S3).
	Unavailable Reason = "Unavailable"
	// NotInEffect: the capability is not in effect with the peer.
	NotInEffect Reason = "CapabilityNotInEffect"
	// AwaitingIssuer: the peer has not published an issuer of tokens that can be used.
	AwaitingIssuer Reason = "AwaitingIssuer"
	// SharedKey: a key of the peer's issuer is ours, or another peer's.
	SharedKey Reason = "SharedIssuerKey"
	// NotConsumer: the capability is not for that ServiceAccount.
	NotConsumer Reason = "NotConsumer"
	// NotInRules: no rule of the capability is for that request.
	NotInRules Reason = "NotInRules"
	// NotGranted: the peer has not been granted the capability there.
	NotGranted Reason = "NotGranted"
	// IssuerChanged: the peer has published another issuer, or other keys, meanwhile.
	IssuerChanged Reason = "IssuerChanged"
	// BodyTooLarge and BodyTooSlow: the body is not waited for.
	BodyTooLarge Reason = "BodyTooLarge"
	BodyTooSlow  Reason = "BodyTooSlow"
	// HostUnreachable: the API does not answer.
	HostUnreachable Reason = "HostUnreachable"
	// InvalidAnswer: what answers is not an API.
	InvalidAnswer Reason = "InvalidAnswer"
)

// limits tells whether it is that the peer asks too much. There may be very many of those.
func (r Reason) limits() bool { return r == TooManyRequests || r == TooManyStreams }

// refusal is how a reason is told.
type refusal struct {
	code    int
	reason  metav1.StatusReason
	message string
}

// refusalOf returns how a reason is told to the workload, which is one of a peer and may
// know what is missing. None of it is what the request said.
func refusalOf(reason Reason) refusal {
	switch reason {
	case NotPeer:
		return refusal{http.StatusForbidden, metav1.StatusReasonForbidden, "this is for the workloads of other clusters"}
	case TooManyRequests:
		return refusal{http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "the other cluster asks too often"}
	case TooManyStreams:
		return refusal{http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "too many requests of the other cluster are under way"}
	case InvalidPath:
		return refusal{http.StatusBadRequest, metav1.StatusReasonBadRequest, "the path is not that of a capability and, after it, of an API in its shortest form"}
	case InvalidQuery:
		return refusal{http.StatusBadRequest, metav1.StatusReasonBadRequest, "the query cannot be read"}
	case InvalidMethod:
		return refusal{http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "no API has that method"}
	case InvalidUpgrade:
		return refusal{http.StatusBadRequest, metav1.StatusReasonBadRequest, "a connection can become a WebSocket, by GET over HTTP/1.1, and nothing else"}
	case InvalidBody:
		return refusal{http.StatusBadRequest, metav1.StatusReasonBadRequest, "a request to read has no body"}
	case NoToken:
		return refusal{http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "it takes one bearer token of a ServiceAccount"}
	case Unavailable:
		return refusal{http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "this replica cannot tell what the other cluster may do"}
	case NotInEffect:
		return refusal{http.StatusForbidden, metav1.StatusReasonForbidden, "the capability is not in effect between the two clusters"}
	case AwaitingIssuer:
		return refusal{http.StatusForbidden, metav1.StatusReasonForbidden, "the other cluster has published no issuer of ServiceAccount tokens that can be used"}
	case SharedKey:
		return refusal{http.StatusForbidden, metav1.StatusReasonForbidden, "the issuer of ServiceAccount tokens has a key that is another cluster's too"}
	case NotConsumer:
		return refusal{http.StatusForbidden, metav1.StatusReasonForbidden, "the capability is not for that ServiceAccount"}
	case NotInRules:
		return refusal{http.StatusForbidden, metav1.StatusReasonForbidden, "no rule of the capability allows that request"}
	case NotGranted:
		return refusal{http.StatusForbidden, metav1.StatusReasonForbidden, "the capability has not been granted there"}
	case IssuerChanged:
		return refusal{http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "the issuer of ServiceAccount tokens has changed"}
	case BodyTooLarge:
		return refusal{http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge, "the body is longer than 3 MiB"}
	case BodyTooSlow:
		return refusal{http.StatusRequestTimeout, metav1.StatusReasonTimeout, "the body takes too long"}
	case HostUnreachable:
		return refusal{http.StatusBadGateway, metav1.StatusReasonUnknown, "the API does not answer"}
	case InvalidAnswer:
		return refusal{http.StatusBadGateway, metav1.StatusReasonUnknown, "the answer is not one of an API"}
	case Reason(workloadtoken.TooManyFailures):
		return refusal{http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "too many tokens of the other cluster were not to be taken"}
	case Reason(workloadtoken.WrongAudience):
		return refusal{http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "the token is not for this cluster and capability alone"}
	case Reason(workloadtoken.TooLong):
		return refusal{http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "the token is valid for more than an hour"}
	case Reason(workloadtoken.Expired), Reason(workloadtoken.NotYetValid):
		return refusal{http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "the token is not valid at this time"}
	case Reason(workloadtoken.WrongIssuer), Reason(workloadtoken.BadSignature):
		return refusal{http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "the token is not by the issuer of the other cluster"}
	case Reason(workloadtoken.NotServiceAccount):
		return refusal{http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "the token is not of a ServiceAccount"}
	default:
		return refusal{http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "the token cannot be read"}
	}
}

// retryAfter is when a peer may ask again that asked too often, in seconds.
const retryAfter = 1

// write answers with a Status.
func (r refusal) write(w http.ResponseWriter, reason Reason) {
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(r.code), Reason: r.reason, Message: r.message,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: metav1.CauseType(reason), Message: r.message}}},
	}
	header := w.Header()
	if r.code == http.StatusTooManyRequests {
		status.Details.RetryAfterSeconds = retryAfter
		header.Set("Retry-After", strconv.Itoa(retryAfter))
	}
	body, err := json.Marshal(status)
	if err != nil {
		body = nil // there is nothing in it that cannot be encoded
	}
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(r.code)
	_, _ = w.Write(body)
}
