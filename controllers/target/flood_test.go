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
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// flood answers with a unit so many times between a head and a tail, of which little goes over
// the wire.
func flood(t testing.TB, head, unit, tail string, count int) http.HandlerFunc {
	t.Helper()
	var packed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	require.NoError(t, err)
	_, err = io.WriteString(writer, head+strings.Repeat(unit+",", count-1)+unit+tail)
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	require.Less(t, packed.Len(), 256<<10)
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed.Bytes())
	}
}

// allocated returns how many bytes are allocated meanwhile, by all there is.
func allocated(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// P11: what becomes a value in memory is counted, outside strings only, since a string may
// have all of it in itself.
func TestP11Marks(t *testing.T) {
	for _, test := range []struct {
		name, body string
		status     int
		whole      bool
	}{
		{"as many as there may be", `{"a":[1,2],"b":3}`, 200, true},
		{"one more", `{"a":[1,2,3],"b":3}`, 200, false},
		{"lists", `[[[[[`, 200, false},
		{"objects", `{"a":{"a":{"a":{"a":{`, 200, false},
		{"in a string", `{"a":"[[[[,,,,{{{{"}`, 200, true},
		{"in a string with a quote", `{"a":"\\\"[[[[,,,,{{{{"}`, 200, true},
		{"after a string that ends with a backslash", `{"a\\\\":[1,2,3],"b":3}`, 200, false},
		{"a refusal", `{"a":[1,2],"b":3}`, 404, true},
		{"a refusal with one more", `{"a":[1,2,3],"b":3}`, 404, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, reader := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.DataErrReader} {
				b := &bounded{inner(func(*http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: test.status, Header: http.Header{}, Body: io.NopCloser(reader(strings.NewReader(test.body)))}, nil
				}), limits{1000, 4}}
				response, err := b.RoundTrip(httptest.NewRequest(http.MethodGet, "https://a.example", http.NoBody))
				require.NoError(t, err)
				body, err := io.ReadAll(response.Body)
				if test.whole {
					require.NoError(t, err)
					assert.Equal(t, test.body, string(body))
				} else {
					require.ErrorIs(t, err, errTooLarge)
				}
			}
		})
	}
}

type inner func(*http.Request) (*http.Response, error)

func (i inner) RoundTrip(request *http.Request) (*http.Response, error) { return i(request) }

// P11: an answer to a probe that is made to grow in memory is a failure, and costs little. So
// does the worst that is within the limits.
func TestP11ProbeFloods(t *testing.T) {
	const head, tail = `{"kind":"APIGroupList","groups":[`, `]}`
	for _, test := range []struct {
		name, path, head, unit, tail string
		count                        int
		want                         Reason // empty: it is taken
	}{
		{"groups", "/apis", head, `{}`, tail, 4 << 20 / 3, ReasonTooLarge},
		{"groups of an empty version", "/apis", head, `{"versions":[{}]}`, tail, 4 << 20 / 18, ReasonTooLarge},
		{"versions", "/apis", head + `{"name":"a.b","versions":[`, `{}`, `]}` + tail, 4 << 20 / 3, ReasonTooLarge},
		{"groups of another name", "/apis", head, `{"name":"A"}`, tail, 4 << 20 / 13, ReasonTooLarge},
		{"versions of the core", "/api", `{"kind":"APIVersions","versions":[`, `""`, tail, 4 << 20 / 3, ReasonTooLarge},
		{"what is not used", "/version", `{"gitVersion":"v1","a":[`, `[]`, tail, 4 << 20 / 3, ReasonTooLarge},
		{"as many groups as there may be", "/apis", head, `{}`, tail, maxDiscoveryMarks/2 - 8, ""},
		{"as many groups of another name", "/apis", head, `{"name":"A"}`, tail, maxDiscoveryMarks/2 - 8, ""},
		{"long names", "/apis", head, `{"name":"` + strings.Repeat("A", 10<<10) + `","versions":[{"version":"v1"}]}`, tail, 400, ""},
		{"as many versions as there may be", "/apis", head + `{"name":"a.b","versions":[`, `{"version":"v1"}`, `]}` + tail, maxDiscoveryMarks/2 - 8, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			cluster := serve(t, entrance{}, api(map[string]http.HandlerFunc{test.path: flood(t, test.head, test.unit, test.tail, test.count)}))
			c := open(t, cluster.access(t), local())
			var err error
			used := allocated(func() { _, err = probe(t, c) })
			t.Logf("%d KiB", used>>10)
			assert.Less(t, used, 48<<20)
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			requireReason(t, test.want, err)
		})
	}
}

