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

package secrets

import (
	"context"
	"errors"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
)

const canary = "canary-of-the-secret-5d1f"

// failing is a client that logs what it is given and fails.
type failing struct{ err error }

func (f failing) Get(ctx context.Context, _ string, _ metav1.GetOptions) (*corev1.Secret, error) {
	_, limited := ctx.Deadline()
	if !limited {
		return nil, errors.New("no limit")
	}
	klog.FromContext(ctx).Error(nil, canary)
	return nil, f.err
}

func (f failing) Update(ctx context.Context, _ *corev1.Secret, _ metav1.UpdateOptions) (*corev1.Secret, error) {
	return f.Get(ctx, "", metav1.GetOptions{})
}

// R15: errors about a Secret quote nothing of it, and tell what can be done.
func TestR15GuardedErrors(t *testing.T) {
	resource := schema.GroupResource{Resource: "secrets"}
	tests := []struct {
		name  string
		err   error
		says  string
		check func(error) bool
	}{
		{"refused by a webhook", apierrors.NewForbidden(resource, "s", errors.New(canary)), "forbidden", apierrors.IsForbidden},
		{"missing", apierrors.NewNotFound(resource, "s"), "404", apierrors.IsNotFound},
		{"overtaken", apierrors.NewConflict(resource, "s", errors.New(canary)), "409", apierrors.IsConflict},
		{"not understood", errors.New("could not decode " + canary), "not understood", nil},
		{"away", &url.Error{Op: "Get", URL: "https://host", Err: errors.New("connection refused")}, "connection refused", nil},
		{"in time", context.DeadlineExceeded, "deadline", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			client := Guard(failing{test.err})
			_, getErr := client.Get(t.Context(), "s", metav1.GetOptions{})
			_, updateErr := client.Update(t.Context(), &corev1.Secret{}, metav1.UpdateOptions{})
			for _, err := range []error{getErr, updateErr} {
				require.ErrorContains(t, err, test.says)
				assert.NotContains(t, err.Error(), canary)
				assert.True(t, test.check == nil || test.check(err))
			}
		})
	}
	_, err := Guard(failing{}).Get(t.Context(), "s", metav1.GetOptions{})
	require.NoError(t, err)
}
