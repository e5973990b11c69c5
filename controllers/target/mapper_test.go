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
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func reasonFor(err error) any { return apierrors.ReasonForError(err) }

// asking keeps the paths that were asked for.
type asking struct {
	mu    sync.Mutex
	paths []string
}

func (a *asking) handler(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.paths = append(a.paths, r.URL.Path)
		a.mu.Unlock()
		next(w, r)
	}
}

// take returns the paths since it was called last.
func (a *asking) take() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	taken := a.paths
	a.paths = nil
	return taken
}

func resources(all ...string) http.HandlerFunc {
	return say(`{"kind":"APIResourceList","resources":[` + strings.Join(all, ",") + `]}`)
}

func resource(name, kind string, namespaced bool) string {
	return fmt.Sprintf(`{"name":%q,"singularName":"canary","namespaced":%t,"kind":%q,"verbs":["get"],"shortNames":["c"],"categories":["all"]}`, name, namespaced, kind)
}

// twoVersions are a group whose second version is preferred.
func twoVersions() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"/apis": say(`{"kind":"APIGroupList","groups":[{"name":"shop.example","versions":[{"version":"v2"},{"version":"v1"}],"preferredVersion":{"version":"v1"}},` +
			group("gone.example", "v1") + `,` + group("broken.example", "v1") + `]}`),
		"/apis/shop.example/v1": resources(resource("carts", "Cart", true), resource("carts/status", "Status", true)),
		"/apis/shop.example/v2": resources(resource("carts", "Cart", true), resource("shops", "Shop", false), resource("", "Empty", false), resource("empties", "", false)),
	}
}

// P11: of a cluster only that is asked which is needed, once, and each kind is told from others.
func TestP11MapperAsksForWhatIsNeeded(t *testing.T) {
	roots := []string{"/api", "/apis"}
	const v1, v2 = "/apis/shop.example/v1", "/apis/shop.example/v2"
	for _, test := range []struct {
		name, group, kind string
		versions          []string
		asked             []string // besides the roots
		version, resource string   // empty: there is no match
	}{
		{"that which is preferred", "shop.example", "Cart", nil, []string{v1}, "v1", "carts"},
		{"a version", "shop.example", "Cart", []string{"v2"}, []string{v2}, "v2", "carts"},
		{"the first version of two", "shop.example", "Cart", []string{"v2", "v1"}, []string{v2}, "v2", "carts"},
		{"any version", "shop.example", "Cart", []string{""}, []string{v1}, "v1", "carts"},
		{"only in the second", "shop.example", "Shop", nil, []string{v1, v2}, "v2", "shops"},
		{"not in that version", "shop.example", "Shop", []string{"v1"}, []string{v1}, "", ""},
		{"no such version", "shop.example", "Cart", []string{"v3"}, nil, "", ""},
		{"no such kind", "shop.example", "Other", nil, []string{v1, v2}, "", ""},
		{"part of another", "shop.example", "Status", []string{"v1"}, []string{v1}, "", ""},
		{"without a resource", "shop.example", "Empty", []string{"v2"}, []string{v2}, "", ""},
		{"without a name", "shop.example", "", []string{"v2"}, []string{v2}, "", ""},
		{"no such group", "other.example", "Cart", []string{"v1"}, nil, "", ""},
		{"a group that is a path", "../api", "Cart", []string{"v1"}, nil, "", ""},
		{"a version that is a path", "shop.example", "Cart", []string{"../v1", "v1/../v1", "v1?a"}, nil, "", ""},
		{"a group that is gone", "gone.example", "Cart", nil, []string{"/apis/gone.example/v1"}, "", ""},
		{"the core", "", "ConfigMap", nil, []string{"/api/v1"}, "v1", "configmaps"},
		{"not of the core", "", "Cart", nil, []string{"/api/v1"}, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var asked asking
			cluster := serve(t, entrance{}, asked.handler(api(twoVersions())))
			mapper := open(t, cluster.access(t), local()).Mapper()
			kind := schema.GroupKind{Group: test.group, Kind: test.kind}
			for again := range 2 {
				mapping, err := mapper.RESTMapping(kind, test.versions...)
				if again == 0 {
					assert.Equal(t, append(slices.Clone(roots), test.asked...), asked.take())
				} else {
					assert.Empty(t, asked.take(), "it is kept")
				}
				if test.version == "" {
					var none *meta.NoKindMatchError
					require.ErrorAs(t, err, &none)
					assert.Equal(t, &meta.NoKindMatchError{GroupKind: kind, SearchedVersions: test.versions}, none)
					continue
				}
				require.NoError(t, err)
				assert.Equal(t, kind.WithVersion(test.version), mapping.GroupVersionKind)
				assert.Equal(t, schema.GroupVersionResource{Group: test.group, Version: test.version, Resource: test.resource}, mapping.Resource)
				assert.Equal(t, test.kind != "Shop", mapping.Scope.Name() == meta.RESTScopeNameNamespace)
			}
			mapper.Reset()
			_, _ = mapper.RESTMapping(kind, test.versions...)
			assert.Equal(t, append(slices.Clone(roots), test.asked...), asked.take(), "it is asked anew")
		})
	}
}