// P11: so is an object; one that is as large as etcd has them is none of these.
func TestP11ObjectFloods(t *testing.T) {
	const head, tail = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":[`, `]}`
	for _, test := range []struct {
		name, head, unit, tail string
		count, most            int
		taken                  bool
	}{
		{"objects", head, `{}`, tail, 8 << 20 / 3, 24 << 20, false},
		{"objects with a field", head, `{"":0}`, tail, 8 << 20 / 7, 24 << 20, false},
		{"lists", head, `[0]`, tail, 8 << 20 / 4, 24 << 20, false},
		{"numbers", head, `0`, tail, 8 << 20 / 2, 24 << 20, false},
		{"text", head + `"`, strings.Repeat("a", 1023), `"` + tail, 8 << 10, 32 << 20, false},
		{"as much as there may be", head, `{"":0}`, tail, maxAnswerMarks/2 - 8, 192 << 20, true},
		{"text with marks", head + `"`, "[[{,", `"` + tail, 300 << 10, 32 << 20, true},
		{"fields that are managed", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"managedFields":[{"fieldsV1":{"":[`, `{"f:app.kubernetes.io/name":{}}`, `]}}]}}`, 60_000, 128 << 20, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			cluster := serve(t, entrance{}, flood(t, test.head, test.unit, test.tail, test.count))
			objects := open(t, cluster.access(t), local()).Objects(configMaps(), "a")
			var err error
			used := allocated(func() { _, err = objects.Get(t.Context(), "x") })
			t.Logf("%d KiB", used>>10)
			assert.Less(t, used, test.most)
			if test.taken {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			assert.Equal(t, ReasonTooLarge, FailureOf(err).Reason)
		})
	}
	t.Run("refusal", func(t *testing.T) {
		cluster := serve(t, entrance{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","details":{"causes":[`+strings.Repeat(`{},`, maxRefusalMarks)+`{}]}}`)
		})
		_, err := open(t, cluster.access(t), local()).Objects(configMaps(), "a").Get(t.Context(), "x")
		require.Error(t, err)
		assert.Equal(t, ReasonTooLarge, FailureOf(err).Reason)
	})
}

// C3: the names of the API versions are bounded together: they are stored.
func TestC3APIVersionBytes(t *testing.T) {
	name := strings.TrimSuffix(strings.Repeat(strings.Repeat("a", 62)+".", 3), ".")
	const each = 62*3 + 2 + 4 + len("/v1")
	for _, count := range []int{maxAPIVersionBytes / each, maxAPIVersionBytes/each + 1} {
		var all []string
		for i := range count {
			all = append(all, group(fmt.Sprintf("%04d", i)+name, "v1"))
		}
		cluster := serve(t, entrance{}, api(map[string]http.HandlerFunc{"/api": fail(404), "/apis": say(`{"kind":"APIGroupList","groups":[` + strings.Join(all, ",") + `]}`)}))
		found, err := probe(t, open(t, cluster.access(t), local()))
		if count*each > maxAPIVersionBytes {
			requireReason(t, ReasonTooLarge, err)
			continue
		}
		require.NoError(t, err)
		assert.Len(t, strings.Join(found.APIVersions, ""), count*each)
	}
}

