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
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// C3: what a probe finds of a well cluster, over both versions of HTTP.
func TestC3Probe(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("HTTP/2 %t", http2), func(t *testing.T) {
			protocol := 1
			if http2 {
				protocol = 2
			}
			well := api(nil)
			cluster := serve(t, entrance{http2: http2}, func(w http.ResponseWriter, r *http.Request) {
				assert.Equal(t, protocol, r.ProtoMajor)
				assert.Equal(t, "Bearer canary-token", r.Header.Get("Authorization"))
				assert.Equal(t, "entente", r.Header.Get("User-Agent"))
				well(w, r)
			})
			c := open(t, cluster.access(t), local())
			for range 3 {
				found, err := probe(t, c)
				require.NoError(t, err)
				assert.Equal(t, wellFound(), found)
			}
			assert.EqualValues(t, 1, cluster.open.Load(), "connections are kept")
		})
	}
}

// C3: a server below a path.
func TestC3ProbePath(t *testing.T) {
	cluster := serve(t, entrance{}, http.StripPrefix("/k8s/clusters/c-1", api(nil)).ServeHTTP)
	for _, end := range []string{"", "/"} {
		access, err := Token(cluster.URL+"/k8s/clusters/c-1"+end, cluster.authority.pem(), []byte(canary))
		require.NoError(t, err)
		found, err := probe(t, open(t, access, local()))
		require.NoError(t, err)
		assert.Equal(t, wellFound(), found)
	}
}

