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

package release

import (
	"context"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/controllers/target"
)

// awayError says that the target gave no answer: there is no use in asking it for more.
type awayError struct {
	// reason is empty if it was not asked, for how it is reached has changed.
	reason target.Reason
}

// Error is made of constants, and may be shown to anybody.
func (e *awayError) Error() string {
	if e.reason == "" {
		return "The cluster did not answer as it should."
	}
	return "The cluster did not answer as it should: " + string(e.reason) + "."
}

// isAway tells whether an error is, or has in it, that the target gave no answer.
func isAway(err error) bool {
	_, is := errors.AsType[*awayError](err)
	return is
}

// absent is what a Release says of a target that gave no answer, or of another cluster that
// answered in its place.
func absent(err error) finding {
	if away, is := errors.AsType[*awayError](err); is {
		return finding{reason: corev1alpha1.ReasonApplyFailed, message: away.Error(), attempted: true}
	}
	return notReady(another)
}

// isFinal tells whether a target has refused to do what it was asked for, and certainly did not
// do it.
func isFinal(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= 400 && code < 500 && code != http.StatusRequestTimeout
}

// objectTo says why a target did not do what it was asked for, in words of a closed set: what
// it says itself may be made of anything (R15, P11). It fails with an *awayError if it said nothing.
func objectTo(ctx context.Context, err error) (string, error) {
	var status apierrors.APIStatus
	switch {
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return "", &awayError{target.FailureOf(err).Reason}
	case meta.IsNoMatchError(err):
		return "the cluster has no such kind", nil
	case !errors.As(err, &status), apierrors.IsUnauthorized(err):
		return "", &awayError{target.FailureOf(err).Reason}
	case apierrors.IsForbidden(err):
		return "the cluster forbids it", nil
	case apierrors.IsNotFound(err):
		return "its namespace or its kind is not there", nil
	case apierrors.IsConflict(err):
		return "others manage fields that the Release sets, or it was changed meanwhile", nil
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return "the cluster takes it for invalid", nil
	case apierrors.IsRequestEntityTooLargeError(err):
		return "it is too large", nil
	case apierrors.IsTooManyRequests(err), apierrors.IsServiceUnavailable(err), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return "the cluster cannot do it now", nil
	case apierrors.IsMethodNotSupported(err):
		return "objects of its kind cannot be applied", nil
	case status.Status().Code == http.StatusUnsupportedMediaType:
		return "the cluster does not know server-side apply", nil
	}
	return "the cluster refused it", nil
}
