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

package encryption

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"entente.dev/entente/apiserver/secrets"
)

const (
	// SecretName is the Secret of the generated keys in the namespace of the server.
	// The manifests create it, empty, so that the server needs no right to create
	// Secrets: get and update on this name are enough.
	SecretName = "entente-encryption-key"
	// secretKey is the entry of the Secret that holds the keys.
	secretKey = "encryption.json"
)

type secretStore struct {
	client    secrets.Client
	namespace string
	name      string
}

// NewSecretStore keeps the keys in a Secret that exists already. Of several servers
// that start at once the first one's keys are kept, by its resourceVersion.
func NewSecretStore(client secrets.Client, namespace, name string) KeyStore {
	return &secretStore{client: secrets.Guard(client), namespace: namespace, name: name}
}

func (s *secretStore) Location() string { return "the Secret " + s.namespace + "/" + s.name }

func (s *secretStore) Load(ctx context.Context) (Stored, error) {
	_, stored, err := s.get(ctx)
	return stored, err
}

// Create writes on what it just read, so that a conflict says that somebody else
// wrote; then it looks whether that was a key.
func (s *secretStore) Create(ctx context.Context, ring Ring) (Stored, error) {
	for {
		secret, stored, err := s.get(ctx)
		if err != nil || stored.Ring.Len() > 0 {
			return stored, err
		}
		stored, err = s.put(ctx, secret, ring)
		if errors.Is(err, ErrConflict) && ctx.Err() == nil {
			continue
		}
		return stored, err
	}
}

func (s *secretStore) Update(ctx context.Context, loaded Stored, ring Ring) (Stored, error) {
	secret, now, err := s.get(ctx)
	if err != nil {
		return Stored{}, err
	}
	if now.version != loaded.version {
		return Stored{}, ErrConflict
	}
	return s.put(ctx, secret, ring)
}

func (s *secretStore) get(ctx context.Context) (*corev1.Secret, Stored, error) {
	secret, err := s.client.Get(ctx, s.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, Stored{}, fmt.Errorf("could not read the encryption keys: %s is missing; create it empty, as Entente's manifests do (if it held keys once, restore it: without them the stored data cannot be read): %w", s.Location(), err)
	}
	if err != nil {
		return nil, Stored{}, fmt.Errorf("could not read the encryption keys in %s: %w", s.Location(), err)
	}
	stored := Stored{version: secret.ResourceVersion}
	if data := secret.Data[secretKey]; len(data) > 0 {
		if stored.Ring, err = DecodeRing(data); err != nil {
			return nil, Stored{}, fmt.Errorf("could not read the encryption keys in %s: %w", s.Location(), err)
		}
	}
	return secret, stored, nil
}

func (s *secretStore) put(ctx context.Context, secret *corev1.Secret, ring Ring) (Stored, error) {
	data, err := ring.Encode()
	if err != nil {
		return Stored{}, err
	}
	secret = secret.DeepCopy()
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	secret.Data[secretKey] = data
	updated, err := s.client.Update(ctx, secret, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) {
		return Stored{}, ErrConflict
	}
	if err != nil {
		return Stored{}, fmt.Errorf("could not keep the encryption keys in %s: %w", s.Location(), err)
	}
	return Stored{Ring: ring, version: updated.ResourceVersion}, nil
}
