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

package leak_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/wait"

	"entente.dev/entente/test/leak/search"
)

// watched and unwatched are objects of each kind for the watches; a right by name is
// for the first one.
const (
	watched   = "watched"
	unwatched = "unwatched"
)

// opened is an open watch. What it sends is recorded when it is closed.
type opened struct {
	request
	code    int
	allowed []search.Canary
	close   context.CancelFunc
	ended   chan struct{}

	mu   sync.Mutex
	sent []byte
}

// open opens a watch.
func (s *suite) open(t testing.TB, r request, allowed ...search.Canary) *opened {
	ctx, cancel := context.WithCancel(s.t.Context())
	w := &opened{request: r, close: cancel, ended: make(chan struct{})}
	resp, err := s.send(ctx, r)
	if err != nil {
		cancel()
		t.Errorf("%s: %v", r, err)
		close(w.ended)
		return w
	}
	w.code = resp.StatusCode
	w.allowed = allowed
	if w.code != http.StatusOK {
		w.allowed = nil
	}
	go func() {
		defer close(w.ended)
		defer resp.Body.Close()
		part := make([]byte, 64<<10)
		for {
			n, err := resp.Body.Read(part)
			w.mu.Lock()
			w.sent = append(w.sent, part[:n]...)
			w.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return w
}

func (w *opened) holds(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bytes.Contains(w.sent, []byte(text))
}

// over says whether the server has ended it, as it does where it cannot encode.
func (w *opened) over() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

// shows says whether the last event that holds a text also holds a value.
func (w *opened) shows(text, value string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := bytes.LastIndex(w.sent, []byte(text))
	if at < 0 {
		return false
	}
	start, end := bytes.LastIndexByte(w.sent[:at], '\n')+1, len(w.sent)
	if length := bytes.IndexByte(w.sent[at:], '\n'); length >= 0 {
		end = at + length
	}
	event := w.sent[start:end]
	return bytes.Contains(event, []byte(jsonOf(value))) || bytes.Contains(event, []byte(unescaped(value)))
}

// finish closes watches and records what they sent.
func (s *suite) finish(watches []*opened) {
	for _, w := range watches {
		w.close()
		<-w.ended
		s.recorder.Add("watch: "+w.String(), w.sent, w.allowed...)
	}
}

// patience is how long something that should come at once is waited for.
const patience = time.Minute

// await waits until a condition holds, and says whether it did.
func await(limit time.Duration, condition func() bool) bool {
	err := wait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, limit, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	return err == nil
}

// mark changes an object so that everyone who watches it can tell.
func (s *suite) mark(t testing.TB, k *kind, object string) (text string) {
	text = strings.ToLower(rand.Text())
	s.must(t, request{
		caller: s.admin, method: http.MethodPatch, path: k.collection + "/" + object, accept: metadataType, contentType: mergePatchType, what: "mark",
		body: jsonOf(map[string]any{"metadata": map[string]any{"labels": map[string]any{"mark": text}}}),
	})
	return text
}

// put writes a value into all sensitive fields of an object.
func (s *suite) put(t testing.TB, k *kind, object string, value search.Canary) {
	for _, where := range []string{"", "/status"} {
		patch := map[string]any{}
		for _, f := range k.fields {
			if (f.path[0] == "status") == (where != "") {
				k.with(patch, f.path, value.Value())
			}
		}
		if len(patch) > 0 {
			a := s.do(t, request{
				// Of its answer nothing is expected: it goes to nobody who watches.
				caller: s.admin, method: http.MethodPatch, path: k.collection + "/" + object + where, accept: metadataType, contentType: mergePatchType, body: jsonOf(patch),
			})
			if a.code != http.StatusOK {
				t.Errorf("%s of %s: %d %s", where, object, a.code, a.body)
			}
		}
	}
}

// watchQueries are the ways to ask for a watch of a collection, or of one object of it.
func watchQueries(version string) map[string]string {
	return map[string]string{
		"from now on":       "watch=1",
		"from any version":  "watch=1&resourceVersion=0&allowWatchBookmarks=true",
		"resumed":           "watch=1&resourceVersion=" + version,
		"a list first":      "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
		"one by name":       "watch=1&resourceVersion=0&fieldSelector=metadata.name%3D" + watched,
		"one by name, list": "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&fieldSelector=metadata.name%3D" + watched,
	}
}

// watches opens watches of every form for every caller and lets things happen.
func (s *suite) watches(t *testing.T) {
	for _, k := range s.table.kinds {
		s.seed(t, k, watched)
		s.seed(t, k, unwatched)
		watches := s.openAll(t, k)
		for range 3 {
			for _, object := range []string{watched, unwatched} {
				s.put(t, k, object, s.canaries.written)
				s.mark(t, k, object)
				s.seed(t, k, object)
			}
		}
		s.remove(t, k, unwatched)
		s.seed(t, k, unwatched)
		s.put(t, k, watched, s.canaries.written)
		last := s.mark(t, k, watched)
		for _, w := range watches {
			if w.code != http.StatusOK {
				continue
			}
			if !await(patience, func() bool { return w.over() || w.holds(last) }) || w.over() {
				if strings.HasPrefix(w.accept, jsonType) {
					s.complain("%s: the last change has not come", w)
				}
				continue
			}
			if shown := w.shows(last, s.canaries.written.Value()); !strings.Contains(w.accept, "PartialObjectMetadata") && shown != w.caller.sees("watch", w.object) {
				s.complain("%s: it shows the value: %v", w, shown)
			}
		}
		s.finish(watches)
		for _, object := range []string{watched, unwatched} {
			s.remove(t, k, object)
		}
	}
}

func (s *suite) openAll(t *testing.T, k *kind) []*opened {
	var requests []request
	version := s.version(t, k, watched)
	for _, o := range s.table.operations {
		for _, c := range s.callers {
			queries, object := map[string]string{}, ""
			switch {
			case o.kind != k:
			case o.action == "list":
				queries = watchQueries(version)
			case o.action == "watchlist":
				queries = map[string]string{"the old way": "resourceVersion=0"}
			case o.action == "watch":
				queries, object = map[string]string{"the old way": "resourceVersion=0"}, watched
			}
			for what, query := range queries {
				object := object
				if strings.Contains(query, "metadata.name") {
					object = watched
				}
				for _, form := range forms(&operation{action: "watch"}) {
					query := query + "&labelSelector=" + label + "%20in%20(" + watched + "," + unwatched + ")"
					if strings.Contains(form, "as=Table") {
						query += "&includeObject=Object"
					}
					requests = append(requests, request{
						caller: c, method: o.method, path: strings.ReplaceAll(o.path, "{name}", watched) + "?" + query, accept: form, verb: "watch", object: object, what: what,
					})
				}
			}
		}
	}
	watches := make([]*opened, len(requests))
	var opening sync.WaitGroup
	slots := make(chan struct{}, 32)
	for i, r := range requests {
		opening.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			watches[i] = s.open(t, r, s.allowed(r, http.StatusOK)...)
		})
	}
	opening.Wait()
	open := map[string]int{}
	for _, w := range watches {
		if w.code == http.StatusOK {
			open[w.caller.name]++
		}
	}
	for _, c := range s.callers {
		if c.name != "anonymous" && open[c.name] < 10 {
			s.complain("%s has only %d watches open", c.name, open[c.name])
		}
	}
	return watches
}