// C3, P11, R15: whatever a cluster answers ends in what is sound of it, or in a failure of a
// closed set.
func TestC3Answers(t *testing.T) {
	elsewhere := serve(t, entrance{}, api(nil))
	redirect := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", elsewhere.URL+"/canary")
		w.WriteHeader(http.StatusFound)
	}
	endless := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(bytes.Repeat([]byte(" "), 64<<10)); err != nil {
				return
			}
		}
	}
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	for range 16 {
		_, err := writer.Write(bytes.Repeat([]byte(" "), 1<<20))
		require.NoError(t, err)
	}
	require.NoError(t, writer.Close())
	require.Less(t, packed.Len(), 64<<10)
	bomb := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed.Bytes())
	}
	breaking := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("{"))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	var odd []string
	for _, name := range []string{"", "UPPER", "a b", "a/b", "-a", "<b>canary", strings.Repeat("a", 254)} {
		odd = append(odd, group(name, "v1"))
	}
	odd = append(odd, group("sound.example", "v1", "V2", "v.3", "", "v1/canary", "v1", strings.Repeat("v", 64)))
	versions := func(count int) http.HandlerFunc {
		var all []string
		for i := range count {
			all = append(all, group(fmt.Sprintf("g%d.example", i), "v1"))
		}
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		return say(`{"kind":"APIGroupList","groups":[` + strings.Join(all, ",") + `]}`)
	}
	uidless := wellFound()
	uidless.UID = ""
	with := func(versions ...string) *Found {
		found := wellFound()
		found.APIVersions = versions
		return &found
	}
	for _, test := range []struct {
		name, path string
		handler    http.HandlerFunc
		found      *Found
		want       Reason
	}{
		{"version of HTML", "/version", say("<html>canary</html>"), nil, ReasonNotKubernetes},
		{"version of nothing", "/version", say(""), nil, ReasonNotKubernetes},
		{"version of an empty object", "/version", say("{}"), nil, ReasonNotKubernetes},
		{"version of a list", "/version", say("[]"), nil, ReasonNotKubernetes},
		{"version with a control character", "/version", say(`{"gitVersion":"canary\u0000"}`), nil, ReasonNotKubernetes},
		{"version of other letters", "/version", say(`{"gitVersion":"v1ä"}`), nil, ReasonNotKubernetes},
		{"version that is too long", "/version", say(`{"gitVersion":"` + strings.Repeat("c", 257) + `"}`), nil, ReasonNotKubernetes},
		{"version that is very deep", "/version", say(strings.Repeat(`{"a":`, 50_000)), nil, ReasonNotKubernetes},
		{"version of too many parts", "/version", say(strings.Repeat(`{"a":`, 100_000)), nil, ReasonTooLarge},
		{"version, 401", "/version", fail(401), nil, ReasonUnauthorized},
		{"version, 403", "/version", fail(403), nil, ReasonForbidden},
		{"version, 404", "/version", fail(404), nil, ReasonNotKubernetes},
		{"version, 410", "/version", fail(410), nil, ReasonStatus},
		{"version, 204", "/version", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, nil, ReasonStatus},
		{"version, 429", "/version", fail(429), nil, ReasonUnavailable},
		{"version, 503", "/version", fail(503), nil, ReasonUnavailable},
		{"version, redirect", "/version", redirect, nil, ReasonRedirected},
		{"version, redirect nowhere", "/version", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://canary:%zz/canary")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, nil, ReasonRedirected},
		{"version, endless", "/version", endless, nil, ReasonTooLarge},
		{"version, gzip bomb", "/version", bomb, nil, ReasonTooLarge},
		{"version, broken", "/version", breaking, nil, ReasonConnect},
		{"version, large headers", "/version", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Canary", strings.Repeat(canary, 100<<10))
			say("{}")(w, r)
		}, nil, ReasonConnect},
		{"core, 401", "/api", fail(401), nil, ReasonUnauthorized},
		{"core of another kind", "/api", say(`{"kind":"canary"}`), nil, ReasonNotKubernetes},
		{"no core", "/api", fail(404), with("apps/v1", "batch/v1", "batch/v1beta1"), ""},
		{"groups of HTML", "/apis", say("<html>canary</html>"), nil, ReasonNotKubernetes},
		{"groups of another kind", "/apis", say(`{"kind":"APIGroup"}`), nil, ReasonNotKubernetes},
		{"groups, 403", "/apis", fail(403), nil, ReasonForbidden},
		{"groups, endless", "/apis", endless, nil, ReasonTooLarge},
		{"groups, gzip bomb", "/apis", bomb, nil, ReasonTooLarge},
		{"no groups", "/apis", fail(404), with("v1"), ""},
		{"groups that are not valid", "/apis", say(`{"kind":"APIGroupList","groups":[` + strings.Join(odd, ",") + `]}`), with("sound.example/v1", "v1"), ""},
		{"10,000 versions", "/apis", versions(10_000), nil, ReasonTooLarge},
		{"one version too many", "/apis", versions(4096), nil, ReasonTooLarge},
		{"namespace, 401", "/api/v1/namespaces/kube-system", fail(401), &uidless, ""},
		{"namespace, 403", "/api/v1/namespaces/kube-system", fail(403), &uidless, ""},
		{"namespace, 404", "/api/v1/namespaces/kube-system", fail(404), &uidless, ""},
		{"namespace, 500", "/api/v1/namespaces/kube-system", fail(500), &uidless, ""},
		{"namespace of HTML", "/api/v1/namespaces/kube-system", say("<html>canary"), &uidless, ""},
		{"namespace, endless", "/api/v1/namespaces/kube-system", endless, &uidless, ""},
		{"namespace, broken", "/api/v1/namespaces/kube-system", breaking, &uidless, ""},
		{"namespace, odd UID", "/api/v1/namespaces/kube-system", say(`{"metadata":{"uid":"canary canary"}}`), &uidless, ""},
		{"namespace, long UID", "/api/v1/namespaces/kube-system", say(`{"metadata":{"uid":"` + strings.Repeat("a", 65) + `"}}`), &uidless, ""},
	} {
		for _, http2 := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, HTTP/2 %t", test.name, http2), func(t *testing.T) {
				cluster := serve(t, entrance{http2: http2}, api(map[string]http.HandlerFunc{test.path: test.handler}))
				found, err := probe(t, open(t, cluster.access(t), local()))
				if test.found == nil {
					requireReason(t, test.want, err)
					assert.Equal(t, Found{}, found)
					return
				}
				require.NoError(t, err)
				assert.Equal(t, *test.found, found)
			})
		}
	}
	assert.Zero(t, elsewhere.requests.Load(), "a redirection was followed")

	t.Run("4,096 versions", func(t *testing.T) {
		cluster := serve(t, entrance{}, api(map[string]http.HandlerFunc{"/apis": versions(4095)}))
		found, err := probe(t, open(t, cluster.access(t), local()))
		require.NoError(t, err)
		assert.Len(t, found.APIVersions, 4096)
		assert.IsIncreasing(t, found.APIVersions)
	})
	t.Run("neither core nor groups", func(t *testing.T) {
		cluster := serve(t, entrance{}, api(map[string]http.HandlerFunc{"/api": fail(404), "/apis": fail(404)}))
		_, err := probe(t, open(t, cluster.access(t), local()))
		requireReason(t, ReasonNotKubernetes, err)
	})
}
