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

package connstring

import (
	"fmt"
	"io"
)

// omitted stands where the secret is left out, as it does in the API.
const omitted = "<omitted>"

// Of a connection string only the ID is printed. The rest of it helps nobody
// who reads a log, and comes from whoever wrote the string.

// String returns the token ID and no more.
func (c ConnectionString) String() string {
	if !isTokenID(c.TokenID) {
		// Whatever stands there, it was not checked: it could be anything.
		return "connection string " + omitted
	}
	return "connection string " + c.TokenID + " " + omitted
}

// GoString returns what String does.
func (c ConnectionString) GoString() string { return c.String() }

// Format writes what String does, whatever the verb: without it, %x or %d would
// print the fields.
func (c ConnectionString) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, c.String()) }

// MarshalLog returns what String does, for structured logs.
func (c ConnectionString) MarshalLog() any { return c.String() }

// MarshalJSON always fails with ErrNotPrinted.
func (c ConnectionString) MarshalJSON() ([]byte, error) { return nil, ErrNotPrinted }

// MarshalText always fails with ErrNotPrinted.
func (c ConnectionString) MarshalText() ([]byte, error) { return nil, ErrNotPrinted }

// String returns `<omitted>`.
func (t Token) String() string { return omitted }

// GoString returns `<omitted>`.
func (t Token) GoString() string { return omitted }

// Format writes `<omitted>`, whatever the verb.
func (t Token) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, omitted) }

// MarshalLog returns `<omitted>`, for structured logs.
func (t Token) MarshalLog() any { return omitted }

// MarshalJSON always fails with ErrNotPrinted.
func (t Token) MarshalJSON() ([]byte, error) { return nil, ErrNotPrinted }

// MarshalText always fails with ErrNotPrinted.
func (t Token) MarshalText() ([]byte, error) { return nil, ErrNotPrinted }
