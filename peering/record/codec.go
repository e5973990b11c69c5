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

package record

import (
	"encoding/json"
	"errors"
	"fmt"
)

// secretive is a record with private keys. They stand in the encoded record beside it,
// in the order of secrets: so no encoder of the record itself can write them.
type secretive interface{ secrets() []*Secret }

func (p *Peer) secrets() []*Secret {
	var all []*Secret
	if p.Join != nil {
		all = append(all, &p.Join.Key)
	}
	if p.Remote != nil {
		all = append(all, &p.Remote.Ours.Key)
		if p.Remote.Next != nil {
			all = append(all, &p.Remote.Next.Key)
		}
		for _, data := range []*Credential{p.Remote.Data, p.Remote.DataNext} {
			if data != nil {
				all = append(all, &data.Key)
			}
		}
	}
	return all
}

func (a *Authority) secrets() []*Secret {
	all := []*Secret{&a.Current.Key}
	if a.Next != nil {
		all = append(all, &a.Next.Key)
	}
	for i := range a.Previous {
		all = append(all, &a.Previous[i].Key)
	}
	return all
}

func (k *GrantKey) secrets() []*Secret { return []*Secret{&k.Key} }

type document struct {
	Record  json.RawMessage `json:"record"`
	Secrets [][]byte        `json:"secrets,omitempty"`
}

// Encode writes a record with its private keys: *Peer, *Authority, *Identity,
// *Tombstone, *Grant, *GrantKey or *Release. What it returns is to be encrypted.
func Encode(record any) ([]byte, error) {
	data, err := json.Marshal(record)
	if err != nil {
		return nil, fmt.Errorf("could not encode a record: %w", err)
	}
	doc := document{Record: data}
	if s, ok := record.(secretive); ok {
		for _, secret := range s.secrets() {
			doc.Secrets = append(doc.Secrets, secret.Reveal())
		}
	}
	if data, err = json.Marshal(doc); err != nil {
		return nil, fmt.Errorf("could not encode a record: %w", err)
	}
	return data, nil
}

// Decode reads what Encode wrote into a pointer to a record. Its errors quote nothing.
func Decode(data []byte, into any) error {
	var doc document
	if json.Unmarshal(data, &doc) != nil || json.Unmarshal(doc.Record, into) != nil {
		return errors.New("could not decode a record: it is not what was written")
	}
	s, ok := into.(secretive)
	if !ok {
		return nil
	}
	secrets := s.secrets()
	if len(secrets) != len(doc.Secrets) {
		return errors.New("could not decode a record: it is not what was written")
	}
	for i, secret := range secrets {
		*secret = NewSecret(doc.Secrets[i])
	}
	return nil
}

// clone returns a copy that shares nothing with the original.
func clone[T any](original *T) (*T, error) {
	data, err := Encode(original)
	if err != nil {
		return nil, err
	}
	copied := new(T)
	if err := Decode(data, copied); err != nil {
		return nil, err
	}
	return copied, nil
}

// Clone returns a copy that shares nothing with the original.
func (p *Peer) Clone() (*Peer, error) { return clone(p) }

// Clone returns a copy that shares nothing with the original.
func (a *Authority) Clone() (*Authority, error) { return clone(a) }