func TestMapperOfResources(t *testing.T) {
	mapper := open(t, serve(t, entrance{}, api(twoVersions())).access(t), local()).Mapper()
	carts := schema.GroupVersionResource{Group: "shop.example", Resource: "carts"}
	kind, err := mapper.KindFor(carts)
	require.NoError(t, err)
	assert.Equal(t, schema.GroupVersionKind{Group: "shop.example", Version: "v1", Kind: "Cart"}, kind)
	kinds, err := mapper.KindsFor(carts)
	require.NoError(t, err)
	assert.Equal(t, []schema.GroupVersionKind{kind, {Group: "shop.example", Version: "v2", Kind: "Cart"}}, kinds)
	found, err := mapper.ResourceFor(carts)
	require.NoError(t, err)
	assert.Equal(t, carts.GroupResource().WithVersion("v1"), found)
	all, err := mapper.ResourcesFor(carts)
	require.NoError(t, err)
	assert.Equal(t, []schema.GroupVersionResource{found, carts.GroupResource().WithVersion("v2")}, all)
	mappings, err := mapper.RESTMappings(schema.GroupKind{Group: "shop.example", Kind: "Cart"})
	require.NoError(t, err)
	assert.Len(t, mappings, 2)
	single, err := mapper.ResourceSingularizer("carts")
	require.NoError(t, err)
	assert.Equal(t, "carts", single)
	for _, none := range []schema.GroupVersionResource{carts.GroupResource().WithVersion("v3"), {Resource: "carts"}} {
		_, err = mapper.KindFor(none)
		assert.True(t, meta.IsNoMatchError(err), err)
		_, err = mapper.ResourceFor(none)
		assert.True(t, meta.IsNoMatchError(err), err)
		kinds, err = mapper.KindsFor(none)
		assert.True(t, meta.IsNoMatchError(err), err)
		assert.Empty(t, kinds)
		all, err = mapper.ResourcesFor(none)
		assert.True(t, meta.IsNoMatchError(err), err)
		assert.Empty(t, all)
	}
}

// P11: a cluster that does not say what it has is not one that has it not. It is asked again,
// and others of its groups are known meanwhile.
func TestP11FailureIsNoMissingKind(t *testing.T) {
	slow := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for _, test := range []struct {
		name, path string
		broken     http.HandlerFunc
		want       Reason
	}{
		{"500", "/apis/shop.example/v1", fail(500), ReasonUnavailable},
		{"503", "/apis/shop.example/v1", fail(503), ReasonUnavailable},
		{"429", "/apis/shop.example/v1", fail(429), ReasonUnavailable},
		{"401", "/apis/shop.example/v1", fail(401), ReasonUnauthorized},
		{"403", "/apis/shop.example/v1", fail(403), ReasonForbidden},
		{"redirect", "/apis/shop.example/v1", fail(302), ReasonRedirected},
		{"time-out", "/apis/shop.example/v1", slow, ReasonTimeout},
		{"HTML", "/apis/shop.example/v1", say("<html>canary</html>"), ReasonNotKubernetes},
		{"another kind", "/apis/shop.example/v1", say(`{"kind":"canary"}`), ReasonNotKubernetes},
		{"empty", "/apis/shop.example/v1", say(`{}`), ReasonNotKubernetes},
		{"groups, 500", "/apis", fail(500), ReasonUnavailable},
		{"groups, 403", "/apis", fail(403), ReasonForbidden},
		{"core, 500", "/api", fail(500), ReasonUnavailable},
	} {
		t.Run(test.name, func(t *testing.T) {
			var well atomic.Bool
			differs := twoVersions()
			before := differs[test.path]
			if before == nil {
				before = api(nil)
			}
			differs[test.path] = func(w http.ResponseWriter, r *http.Request) {
				if well.Load() {
					before(w, r)
					return
				}
				test.broken(w, r)
			}
			config := local()
			if test.want == ReasonTimeout {
				config.Timeout = 200 * time.Millisecond
			}
			mapper := open(t, serve(t, entrance{}, api(differs)).access(t), config).Mapper()
			cart := schema.GroupKind{Group: "shop.example", Kind: "Cart"}
			for _, versions := range [][]string{{"v1"}, nil} {
				_, err := mapper.RESTMapping(cart, versions...)
				require.Error(t, err)
				assert.False(t, meta.IsNoMatchError(err), err)
				requireReason(t, test.want, FailureOf(err))
				requireSilent(t, err.Error())
			}
			if strings.Count(test.path, "/") > 1 {
				_, err := mapper.RESTMapping(cart, "v2")
				require.NoError(t, err)
			}
			well.Store(true)
			_, err := mapper.RESTMapping(cart, "v1")
			require.NoError(t, err)
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		c := open(t, serve(t, entrance{}, api(map[string]http.HandlerFunc{"/apis": slow})).access(t), local())
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		_, err := c.mapper.RESTMappingWithContext(ctx, schema.GroupKind{Kind: "ConfigMap"})
		require.ErrorIs(t, err, context.Canceled)
		assert.Empty(t, c.mapper.slots)
	})
}

// manyGroups has groups g0 and so on, each with a version v1 that answers.
func manyGroups(count int, answer http.HandlerFunc) http.HandlerFunc {
	all := make([]string, count)
	for i := range all {
		all[i] = group(fmt.Sprintf("g%d", i), "v1")
	}
	well := api(map[string]http.HandlerFunc{"/apis": say(`{"kind":"APIGroupList","groups":[` + strings.Join(all, ",") + `]}`)})
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/apis/g") {
			answer(w, r)
			return
		}
		well(w, r)
	}
}

