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

package target

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"entente.dev/entente/peering/client"
)

// Reason says why a cluster gave no answer that can be used. It may be shown to anybody.
type Reason string

// Reasons of a Failure.
const (
	ReasonResolve       Reason = "its name could not be resolved"
	ReasonAddress       Reason = "its address is one where no other cluster may be"
	ReasonRefused       Reason = "it refused the connection"
	ReasonConnect       Reason = "no connection, or it broke"
	ReasonTimeout       Reason = "no answer in time"
	ReasonTLS           Reason = "no TLS, or it was ended by the other side"
	ReasonUntrusted     Reason = "its certificate is not one of an authority that is trusted"
	ReasonExpired       Reason = "its certificate is not valid now"
	ReasonWrongHost     Reason = "its certificate is one for another host name"
	ReasonUnauthorized  Reason = "it does not accept the credentials (401)"
	ReasonForbidden     Reason = "it does not permit this to whom the credentials are of (403)"
	ReasonRedirected    Reason = "it redirects elsewhere, which is not followed"
	ReasonUnavailable   Reason = "it cannot answer now (429 or 5xx)"
	ReasonStatus        Reason = "it answered with a status that is neither success nor a known failure"
	ReasonNotKubernetes Reason = "its answer is not one of a Kubernetes API"
	ReasonTooLarge      Reason = "its answer is too large"
	ReasonClosed        Reason = "the client is closed"
)

// Failure is that a cluster gave no answer that can be used. It is made of constants, with
// nothing of the answer or of the access: it may be shown to anybody.
type Failure struct{ Reason Reason }

// Error is made of constants.
func (f *Failure) Error() string { return "the cluster: " + string(f.Reason) }

// FailureOf says by an error of a call by Objects or Mapper what became of it, if that is a
// matter of the cluster as a whole. What the error says is dropped: it quotes addresses,
// names, certificates and the answer. Of what the API itself answered, only 401, 403, 429
// and 5xx are told apart.
func FailureOf(err error) *Failure {
	var failure *Failure
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &failure):
		return failure
	case errors.As(err, &status):
		return &Failure{reasonOfStatus(int(status.Status().Code))}
	default:
		return &Failure{reasonOf(err)}
	}
}

// reasonOfStatus is of any status but 200.
func reasonOfStatus(code int) Reason {
	switch {
	case code == http.StatusUnauthorized:
		return ReasonUnauthorized
	case code == http.StatusForbidden:
		return ReasonForbidden
	case code == http.StatusTooManyRequests, code >= 500:
		return ReasonUnavailable
	case code >= 300 && code < 400:
		return ReasonRedirected
	default:
		return ReasonStatus
	}
}

// remoteError is what crypto/tls calls an alert of the other side.
const remoteError = "remote error"

// reasonOf is of a call that ended without an answer.
func reasonOf(err error) Reason {
	var dns *net.DNSError
	var operation *net.OpError
	var record tls.RecordHeaderError
	var timeout net.Error
	switch {
	case errors.Is(err, errClosed):
		return ReasonClosed
	case errors.Is(err, errTooLarge):
		return ReasonTooLarge
	case errors.Is(err, client.ErrAddress):
		return ReasonAddress
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return ReasonTimeout
	case errors.As(err, &dns):
		return ReasonResolve
	case errors.Is(err, syscall.ECONNREFUSED):
		return ReasonRefused
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &operation) && operation.Op == remoteError:
		return ReasonTLS
	default:
		return reasonOfCertificate(err)
	}
}

func reasonOfCertificate(err error) Reason {
	var verification *tls.CertificateVerificationError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case !errors.As(err, &verification):
		return ReasonConnect
	case errors.As(err, &host):
		return ReasonWrongHost
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return ReasonExpired
	default:
		return ReasonUntrusted
	}
}
