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

package ledger

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"k8s.io/apiserver/pkg/storage/value"

	"entente.dev/entente/peering/record"
)

// sealer encrypts what is stored. What was stored under one key reads under no other.
type sealer struct{ transformer value.Transformer }

func (s sealer) seal(ctx context.Context, key string, plain []byte) (string, error) {
	sealed, err := s.transformer.TransformToStorage(ctx, plain, value.DefaultContext(key))
	if err != nil {
		return "", fmt.Errorf("could not encrypt %s: %w", key, err)
	}
	return string(sealed), nil
}

func (s sealer) open(ctx context.Context, key string, sealed []byte) ([]byte, error) {
	plain, _, err := s.transformer.TransformFromStorage(ctx, sealed, value.DefaultContext(key))
	if err != nil {
		return nil, fmt.Errorf("could not decrypt %s: %w", key, err)
	}
	return plain, nil
}

// decode reads a record; nil is none.
func decode[T any](key string, plain []byte) (*T, error) {
	if plain == nil {
		return nil, nil
	}
	into := new(T)
	if err := record.Decode(plain, into); err != nil {
		return nil, fmt.Errorf("could not read %s: %w", key, err)
	}
	return into, nil
}

// decodePeer also holds the record against its key.
func decodePeer(key, uid string, plain []byte) (*record.Peer, error) {
	peer, err := decode[record.Peer](key, plain)
	if err == nil && peer != nil && peer.UID != uid {
		return nil, fmt.Errorf("could not read %s: %w", key, errDamaged)
	}
	return peer, err
}

// decodeGrant also holds the grant against its key.
func decodeGrant(key, id string, plain []byte) (*record.Grant, error) {
	grant, err := decode[record.Grant](key, plain)
	if err == nil && grant != nil && record.GrantID(grant.PeerUID, grant.Capability) != id {
		return nil, fmt.Errorf("could not read %s: %w", key, errDamaged)
	}
	return grant, err
}

// decodeRelease also holds the record against its key.
func decodeRelease(key, uid string, plain []byte) (*record.Release, error) {
	release, err := decode[record.Release](key, plain)
	if err == nil && release != nil && release.UID != uid {
		return nil, fmt.Errorf("could not read %s: %w", key, errDamaged)
	}
	return release, err
}

var errDamaged = errors.New("the ledger contradicts itself")

func encodeEpoch(number uint64) []byte { return strconv.AppendUint(nil, number, 10) }

// decodeEpoch reads the epoch, which is 0 before it first moved.
func decodeEpoch(key string, plain []byte) (uint64, error) {
	if plain == nil {
		return 0, nil
	}
	number, err := strconv.ParseUint(string(plain), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("could not read %s: %w", key, errDamaged)
	}
	return number, nil
}
