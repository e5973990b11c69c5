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
	"strings"
)

// isCharacter tells whether the character occurs in connection strings: those of
// base64url, and the dot.
func isCharacter(r rune) bool {
	return isDigit(r) || isLower(r) || ('A' <= r && r <= 'Z') || r == '-' || r == '_' || r == '.'
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

func isLower(r rune) bool { return 'a' <= r && r <= 'z' }

func isHexDigit(r rune) bool { return isDigit(r) || ('a' <= r && r <= 'f') }

func isHex(text string, length int) bool {
	return len(text) == length && !strings.ContainsFunc(text, func(r rune) bool { return !isHexDigit(r) })
}

func isTokenID(text string) bool { return isHex(text, 2*tokenIDSize) }

// isVersion tells whether the text is the number of a format.
func isVersion(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !isDigit(r) })
}

// IsUUID tells whether the text can be the UUID of a cluster: of the form 8-4-4-4-12 in
// lower case, and not all zero, which names no cluster.
func IsUUID(text string) bool {
	groups := strings.Split(text, "-")
	lengths := []int{8, 4, 4, 4, 12}
	if len(groups) != len(lengths) || strings.Trim(text, "0-") == "" {
		return false
	}
	for i, length := range lengths {
		if !isHex(groups[i], length) {
			return false
		}
	}
	return true
}
