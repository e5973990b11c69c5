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
	"fmt"
	"io"
)

// Secret holds bytes that are never printed: not by fmt, a logger or an encoder. Only
// Reveal hands them out, and only Encode writes them. The zero Secret is none.
type Secret struct {
	// Behind a function: fmt follows pointers in unexported fields without asking
	// whether what they lead to wants to be printed.
	reveal func() []byte
}

// NewSecret keeps a copy of the content.
func NewSecret(content []byte) Secret {
	if len(content) == 0 {
		return Secret{}
	}
	kept := append([]byte(nil), content...)
	return Secret{reveal: func() []byte { return kept }}
}

// Reveal returns the bytes, not to be changed; nil if there are none.
func (s Secret) Reveal() []byte {
	if s.reveal == nil {
		return nil
	}
	return s.reveal()
}

// IsZero tells whether there is none.
func (s Secret) IsZero() bool { return s.reveal == nil }

// Format writes `<omitted>`, whatever the verb.
func (s Secret) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, "<omitted>") }

// MarshalLog returns `<omitted>`, for structured logs.
func (s Secret) MarshalLog() any { return "<omitted>" }

// MarshalText writes `<omitted>`, for encoders that ask.
func (s Secret) MarshalText() ([]byte, error) { return []byte("<omitted>"), nil }
