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

package passage

import (
	"errors"
	"net/url"
	"strings"
)

// ErrPath means that a path is not one that both ends would read in the same way.
var ErrPath = errors.New("the path is not one of an API, in its shortest form")

// MaxPath is how long a path may be with its capability, in bytes, when it is not escaped:
// how it was escaped before does not matter to whom it is passed on.
const MaxPath = 4 << 10

// maxEscaped is how long one byte is at the most when it is escaped.
const maxEscaped = len("%00")

// Parse reads CAPABILITY/PATH, as it is sent: escaped. The path that it returns begins
// with a slash and is not escaped. It fails with ErrPath.
func Parse(escaped string) (capability, path string, err error) {
	if len(escaped) > maxEscaped*MaxPath {
		return "", "", ErrPath
	}
	var segments []string
	for segment := range strings.SplitSeq(strings.TrimSuffix(escaped, "/"), "/") {
		plain, err := url.PathUnescape(segment)
		if err != nil || !isSegment(plain) {
			return "", "", ErrPath
		}
		segments = append(segments, plain)
	}
	capability, path = segments[0], "/"+strings.Join(segments[1:], "/")
	if len(capability)+len(path) > MaxPath {
		return "", "", ErrPath
	}
	return capability, path, nil
}

// isSegment tells whether something can be one segment of a path, whoever reads it.
func isSegment(s string) bool {
	if s == "" || s == "." || s == ".." {
		return false
	}
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`/\%?#;`, c) >= 0 {
			return false
		}
	}
	return true
}
