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
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"io"
)

const (
	tokenSize   = 32
	tokenIDSize = 8
)

// Token is the secret of a connection string: 32 random bytes. It prints as
// `<omitted>` in every way; only Reveal hands the bytes out. The zero Token is
// no token.
type Token struct {
	// Behind a function, nil for no token: if a Token is in a private field of a
	// struct, fmt cannot call our methods, and prints the address of a function
	// where it would follow a pointer. It also makes == a compile error: see Equal.
	secret func() *[tokenSize]byte
}

// NewToken makes a token of bytes from random, which outside tests is
// crypto/rand.Reader. It fails if random does.
func NewToken(random io.Reader) (Token, error) {
	secret := new([tokenSize]byte)
	if _, err := io.ReadFull(random, secret[:]); err != nil {
		return Token{}, fmt.Errorf("could not read random bytes for a token: %w", err)
	}
	return newToken(secret), nil
}

// NewTokenID makes the ID of a token, 16 lower-case hexadecimal digits, from
// random, which outside tests is crypto/rand.Reader. It fails if random does.
// The ID tells nothing about the token.
func NewTokenID(random io.Reader) (string, error) {
	var id [tokenIDSize]byte
	if _, err := io.ReadFull(random, id[:]); err != nil {
		return "", fmt.Errorf("could not read random bytes for a token ID: %w", err)
	}
	return hex.EncodeToString(id[:]), nil
}

// Reveal returns a copy of the 32 bytes; nil if there is no token.
func (t Token) Reveal() []byte {
	if t.secret == nil {
		return nil
	}
	return append([]byte(nil), t.secret()[:]...)
}

// Equal tells whether both are the same token, in a time that does not depend on
// where they differ. No token equals none, not even another zero Token.
func (t Token) Equal(other Token) bool {
	if t.secret == nil || other.secret == nil {
		return false
	}
	return subtle.ConstantTimeCompare(t.secret()[:], other.secret()[:]) == 1
}

// tokenFrom takes the bytes of a token that was issued. All zero bytes are what
// is left when somebody forgot to fill them in.
func tokenFrom(secret []byte) (Token, error) {
	if len(secret) != tokenSize || subtle.ConstantTimeCompare(secret, make([]byte, tokenSize)) == 1 {
		return Token{}, ErrToken
	}
	return newToken((*[tokenSize]byte)(append([]byte(nil), secret...))), nil
}

func newToken(secret *[tokenSize]byte) Token {
	return Token{secret: func() *[tokenSize]byte { return secret }}
}