// P11: all that a mapper is told between two resets is bounded together, whether in bytes, in
// values or in resources; when it is too much, it begins anew.
func TestP11MapperFanOut(t *testing.T) {
	const groups = 24
	few := resource("a", "A", true)
	for _, test := range []struct {
		name  string
		each  http.HandlerFunc
		takes int  // how many of the groups it takes
		first bool // the first is refused
	}{
		{"bytes", flood(t, `{"kind":"APIResourceList","resources":[`+few+`],"a":["`, strings.Repeat("a", 1023), `"]}`, 1<<10), 7, false},
		{"values", flood(t, `{"kind":"APIResourceList","resources":[`+few+`],"a":[`, `0`, `]}`, 60<<10), 4, false},
		{"resources", flood(t, `{"kind":"APIResourceList","resources":[`, few, `]}`, 1990), 10, false},
		{"one of too many values", flood(t, `{"kind":"APIResourceList","resources":[`, `{"name":"a","kind":"A"}`, `]}`, 4<<20/24), 0, true},
		{"one of too many resources", flood(t, `{"kind":"APIResourceList","resources":[`, `{}`, `]}`, 20_001), 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			cluster := serve(t, entrance{}, manyGroups(groups, test.each))
			config := local()
			config.QPS = -1
			c := open(t, cluster.access(t), config)
			before := cluster.requests.Load()
			failed := 0
			used := allocated(func() {
				_, err := c.Mapper().RESTMapping(schema.GroupKind{Group: "g1", Kind: "A"})
				assert.Equal(t, test.first, err != nil)
				assert.EqualValues(t, 3, cluster.requests.Load()-before, "the other groups were not asked for")
				c.Mapper().Reset()
				for i := range groups {
					_, err := c.Mapper().RESTMapping(schema.GroupKind{Group: fmt.Sprintf("g%d", i), Kind: "A"})
					if err != nil {
						failed++
						requireReason(t, ReasonTooLarge, err)
					}
					known := c.mapper.now()
					require.LessOrEqual(t, known.told.bytes, int64(maxKnownBytes))
					require.LessOrEqual(t, known.told.marks, int64(maxKnownMarks))
					require.LessOrEqual(t, known.resources, maxKnownResources)
					require.LessOrEqual(t, len(known.kinds), test.takes)
				}
			})
			t.Logf("%d KiB for %d groups, %d failures", used>>10, groups, failed)
			assert.Equal(t, groups/(test.takes+1), failed)
			assert.Less(t, used, 300<<20)
		})
	}
}

// P11: there are few requests at once, and those who wait for the same ask once.
func TestP11MapperAsksFewAtOnce(t *testing.T) {
	var now, most atomic.Int32
	full := make(chan struct{})
	cluster := serve(t, entrance{http2: true}, manyGroups(20, func(w http.ResponseWriter, r *http.Request) {
		count := now.Add(1)
		defer now.Add(-1)
		for {
			before := most.Load()
			if count <= before || most.CompareAndSwap(before, count) {
				break
			}
		}
		if count == maxAsked {
			select {
			case <-full:
			default:
				time.AfterFunc(100*time.Millisecond, func() { close(full) }) // for one more
			}
		}
		<-full
		resources(resource("a", "A", true))(w, r)
	}))
	config := local()
	config.QPS = -1
	c := open(t, cluster.access(t), config)
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			_, err := c.Mapper().RESTMapping(schema.GroupKind{Group: fmt.Sprintf("g%d", i%20), Kind: "A"})
			assert.NoError(t, err)
		})
	}
	all.Wait()
	assert.EqualValues(t, maxAsked, most.Load())
	assert.Less(t, cluster.requests.Load(), int32(2*maxAsked+20*3))
	assert.Empty(t, c.mapper.slots)
}

// The calls of a mapper are limited as those of Dynamic are.
func TestMapperIsLimited(t *testing.T) {
	cluster := serve(t, entrance{}, manyGroups(5, resources(resource("a", "A", true))))
	config := local()
	config.QPS, config.Burst = 0.001, 3
	c := open(t, cluster.access(t), config)
	_, err := c.Mapper().RESTMapping(schema.GroupKind{Group: "g1", Kind: "A"})
	require.NoError(t, err)
	_, err = c.Mapper().RESTMapping(schema.GroupKind{Group: "g2", Kind: "A"})
	require.Error(t, err)
	var failure *Failure
	require.True(t, errors.As(err, &failure))
	assert.Equal(t, ReasonTimeout, failure.Reason)
	assert.EqualValues(t, 3, cluster.requests.Load())
}
