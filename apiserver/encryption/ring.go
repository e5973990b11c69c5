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
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/aes"
)

const (
	// ringFormat is the form of an encoded ring that this program writes.
	ringFormat = 1
	// maxRingBytes is the largest encoded ring that is read: some hundred keys.
	maxRingBytes = 64 << 10
	// keyNameBytes is the length of a key's random name before it is spelled out.
	keyNameBytes = 8
	// encryptedPrefix begins every encrypted value, whatever encrypted it; the library
	// reserves it.
	encryptedPrefix = "k8s:enc:"
	// ringPrefix begins what a generated key encrypted. The key's name and a colon
	// follow.
	ringPrefix = encryptedPrefix + "entente:v1:"
)

// errNoRing does not say what it found instead: that may be a key.
var errNoRing = errors.New("it does not hold encryption keys in a form that this program knows")

var keyName = regexp.MustCompile(`^[a-z0-9]{1,32}$`)

// Ring is the generated key material: the first key encrypts, each decrypts what
// it encrypted. The zero value holds no key. It prints redacted.
type Ring struct {
	keys []key
}

type key struct {
	name string
	// seed is what a key of its own is derived from for every value that is written.
	seed []byte
}

// encodedRing is the form in which a ring is kept.
type encodedRing struct {
	Format int          `json:"format"`
	Keys   []encodedKey `json:"keys"`
}

type encodedKey struct {
	Name string `json:"name"`
	Seed []byte `json:"seed"`
}

// NewRing returns a ring with one new key.
func NewRing() (Ring, error) { return Ring{}.WithNewKey() }

// WithNewKey returns the ring with a new key before all others.
func (r Ring) WithNewKey() (Ring, error) {
	seed, err := aes.GenerateKey(aes.MinSeedSizeExtendedNonceGCM)
	if err != nil {
		return Ring{}, fmt.Errorf("could not make an encryption key: %w", err)
	}
	name, err := aes.GenerateKey(keyNameBytes)
	if err != nil {
		return Ring{}, fmt.Errorf("could not make an encryption key: %w", err)
	}
	return Ring{keys: append([]key{{name: hex.EncodeToString(name), seed: seed}}, r.keys...)}, nil
}

// FirstOnly returns the ring without all keys that only decrypt.
func (r Ring) FirstOnly() Ring { return Ring{keys: r.keys[:min(1, len(r.keys))]} }

// Len is the number of keys.
func (r Ring) Len() int { return len(r.keys) }

// Format implements fmt.Formatter: no verb shows a key.
func (r Ring) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "Ring(%d keys)", len(r.keys)) }

// Encode returns the form in which a ring is kept. It holds the keys.
func (r Ring) Encode() ([]byte, error) {
	encoded := encodedRing{Format: ringFormat, Keys: []encodedKey{}}
	for _, k := range r.keys {
		encoded.Keys = append(encoded.Keys, encodedKey{Name: k.name, Seed: k.seed})
	}
	data, err := json.MarshalIndent(encoded, "", "  ")
	if err != nil {
		return nil, errors.New("could not encode the encryption keys")
	}
	return append(data, '\n'), nil
}

// DecodeRing reads what Encode returned. Errors never quote data.
func DecodeRing(data []byte) (Ring, error) {
	if len(data) > maxRingBytes {
		return Ring{}, errNoRing
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var encoded encodedRing
	if err := decoder.Decode(&encoded); err != nil || decoder.More() {
		return Ring{}, errNoRing
	}
	if encoded.Format > ringFormat {
		return Ring{}, fmt.Errorf("its encryption keys have format %d, written by a newer version of Entente", encoded.Format)
	}
	if encoded.Format != ringFormat || len(encoded.Keys) == 0 {
		return Ring{}, errNoRing
	}
	var ring Ring
	names := sets.New[string]()
	for _, k := range encoded.Keys {
		if !keyName.MatchString(k.Name) || names.Has(k.Name) || len(k.Seed) != aes.MinSeedSizeExtendedNonceGCM {
			return Ring{}, errNoRing
		}
		names.Insert(k.Name)
		ring.keys = append(ring.keys, key{name: k.Name, seed: k.Seed})
	}
	return ring, nil
}

// transformer encrypts with the first key and decrypts with all. A value is bound
// to where it is stored, so that one cannot be put in the place of another. The ring
// must have a key.
func (r Ring) transformer() (value.Transformer, error) {
	var keys []value.PrefixTransformer
	for _, k := range r.keys {
		gcm, err := aes.NewHKDFExtendedNonceGCMTransformer(k.seed)
		if err != nil {
			return nil, errors.New("could not use an encryption key")
		}
		keys = append(keys, value.PrefixTransformer{Prefix: []byte(k.name + ":"), Transformer: gcm})
	}
	return value.NewPrefixTransformers(nil, value.PrefixTransformer{
		Prefix:      []byte(ringPrefix),
		Transformer: value.NewPrefixTransformers(errors.New("it was encrypted with a generated key that is not there"), keys...),
	}), nil
}
