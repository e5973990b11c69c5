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

package apiserver_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	goruntime "runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"entente.dev/entente/apis/peering"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/registry/sensitive"
	"entente.dev/entente/test/harness"
)

// R1: a request costs two authorizer calls, its own and the decision, whatever the
// number of objects in the answer.
func TestR1AuthorizerCallsARequest(t *testing.T) {
	var calls atomic.Int32
	s := startAlone(t, harness.WithAuthorizer(func(inner authorizer.Authorizer) authorizer.Authorizer {
		return counting{inner, func(a authorizer.Attributes) {
			if a.GetUser() != nil && slices.Contains([]string{harness.Viewer, harness.Admin}, a.GetUser().GetName()) {
				calls.Add(1)
			}
		}}
	}))
	objects := 0
	for _, size := range []int{0, 1, 20, 200} {
		var group sync.WaitGroup
		for ; objects < size; objects++ {
			name := fmt.Sprintf("cost-%d", objects)
			group.Go(func() {
				a := s.do(t, harness.Operator, http.MethodPost, "", encode(t, joinPeer(name, s.secret())))
				assert.Equal(t, http.StatusCreated, a.code)
			})
		}
		group.Wait()
		for _, user := range []string{harness.Viewer, harness.Admin} {
			for what, path := range map[string]string{
				"list": "", "list from the cache": "?resourceVersion=0", "chunk": "?limit=50", "list by name": "?fieldSelector=metadata.name%3Dcost-0", "get": "cost-0",
			} {
				if size == 0 && what == "get" {
					continue
				}
				for _, mediaType := range []string{jsonType, yamlType, tableType + ", " + jsonType} {
					calls.Store(0)
					s.do(t, user, http.MethodGet, path, "", accept(mediaType), revealing()).want(t, http.StatusOK)
					assert.EqualValues(t, 2, calls.Load(), "%s of %d as %s in %s", what, size, user, mediaType)
				}
			}
		}
	}
}

// perItem is how many allocations an item more lists take than others, by their sizes. What
// the decision of a request takes is not per item: that is why there are two sizes.
func perItem[N int64 | float64](extra map[int]N) float64 {
	sizes := slices.Sorted(maps.Keys(extra))
	few, many := sizes[0], sizes[len(sizes)-1]
	return float64(extra[many]-extra[few]) / float64(many-few)
}

// listed is a store that has a list in its cache.
type listed struct {
	sensitive.Store
	list *peering.ClusterPeerList
}

func (listed) New() runtime.Object { return &peering.ClusterPeer{} }

func (l listed) List(context.Context, *metainternalversion.ListOptions) (runtime.Object, error) {
	return l.list, nil
}

// R7: a list that is redacted needs at most two more allocations an item than the same
// list in the clear: the two structs that hold a value.
func TestR7AllocationsOfAList(t *testing.T) {
	allowed := map[bool]authorizer.Decision{true: authorizer.DecisionAllow, false: authorizer.DecisionNoOpinion}
	extra := map[int]float64{}
	for _, size := range []int{300, 5000} {
		took := map[bool]float64{}
		for sees, decision := range allowed {
			// One of its own for each: items are replaced in the list that is answered.
			list := &peering.ClusterPeerList{}
			for range size {
				list.Items = append(list.Items, peering.ClusterPeer{
					Spec:   peering.ClusterPeerSpec{Join: &peering.JoinSpec{ConnectionString: "secret"}},
					Status: peering.ClusterPeerStatus{Invite: &peering.InviteStatus{ConnectionString: "secret"}},
				})
			}
			decider, err := sensitive.NewDecider(authorizer.AuthorizerFunc(func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
				return decision, "", nil
			}), peeringv1alpha1.SchemeGroupVersion.WithResource("clusterpeers"), "ClusterPeer", nil)
			require.NoError(t, err)
			served, err := sensitive.NewREST(listed{list: list}, decider, nil, nil)
			require.NoError(t, err)
			ctx := genericapirequest.WithUser(t.Context(), &user.DefaultInfo{Name: harness.Viewer})
			took[sees] = testing.AllocsPerRun(10, func() {
				answer, err := served.List(ctx, nil)
				if err != nil || (answer.(*peering.ClusterPeerList).Items[size-1].Spec.Join.ConnectionString == "secret") != sees {
					t.Fatal("the list is not as it should be")
				}
			})
		}
		extra[size] = took[false] - took[true]
	}
	t.Logf("%v allocations more if redacted, by the number of items: %.4f an item", extra, perItem(extra))
	assert.LessOrEqual(t, perItem(extra), 2.0+0.05)
}

// R7: so it is through a whole server, with all that encodes and sends the answer.
func TestR7AllocationsOfAListThatIsServed(t *testing.T) {
	noise := 0.05
	if underRaceDetector {
		// Pools lose a quarter of what is put into them, at random.
		noise = 0.6
	}
	s := startAlone(t)
	forms := map[string]string{"list": jsonType, "table": tableType}
	extra := map[string]map[int]int64{"list": {}, "table": {}}
	made := 0
	for _, size := range []int{200, 800} {
		s.fill(t, made, size)
		made = size
		for what, mediaType := range forms {
			extra[what][size] = s.extraAllocations(t, mediaType)
		}
	}
	for what := range forms {
		t.Logf("%s: %v allocations more if redacted, by the number of items: %.3f an item", what, extra[what], perItem(extra[what]))
		assert.LessOrEqual(t, perItem(extra[what]), 2+noise, what)
	}
}

// fill makes objects from one number up to another, and waits until nobody writes them any
// more.
func (s *api) fill(t *testing.T, from, to int) {
	t.Helper()
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := from + worker; i < to; i += 8 {
				// As long as the placeholder in JSON: longer answers take more of everything.
				s.seedObject(t, joinPeer(fmt.Sprintf("item-%d", i), fmt.Sprintf("spec-%014d", i)), fmt.Sprintf("stat-%014d", i))
			}
		})
	}
	group.Wait()
	for i := from; i < to; i++ {
		s.settled(t, fmt.Sprintf("item-%d", i))
	}
}

// extraAllocations is how many more a redacted list of all objects takes.
func (s *api) extraAllocations(t *testing.T, mediaType string) int64 {
	t.Helper()
	// What collecting garbage takes out of pools would be made again, at any time.
	goruntime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	// Others make noise: the median of pairs.
	var extra []int64
	for range 25 {
		full := s.allocations(t, harness.Admin, mediaType)
		extra = append(extra, s.allocations(t, harness.Viewer, mediaType)-full)
	}
	slices.Sort(extra)
	return extra[len(extra)/2]
}

// allocations counts those of this process, which is client and server, while it lists.
func (s *api) allocations(t *testing.T, user, mediaType string) int64 {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	resp, _ := s.send(ctx, t, user, http.MethodGet, "?resourceVersion=0&includeObject=Object", "", []with{accept(mediaType), header("Accept-Encoding", "identity"), revealing()})
	_, err := io.Copy(io.Discard, resp.Body)
	goruntime.ReadMemStats(&after)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
	return int64(after.Mallocs) - int64(before.Mallocs)
}
