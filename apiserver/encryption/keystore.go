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
)

// ErrConflict says that somebody else changed the keys in the meantime.
var ErrConflict = errors.New("the encryption keys were changed by somebody else")

// KeyStore keeps the generated keys, apart from the data that they encrypt. There
// may be several writers at once.
type KeyStore interface {
	// Location says where the keys are, for people: "the file PATH".
	Location() string
	// Load returns the keys, with an empty ring if there are none yet.
	Load(ctx context.Context) (Stored, error)
	// Create keeps the first ring. If another was faster, it returns theirs and keeps
	// nothing. What it returns survives a crash.
	Create(ctx context.Context, ring Ring) (Stored, error)
	// Update replaces what was loaded, or fails with ErrConflict if that is no longer
	// what is kept. What it returns survives a crash.
	Update(ctx context.Context, loaded Stored, ring Ring) (Stored, error)
}

// Stored is what a KeyStore keeps.
type Stored struct {
	Ring Ring
	// version tells the KeyStore whether it changed since.
	version string
}
