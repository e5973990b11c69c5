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

// Package epoch keeps the epoch of the ledger outside the store (S2), so that a copy of
// the store does not bring it back: in a file apart from the data, or in a Secret of the
// host cluster. Package registry/ledger says what it is for.
package epoch

import (
	"errors"
	"strconv"
	"strings"

	"entente.dev/entente/registry/ledger"
)

var (
	_ ledger.EpochStore = &file{}
	_ ledger.EpochStore = &secret{}
)

// longest is more than the longest number takes.
const longest = 32

var errNumber = errors.New("it is not a number")

func encode(number uint64) []byte { return strconv.AppendUint(nil, number, 10) }

// decode reads a number that a person may have written. Nothing is 0.
func decode(data []byte) (uint64, error) {
	text := strings.TrimSpace(string(data))
	if text == "" {
		return 0, nil
	}
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, errNumber
	}
	return number, nil
}
