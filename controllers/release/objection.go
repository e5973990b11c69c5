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
)

// errAway says that the target gave no answer: there is no use in asking it for more.
var errAway = errors.New("the cluster did not answer")

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
// it says itself may be made of anything (R15, P11). It fails with errAway if it said nothing.
func objectTo(ctx context.Context, err error) (string, error) {
	var status apierrors.APIStatus
	switch {
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return "", errAway
	case meta.IsNoMatchError(err):
		return "the cluster has no such kind", nil
	case !errors.As(err, &status):
		return "", errAway
	case apierrors.IsUnauthorized(err):
		return "", errAway
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
