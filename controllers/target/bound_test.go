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

package target

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type answering func() io.Reader

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(a())}, nil
}

// P11: a body has a length that it may have, and is not cut off without a word.
func TestP11Bound(t *testing.T) {
	object := `{"a":"}]\"{[\\","b":[{}]}` // 25 bytes
	for _, test := range []struct {
		name, body string
		whole      bool
	}{
		{"as long as it may be", strings.Repeat("a", 30), true},
		{"too long", strings.Repeat("a", 31), false},
		{"an object", object, true},
		{"objects", object + object, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, reader := range []func(io.Reader) io.Reader{iotest.OneByteReader, func(r io.Reader) io.Reader { return r }} {
				b := &bounded{answering(func() io.Reader { return reader(strings.NewReader(test.body)) }), limits{30, 100}}
				response, err := b.RoundTrip(httptest.NewRequest(http.MethodGet, "https://a.example", http.NoBody))
				require.NoError(t, err)
				body, err := io.ReadAll(response.Body)
				if test.whole {
					require.NoError(t, err)
					assert.Equal(t, test.body, string(body))
					continue
				}
				require.ErrorIs(t, err, errTooLarge)
				_, err = response.Body.Read(make([]byte, 1))
				require.ErrorIs(t, err, errTooLarge)
			}
		})
	}
}

// P11: an object that is too large is an error, which says so through the client.
func TestP11LargeObjects(t *testing.T) {
	large := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"large"},"data":{"a":"` + strings.Repeat("a", maxAnswer) + `"}}`
	cluster := serve(t, entrance{}, api(map[string]http.HandlerFunc{
		"/api/v1/namespaces/a/configmaps/large": say(large),
	}))
	objects := open(t, cluster.access(t), local()).Objects(configMaps(), "a")
	_, err := objects.Get(t.Context(), "large")
	require.Error(t, err)
	assert.Equal(t, ReasonTooLarge, FailureOf(err).Reason, fmt.Sprintf("%T", err))
}
