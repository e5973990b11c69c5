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
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apiserver/pkg/authorization/authorizer"

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

// R7: a list that is redacted needs at most two more allocations an item than the same
// list in the clear, through the same server: the two structs that hold a value.
func TestR7AllocationsOfAList(t *testing.T) {
	const items = 300
	s := startAlone(t)
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := worker; i < items; i += 8 {
				// As long as the placeholder in JSON: longer answers take more of everything.
				s.seedObject(t, joinPeer(fmt.Sprintf("item-%d", i), fmt.Sprintf("spec-%014d", i)), fmt.Sprintf("stat-%014d", i))
			}
		})
	}
	group.Wait()
	for i := range items {
		s.settled(t, fmt.Sprintf("item-%d", i))
	}
	// What collecting garbage takes out of pools would be made again, at any time.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for what, mediaType := range map[string]string{"list": jsonType, "table": tableType} {
		// With the race detector pools lose things at random: the median of pairs.
		var extra []int64
		for range 25 {
			full := s.allocations(t, harness.Admin, mediaType)
			extra = append(extra, s.allocations(t, harness.Viewer, mediaType)-full)
		}
		slices.Sort(extra)
		median := extra[len(extra)/2]
		t.Logf("%s of %d: %d allocations more if redacted, %.2f an item", what, items, median, float64(median)/items)
		// What the decision of the request takes is not per item, nor is the noise of others.
		assert.LessOrEqual(t, median, int64(2*items+items/2), what)
	}
}

// allocations counts those of this process, which is client and server, while it lists.
func (s *api) allocations(t *testing.T, user, mediaType string) int64 {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	resp, _ := s.send(ctx, t, user, http.MethodGet, "?resourceVersion=0&includeObject=Object", "", []with{accept(mediaType), header("Accept-Encoding", "identity"), revealing()})
	_, err := io.Copy(io.Discard, resp.Body)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
	return int64(after.Mallocs) - int64(before.Mallocs)
}
