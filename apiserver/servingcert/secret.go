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

package servingcert

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// Secrets reads and changes the Secrets of our namespace. It is a part of the
// client's SecretInterface.
type Secrets interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Secret, error)
	Update(ctx context.Context, secret *corev1.Secret, options metav1.UpdateOptions) (*corev1.Secret, error)
}

// readSecret asks the API, not a cache: what is published from it must not be old.
func (m *Manager) readSecret(ctx context.Context) (*corev1.Secret, error) {
	secret, err := m.secrets.Get(unlogged(ctx), m.options.SecretName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%s does not exist and is not made here: apply artifacts/deploy/secret.yaml, which ships it empty", m.secretName())
	}
	if err != nil {
		return nil, fmt.Errorf("could not get %s: %w", m.secretName(), withoutBody(err))
	}
	return secret, nil
}

// writeSecret puts the content into the Secret on condition that nobody changed it
// since it was read. It does nothing, and returns false, if the content is there.
func (m *Manager) writeSecret(ctx context.Context, read *corev1.Secret, c content) (bool, error) {
	secret := read.DeepCopy()
	if err := c.encode(secret); err != nil {
		return false, err
	}
	if maps.EqualFunc(secret.Data, read.Data, slices.Equal) {
		return false, nil
	}
	if _, err := m.secrets.Update(unlogged(ctx), secret, metav1.UpdateOptions{FieldManager: fieldManager}); err != nil {
		return false, fmt.Errorf("could not update %s: %w", m.secretName(), withoutBody(err))
	}
	return true, nil
}

func (m *Manager) secretName() string {
	return "Secret " + m.options.Namespace + "/" + m.options.SecretName
}

// unlogged has the client log nothing: at high verbosity it logs bodies.
func unlogged(ctx context.Context) context.Context { return klog.NewContext(ctx, logr.Discard()) }

// withoutBody returns an error that tells why the API did not do what was asked,
// without text that may have been made of the Secret: by an admission webhook, or
// by the client of an answer that it did not understand. Whether it was a conflict
// can be told still.
func withoutBody(err error) error {
	var status apierrors.APIStatus
	var network *url.Error
	switch {
	case apierrors.IsForbidden(err):
		return errors.New("it is forbidden (get and update by resourceNames are needed)")
	case errors.As(err, &status):
		reason, code := status.Status().Reason, status.Status().Code
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Reason: reason, Code: code, Message: fmt.Sprintf("the API answered %d %s", code, reason),
		}}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.As(err, &network):
		return err
	}
	return errors.New("the answer of the API was not understood")
}
