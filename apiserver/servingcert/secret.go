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
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// readSecret asks the API, not a cache: what is published from it must not be old.
func (m *Manager) readSecret(ctx context.Context) (*corev1.Secret, error) {
	secret, err := m.secrets.Get(ctx, m.options.SecretName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%s does not exist and is not made here: apply artifacts/deploy/secret.yaml, which ships it empty", m.secretName())
	}
	if err != nil {
		return nil, fmt.Errorf("could not get %s: %w", m.secretName(), err)
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
	if _, err := m.secrets.Update(ctx, secret, metav1.UpdateOptions{FieldManager: fieldManager}); err != nil {
		return false, fmt.Errorf("could not update %s: %w", m.secretName(), err)
	}
	return true, nil
}

func (m *Manager) secretName() string {
	return "Secret " + m.options.Namespace + "/" + m.options.SecretName
}