// C3: names are what the validation of Kubernetes takes for these.
func TestC3Names(t *testing.T) {
	for _, text := range []string{
		"", "a", "v1", "1", "-", ".", "a.b", "a..b", ".a", "a.", "a-", "-a", "a-b", "a.-b", "a-.b", "A", "ä", "a_b", "a b", "a/b", "a\n", "\xff",
		strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 253), strings.Repeat("a", 254), strings.Repeat("a.", 126) + "a", strings.Repeat("a.", 127) + "a",
	} {
		assert.Equal(t, len(validation.IsDNS1123Subdomain(text)) == 0, isGroup(text), text)
		assert.Equal(t, len(validation.IsDNS1123Label(text)) == 0, isVersion(text), text)
	}
}

// C3: a probe ends with its context, in the midst of an answer too.
func TestC3ParsingEnds(t *testing.T) {
	c := open(t, serve(t, entrance{}, api(nil)).access(t), local())
	ctx, cancel := context.WithCancel(t.Context())
	_, err := c.groups(ctx, func(_ context.Context, path string, answer any) (bool, error) {
		if path == "api" {
			return false, nil
		}
		cancel()
		return true, json.Unmarshal([]byte(`{"kind":"APIGroupList","groups":[`+group("a", "v1")+`]}`), answer)
	})
	require.ErrorIs(t, err, context.Canceled)
}

// P11: answers are decoded in turn, once all of one is there, whoever has the client.
func TestP11Gate(t *testing.T) {
	held, release := make(chan struct{}), make(chan struct{})
	cluster := serve(t, entrance{http2: true}, api(map[string]http.HandlerFunc{
		"/api/v1/namespaces/a/configmaps/slow": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"apiVersion":"v1",`)
			w.(http.Flusher).Flush()
			close(held)
			<-release
			_, _ = io.WriteString(w, `"kind":"ConfigMap"}`)
		},
		"/api/v1/namespaces/a/configmaps/refused": fail(409),
	}))
	config := local()
	config.Gate = make(chan struct{}, 1)
	one, other := open(t, cluster.access(t), config), open(t, cluster.access(t), config)
	get := func(c *Client, name string, patience time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := c.Objects(configMaps(), "a").Get(ctx, name)
		return err
	}
	const long, short = 20 * time.Second, 200 * time.Millisecond

	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { assert.NoError(t, get(one, "slow", long)) })
	<-held
	require.NoError(t, get(other, "it", long), "a slow answer keeps others from theirs")
	close(release)
	all.Wait()
	assert.Empty(t, config.Gate)

	config.Gate <- struct{}{}
	require.ErrorIs(t, get(other, "it", short), context.DeadlineExceeded)
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	_, err := other.Probe(ctx)
	requireReason(t, ReasonTimeout, err)
	_, err = other.mapper.RESTMappingWithContext(ctx, schema.GroupKind{Kind: "ConfigMap"})
	requireReason(t, ReasonTimeout, err)
	err = get(other, "refused", long)
	assert.Equal(t, metav1.StatusReason(canary), reasonFor(err), "a refusal needs no turn")
	<-config.Gate

	for range 3 {
		require.NoError(t, get(one, "it", long))
		_, err = probe(t, other)
		require.NoError(t, err)
		other.Mapper().Reset()
		_, err = other.Mapper().RESTMapping(schema.GroupKind{Kind: "ConfigMap"})
		require.NoError(t, err)
	}
	assert.Empty(t, config.Gate)

	turned, end := withTurn(t.Context(), config.Gate)
	turn := turnOf(turned)
	require.NoError(t, turn.take(turned))
	require.NoError(t, turn.take(turned), "a second answer of one call")
	assert.Len(t, config.Gate, 1)
	end()
	end()
	require.NoError(t, turn.take(turned), "an answer after the call")
	assert.Empty(t, config.Gate)
}
