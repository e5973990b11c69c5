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
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"entente.dev/entente/test/harness"
)

// seenIn is the sensitive spec value in an event, whatever its form.
func seenIn(t *testing.T, e event) string {
	t.Helper()
	obj := e.Object
	if obj["kind"] == "Table" {
		rows := obj["rows"].([]any)
		require.Len(t, rows, 1)
		obj = rows[0].(map[string]any)["object"].(map[string]any)
	}
	return text(t, obj, specField...)
}

// untilSeen lets an object change until an open watch shows a value, which must come
// about by itself, and once it did stay.
func (w *stream) untilSeen(t *testing.T, change func(), want, before string) {
	t.Helper()
	harness.Eventually(t, w.what+" follows the right", func(context.Context) bool {
		change()
		for {
			e, ok := w.next(t)
			require.True(t, ok, "R3: a watch is not ended for a lost right")
			if e.Type == "BOOKMARK" {
				continue
			}
			require.Equal(t, "MODIFIED", e.Type)
			seen := seenIn(t, e)
			if seen != want {
				require.Equal(t, before, seen)
			}
			return seen == want
		}
	})
	for range 3 {
		change()
		e, ok := w.next(t)
		require.True(t, ok)
		if e.Type != "BOOKMARK" {
			require.Equal(t, want, seenIn(t, e), "the right has not changed again")
		}
	}
}

// R3: a right that is lost or gained tells on the later events of an open watch, in
// every form, and the watch goes on; even without the right to watch at all, as
// everywhere in Kubernetes, but then redacted.
func TestR3OpenWatchFollowsTheRight(t *testing.T) {
	s := startAlone(t)
	const initial = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
	for name, test := range map[string]struct {
		query, accept string
		names         func(object string) []string
	}{
		"objects":            {"?resourceVersion=0", jsonType, nil},
		"tables":             {"?resourceVersion=0&includeObject=Object", tableType, nil},
		"watch-list":         {"?" + initial, jsonType, nil},
		"watch-list, tables": {"?includeObject=Object&" + initial, tableType, nil},
		"resumed":            {"?allowWatchBookmarks=true", jsonType, nil},
		"the old way":        {groupVersion + "/watch/clusterpeers?resourceVersion=0", jsonType, nil},
		"one by name":        {"?resourceVersion=0&fieldSelector=metadata.name%3D", jsonType, func(object string) []string { return []string{object} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := "follows-" + strings.NewReplacer(" ", "-", ",", "").Replace(name)
			secret, user := s.secret(), "user-of-"+object
			var names []string
			query := test.query
			if test.names != nil {
				names = test.names(object)
				query += object
			}
			with := func(extra ...rbacv1.PolicyRule) []rbacv1.PolicyRule { return append(operatorRules(), extra...) }
			sight := harness.Rule([]string{"watch"}, []string{"clusterpeers/sensitive"}, names...)
			s.AddUser(t, user, with(sight)...)
			s.seedObject(t, set(t, joinPeer(object, secret), object, "metadata", "labels", "of"), "")
			obj := s.settled(t, object)
			query += "&labelSelector=of%3D" + object // the other tests' objects change as well
			if name == "resumed" {
				query += "&resourceVersion=" + version(t, obj)
			}
			n := 0
			change := func() {
				n++
				s.do(t, harness.Operator, http.MethodPatch, object, fmt.Sprintf(`{"metadata":{"labels":{"n":"%d"}}}`, n), as(mergePat)).want(t, 200)
			}
			w := s.watch(t, user, query, accept(test.accept), revealing())
			require.Equal(t, http.StatusOK, w.code)
			if name != "resumed" {
				e, ok := w.next(t)
				require.True(t, ok)
				require.Equal(t, "ADDED", e.Type)
				assert.Equal(t, secret, seenIn(t, e))
			}
			w.untilSeen(t, change, secret, secret)

			s.SetRules(t, user, with()...)
			w.untilSeen(t, change, placeholder, secret)
			s.SetRules(t, user, with(sight)...)
			w.untilSeen(t, change, secret, placeholder)
			// Nothing at all any more: the permission to watch is gone too.
			s.SetRules(t, user)
			w.untilSeen(t, change, placeholder, secret)
			s.do(t, user, http.MethodGet, "?watch=1", "").want(t, http.StatusForbidden)
			s.do(t, harness.Operator, http.MethodDelete, object, "").want(t, 200)
			for {
				e, ok := w.next(t)
				require.True(t, ok)
				if e.Type == "DELETED" {
					assert.Equal(t, placeholder, seenIn(t, e))
					break
				}
			}
		})
	}
}