// version is the resource version of an object.
func (s *suite) version(t testing.TB, k *kind, object string) string {
	var obj struct {
		Metadata struct{ ResourceVersion string }
	}
	s.getJSON(t, k.collection+"/"+object, metadataType, &obj)
	return obj.Metadata.ResourceVersion
}

// rightsTurn takes the right to see from somebody whose watches are open, and gives it
// back. What the fields hold in between he must not see.
func (s *suite) rightsTurn(t *testing.T) {
	turning := s.plan.turning
	const user, object = "turned", "turned"
	with, without := s.rights(nil, "watch"), s.rights(nil, "create")
	s.AddUser(t, user, with...)
	turned := &caller{name: user, user: user, sees: nothing, client: s.newClient(user)}
	for _, k := range s.table.kinds {
		s.seed(t, k, object)
		var watches []*opened
		for what, query := range watchQueries(s.version(t, k, object)) {
			for _, form := range forms(&operation{action: "watch"})[:3] {
				query := strings.ReplaceAll(query, watched, object) + "&labelSelector=" + label + "%3D" + object
				if strings.Contains(form, "as=Table") {
					query += "&includeObject=Object"
				}
				r := request{caller: turned, method: http.MethodGet, path: k.collection + "?" + query, accept: form, what: what}
				w := s.open(t, r, slices.Concat(s.canaries.stored, s.canaries.inside, []search.Canary{s.canaries.written})...)
				watches = append(watches, w)
				require.Equalf(t, http.StatusOK, w.code, "%s", r)
			}
		}
		// follows says whether all watches show a value, or none does.
		follows := func(value search.Canary, want bool) bool {
			return await(turning, func() bool {
				text := s.mark(t, k, object)
				for _, w := range watches {
					if !await(patience, func() bool { return w.holds(text) }) {
						s.complain("%s: a change has not come", w)
						return true
					}
					if !strings.Contains(w.accept, "PartialObjectMetadata") && w.shows(text, value.Value()) != want {
						return false
					}
				}
				return true
			})
		}
		if !follows(s.canaries.stored[0], true) {
			s.complain("R3: the watches of somebody with the right show no value")
		}
		s.SetRules(t, user, without...)
		if !follows(s.canaries.stored[0], false) {
			s.complain("R3: the watches of somebody who has lost the right still show values after %v", turning)
		}
		s.put(t, k, object, s.canaries.between)
		s.mark(t, k, object)
		if !follows(s.canaries.between, false) {
			s.complain("R3: a value is shown after the right was lost")
		}
		s.put(t, k, object, s.canaries.written)
		text := s.mark(t, k, object)
		for _, w := range watches {
			await(patience, func() bool { return w.holds(text) })
		}
		s.SetRules(t, user, with...)
		if !follows(s.canaries.written, true) {
			s.complain("R3: the watches of somebody who has got the right show no value after %v", turning)
		}
		s.finish(watches)
		s.remove(t, k, object)
	}
}
