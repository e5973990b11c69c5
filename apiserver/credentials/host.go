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

package credentials

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"entente.dev/entente/apiserver/secrets"
	"entente.dev/entente/controllers/targets"
)

// Host reads from the host cluster. It needs the verb get, in each namespace that has
// Clusters, and no other.
type Host struct {
	client corev1client.CoreV1Interface
}

var _ targets.Credentials = &Host{}

// NewHost returns what reads with a client.
func NewHost(client corev1client.CoreV1Interface) *Host { return &Host{client} }

// Secret implements targets.Credentials.
func (h *Host) Secret(ctx context.Context, namespace, name, key string) ([]byte, error) {
	secret, err := secrets.Guard(h.client.Secrets(namespace)).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, reason(ctx, err)
	}
	value, found := secret.Data[key]
	if !found {
		return nil, targets.ErrNoKey
	}
	return value, nil
}

// ConfigMap implements targets.Credentials.
func (h *Host) ConfigMap(ctx context.Context, namespace, name, key string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, secrets.Timeout)
	defer cancel()
	configMap, err := h.client.ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, reason(ctx, err)
	}
	if value, found := configMap.Data[key]; found {
		return []byte(value), nil
	}
	if value, found := configMap.BinaryData[key]; found {
		return value, nil
	}
	return nil, targets.ErrNoKey
}

// errAway is all that a Cluster is to show of what is wrong with the host cluster.
var errAway = errors.New("the host cluster did not answer as it should")

func reason(ctx context.Context, err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return targets.ErrAbsent
	case apierrors.IsForbidden(err):
		return targets.ErrForbidden
	case ctx.Err() != nil:
		return fmt.Errorf("%w in time", errAway)
	}
	return errAway
}
