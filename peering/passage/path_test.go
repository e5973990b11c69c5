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
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// G7: a path is read as everybody would read it, or not at all.
func TestG7Paths(t *testing.T) {
	for escaped, want := range map[string][2]string{
		"logs":                       {"logs", "/"},
		"logs/":                      {"logs", "/"},
		"logs/api":                   {"logs", "/api"},
		"logs/api/":                  {"logs", "/api"},
		"logs/api/v1/namespaces/a/b": {"logs", "/api/v1/namespaces/a/b"},
		"logs/%61pi/v1":              {"logs", "/api/v1"},
		"logs/a/b:c":                 {"logs", "/a/b:c"},
		"logs/a/...":                 {"logs", "/a/..."},
		"logs/a/%2Ba+b~c@d=e":        {"logs", "/a/+a+b~c@d=e"},
		"%6Cogs/api":                 {"logs", "/api"},
		"logs/" + strings.Repeat("%61", MaxPath-len("logs/")): {"logs", "/" + strings.Repeat("a", MaxPath-len("logs/"))},
	} {
		capability, path, err := Parse(escaped)
		require.NoError(t, err, escaped)
		assert.Equal(t, want, [2]string{capability, path}, escaped)
	}
	for _, escaped := range []string{
		"", "/", "//", "/logs", "logs//", "logs//api", "logs/api//", "logs/./api", "logs/../api", "logs/api/..", "logs/.", "..", ".",
		"logs/%2e%2e/api", "logs/%2E/api", "logs/a%2fb", "logs/a%2Fb", "logs/a%5cb", `logs/a\b`, "logs/a%00", "logs/a%0a", "logs/a%0d%0ab",
		"logs/a%7f", "logs/a%20b", "logs/a b", "logs/a%25b", "logs/a%252fb", "logs/a%3fb", "logs/a?b", "logs/a%23b", "logs/a#b", "logs/a;b", "logs/a%3bb",
		"logs/%c3%a4", "logs/\xff", "logs/%", "logs/%z", "logs/%1", "logs/a%c0%af", "%2e", "%2f",
		"logs/" + strings.Repeat("a", MaxPath), strings.Repeat("%61", 2*MaxPath),
	} {
		_, _, err := Parse(escaped)
		assert.ErrorIs(t, err, ErrPath, "%q", escaped)
	}
}

// G7: what one end passes on the other one reads in the same way.
func FuzzG7BothEndsReadTheSame(f *testing.F) {
	for _, seed := range []string{"logs/api/v1", "logs/%61/b", "logs/a%2f..", "logs/!$&'()*+,=@~", "//", "logs/%2e%2e"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, escaped string) {
		capability, path, err := Parse(escaped)
		if err != nil {
			assert.ErrorIs(t, err, ErrPath)
			return
		}
		sent := (&url.URL{Path: "/" + capability + path}).EscapedPath()
		read, err := url.ParseRequestURI(sent)
		require.NoError(t, err)
		assert.Empty(t, read.RawQuery+read.Fragment+read.Host)
		assert.Equal(t, "/"+capability+path, read.Path)
		again, same, err := Parse(strings.TrimPrefix(read.EscapedPath(), "/"))
		require.NoError(t, err)
		assert.Equal(t, [2]string{capability, path}, [2]string{again, same})
	})
}
