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

package protocol

import "strings"

// unique tells whether all texts are well-formed, and no two of them equal.
func unique(texts []string, wellFormed func(string) bool) bool {
	seen := make(map[string]bool, len(texts))
	for _, text := range texts {
		if seen[text] || !wellFormed(text) {
			return false
		}
		seen[text] = true
	}
	return true
}

// isLabel tells whether the text is a DNS label (RFC 1123): a name of a capability, a
// project or a namespace.
func isLabel(text string) bool {
	return text != "" && len(text) <= 63 && consists(text, isLabelCharacter) &&
		text[0] != '-' && text[len(text)-1] != '-'
}

// Word returns the beginning of a text that may stand in a message (P11).
func Word(text string, maxLength int) string {
	end := 0
	for end < min(len(text), maxLength) && isWordCharacter(text[end]) {
		end++
	}
	return text[:end]
}

// isWord tells whether the text has no other characters than those that a text of
// another cluster may have (P11), and not too many of them.
func isWord(text string, maxLength int) bool {
	return len(text) <= maxLength && consists(text, isWordCharacter)
}

func isHex(text string, length int) bool {
	return len(text) == length && consists(text, func(c byte) bool { return isDigit(c) || ('a' <= c && c <= 'f') })
}

func isLabelCharacter(c byte) bool { return isDigit(c) || ('a' <= c && c <= 'z') || c == '-' }

func isWordCharacter(c byte) bool {
	return isLabelCharacter(c) || ('A' <= c && c <= 'Z') || strings.IndexByte("._+:/", c) >= 0
}

// isPlain tells whether a character moves no cursor and is in no encoding but ASCII.
func isPlain(c byte) bool { return (' ' <= c && c <= '~') || c == '\n' || c == '\r' || c == '\t' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func consists(text string, of func(byte) bool) bool {
	for i := range len(text) {
		if !of(text[i]) {
			return false
		}
	}
	return true
}
