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
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

// Seconds after which a caller may try again. Clients do that by themselves, whatever it
// was that they asked for: it is only said where nothing was done.
const (
	retrySoon  = 1
	retryLater = 5
)

// fault is why a request got no answer of the peer that can be passed on. It is made of
// constants, and of what the caller, the ClusterPeer and the PeeringCapability are called:
// it may be shown to anybody.
type fault struct {
	code int
	text string
	// retry is in seconds, if that is of use.
	retry int32
}

// Error implements error.
func (f *fault) Error() string { return f.text }

// refuse answers in the words of the fault. All errors are some.
func (o *Outlet) refuse(w http.ResponseWriter, r *http.Request, peer string, err error) {
	var f *fault
	if !errors.As(err, &f) {
		f = &fault{code: http.StatusInternalServerError, text: "the request could not be carried"}
	}
	responsewriters.ErrorNegotiated(f.status(peer), o.serializer, peeringv1alpha1.SchemeGroupVersion, w, r)
}

func (f *fault) status(peer string) *apierrors.StatusError {
	about := peeringv1alpha1.Resource("clusterpeers")
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    int32(f.code),
		Reason:  reasonOf(f.code),
		Message: about.String() + ` "` + peer + `": ` + f.text,
		Details: &metav1.StatusDetails{Group: about.Group, Kind: about.Resource, Name: peer, RetryAfterSeconds: f.retry},
	}}
}

func reasonOf(code int) metav1.StatusReason {
	switch code {
	case http.StatusBadRequest, http.StatusRequestURITooLong, http.StatusRequestHeaderFieldsTooLarge:
		return metav1.StatusReasonBadRequest
	case http.StatusForbidden:
		return metav1.StatusReasonForbidden
	case http.StatusTooManyRequests:
		return metav1.StatusReasonTooManyRequests
	case http.StatusServiceUnavailable:
		return metav1.StatusReasonServiceUnavailable
	default:
		return metav1.StatusReasonInternalError
	}
}
