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

package epoch

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"entente.dev/entente/apiserver/secrets"
	"entente.dev/entente/registry/ledger"
)

const (
	// SecretName is the Secret with the epoch in the namespace of the server. The
	// manifests create it, empty, so that the server needs no right to create Secrets:
	// get and update on this name are enough.
	SecretName = "entente-epoch"
	// secretKey is its entry.
	secretKey = "epoch"
)

type secret struct {
	client    secrets.Client
	namespace string
}

// NewSecret keeps the epoch in a Secret that exists already. Several servers may use it.
func NewSecret(client secrets.Client, namespace string) ledger.EpochStore {
	return &secret{client: secrets.Guard(client), namespace: namespace}
}

func (s *secret) Location() string { return "the Secret " + s.namespace + "/" + SecretName }

func (s *secret) Load(ctx context.Context) (uint64, error) {
	_, number, err := s.get(ctx)
	return number, err
}

func (s *secret) Raise(ctx context.Context, to uint64) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		found, number, err := s.get(ctx)
		if err != nil || number >= to {
			return err
		}
		if found.Data == nil {
			found.Data = map[string][]byte{}
		}
		found.Data[secretKey] = encode(to)
		_, err = s.client.Update(ctx, found, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("could not write %s: %w", s.Location(), err)
	}
	return nil
}

// get returns a copy that may be changed.
func (s *secret) get(ctx context.Context) (*corev1.Secret, uint64, error) {
	found, err := s.client.Get(ctx, SecretName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, 0, fmt.Errorf("could not read %s: it is missing; create it empty, as Entente's manifests do (if it was deleted, a restored store is no longer told from one that was not): %w", s.Location(), err)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("could not read %s: %w", s.Location(), err)
	}
	number, err := decode(found.Data[secretKey])
	if err != nil {
		return nil, 0, fmt.Errorf("could not read %s: %w", s.Location(), err)
	}
	return found.DeepCopy(), number, nil
}