// R3: a right to one object, by name, opens no watch of all; and the decision is
// about who is impersonated, not about who impersonates.
func TestR3WhoseRight(t *testing.T) {
	s := startAlone(t)
	secret := s.secret()
	s.seed(t, "one", secret, "")
	s.AddUser(t, "named", append(operatorRules(), harness.Rule([]string{"watch"}, []string{"clusterpeers/sensitive"}, "one"))...)
	s.AddUser(t, "blind", operatorRules()...)
	s.AddUser(t, "actor", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"users"}, Verbs: []string{"impersonate"}, ResourceNames: []string{"named", "blind"}})
	const byName = "&fieldSelector=metadata.name%3Done"
	for what, test := range map[string]struct {
		user, as, query string
		reveals         bool
	}{
		"all":                           {"named", "", "", false},
		"by name":                       {"named", "", byName, true},
		"by another selector":           {"named", "", "&fieldSelector=metadata.name%21%3Dtwo", false},
		"impersonated":                  {"actor", "named", byName, true},
		"impersonated without":          {"actor", "blind", byName, false},
		"the admin as somebody without": {harness.Admin, "blind", byName, false},
		"the admin as somebody with":    {harness.Admin, "named", byName, true},
	} {
		t.Run(what, func(t *testing.T) {
			opts := []with{}
			if test.as != "" {
				opts = append(opts, header("Impersonate-User", test.as))
			}
			want := placeholder
			if test.reveals {
				want, opts = secret, append(opts, revealing(secret))
			}
			w := s.watch(t, test.user, "?resourceVersion=0"+test.query, opts...)
			require.Equal(t, http.StatusOK, w.code)
			e, ok := w.next(t)
			require.True(t, ok)
			assert.Equal(t, want, seenIn(t, e))
		})
	}
}

// R3: the watches of a user ask once together, and then once in 5 seconds.
func TestR3WatchesAskTogether(t *testing.T) {
	var asked atomic.Int32
	s := startAlone(t, harness.WithAuthorizer(func(inner authorizer.Authorizer) authorizer.Authorizer {
		return counting{inner, func(a authorizer.Attributes) {
			if a.GetSubresource() == "sensitive" && a.GetVerb() == "watch" && a.GetUser().GetName() == harness.Viewer {
				asked.Add(1)
			}
		}}
	}))
	s.seed(t, "a", s.secret(), "")
	begin := time.Now()
	open := make([]*stream, 60)
	var group sync.WaitGroup
	for i := range open {
		mediaType := []string{jsonType, tableType, metaType}[i%3]
		group.Go(func() {
			open[i] = s.watch(t, harness.Viewer, "?resourceVersion=0&includeObject=Object", accept(mediaType))
			_, ok := open[i].next(t)
			assert.True(t, ok)
		})
	}
	group.Wait()
	for i := range 20 {
		s.do(t, harness.Operator, http.MethodPatch, "a", fmt.Sprintf(`{"metadata":{"labels":{"n":"%d"}}}`, i), as(mergePat)).want(t, 200)
	}
	for _, w := range open {
		for range 20 {
			_, ok := w.next(t)
			require.True(t, ok)
		}
	}
	calls, rounds := asked.Load(), int32(time.Since(begin)/(5*time.Second))
	assert.LessOrEqual(t, calls, 1+rounds)
	harness.Eventually(t, "it is asked again", func(context.Context) bool { return asked.Load() > calls })
	for _, w := range open {
		w.cancel()
	}
}

// counting tells of each call.
type counting struct {
	authorizer.Authorizer
	tell func(authorizer.Attributes)
}

func (c counting) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	c.tell(a)
	return c.Authorizer.Authorize(ctx, a)
}
