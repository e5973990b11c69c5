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

package clusterpeer

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/connstring"
)

func TestInspect(t *testing.T) {
	valid := validString(t)
	tests := []struct {
		name string
		code int
		body any
		want inspection
		err  func(error) bool // nil: no error
	}{
		{name: "parses", code: 200, body: joinPeer("p", "u", 3, valid), want: inspection{uid: "u", generation: 3, found: foundIn(t, valid)}},
		{
			name: "line break at the end", code: 200, body: joinPeer("p", "u", 3, valid+"\n"),
			want: inspection{uid: "u", generation: 3, found: finding{fault: connstring.ErrCharacter}},
		},
		{
			name: "damaged", code: 200, body: joinPeer("p", "u", 3, valid[:20]+valid[21:]),
			want: inspection{uid: "u", generation: 3, found: finding{fault: connstring.ErrChecksum}},
		},
		{
			name: "something else", code: 200, body: joinPeer("p", "u", 3, canary),
			want: inspection{uid: "u", generation: 3, found: finding{fault: connstring.ErrForm}},
		},
		{
			name: "R4: the placeholder is no value", code: 200, body: joinPeer("p", "u", 3, "<omitted>"),
			want: inspection{uid: "u", generation: 3, found: finding{denied: true}},
		},
		{
			name: "R4: forbidden", code: 403, body: failure(403, metav1.StatusReasonForbidden),
			want: inspection{uid: "cached", generation: 1, found: finding{denied: true}},
		},
		{name: "moved on", code: 200, body: joinPeer("p", "other", 4, valid), want: inspection{uid: "other", generation: 4, found: foundIn(t, valid)}},
		{name: "taken away meanwhile", code: 200, body: joinPeer("p", "u", 4, ""), want: inspection{uid: "u", generation: 4}},
		{name: "gone", code: 404, body: failure(404, metav1.StatusReasonNotFound), err: apierrors.IsNotFound},
		{name: "server error", code: 500, body: failure(500, metav1.StatusReasonInternalError), err: apierrors.IsInternalError},
		{name: "unauthorized", code: 401, body: failure(401, metav1.StatusReasonUnauthorized), err: apierrors.IsUnauthorized},
		{name: "error that is no Status", code: 502, body: "bad gateway " + canary, err: func(err error) bool { return err != nil }},
		{name: "not JSON", code: 200, body: canary, err: func(err error) bool { return assert.ObjectsAreEqual(errNotDecoded, err) }},
		{
			name: "wrongly typed", code: 200,
			body: fmt.Sprintf(`{"apiVersion":"peering.entente.dev/v1alpha1","kind":"ClusterPeer","spec":{"join":%q}}`, canary),
			err:  func(err error) bool { return assert.ObjectsAreEqual(errNotDecoded, err) },
		},
		{name: "another kind", code: 200, body: failure(200, ""), err: func(err error) bool { return assert.ObjectsAreEqual(errNotDecoded, err) }},
		{name: "nothing", code: 200, body: "", err: func(err error) bool { return assert.ObjectsAreEqual(errNotDecoded, err) }},
		{name: "redirect", code: 304, body: canary, err: func(err error) bool { return err != nil }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := newFakeServer(t)
			server.answers(test.code, test.body)
			seen, said, err := inspect(t.Context(), server.sensitive(), joinPeer("p", "cached", 1, "<omitted>"))
			assert.Equal(t, test.want, seen)
			assert.Equal(t, seen.found.usable(), said != nil)
			assert.NotContains(t, fmt.Sprintf("%+v %#v", seen, seen), "canary", "it is kept")
			if test.err == nil {
				require.NoError(t, err)
			} else {
				assert.True(t, test.err(err), "%v", err)
				assert.NotContains(t, fmt.Sprintf("%+v %#v", err, err), canary, "R15")
			}
		})
	}
}

func TestInspectEndsWithItsContext(t *testing.T) {
	server := newFakeServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := inspect(ctx, server.sensitive(), joinPeer("p", "cached", 1, "<omitted>"))
	require.ErrorIs(t, err, context.Canceled)
}

// panicking is a client whose every request panics with the canary.
type panicking struct{ rest.Interface }

func (panicking) Get() *rest.Request { panic("because of " + canary) }

// R4, R15: nothing of what the server answered is logged, not at -v=10, not when
// something panics, and not if contextual logging was switched off.
func TestR4InspectLogsNoBody(t *testing.T) {
	text := validString(t)
	body := joinPeer("p", "u", 1, text)
	for _, contextual := range []bool{true, false} {
		t.Run(fmt.Sprintf("contextual=%v", contextual), func(t *testing.T) {
			logs := captureLogs(t, contextual)
			server := newFakeServer(t)
			for code, answer := range map[int]any{200: body, 403: failure(403, metav1.StatusReasonForbidden), 404: failure(404, metav1.StatusReasonNotFound)} {
				server.answers(code, answer)
				_, _, _ = inspect(t.Context(), server.sensitive(), body)
			}
			require.Equal(t, 3, server.requests())
			if contextual {
				assert.Empty(t, logs(), "the request was logged although its logger discards")
			}
			_, _, err := inspect(t.Context(), panicking{}, body)
			require.ErrorIs(t, err, errPanicked)

			got := logs()
			assert.Contains(t, got, "inspect_test.go", "where the panic happened")
			assert.NotContains(t, got, text)
			assert.NotContains(t, got, strings.Split(text, ".")[1][:40])
			if contextual {
				assert.NotContains(t, got, canary)
			}

			// The same request as client-go makes it by default does log the body: the
			// test would notice.
			server.answers(http.StatusOK, body)
			var plain peeringv1alpha1.ClusterPeer
			require.NoError(t, server.sensitive().Get().Resource("clusterpeers").Name("p").SubResource("sensitive").Do(t.Context()).Into(&plain))
			assert.Contains(t, logs(), text)
		})
	}
}

// captureLogs turns the log of the process up to -v=10 and returns what was
// logged so far.
func captureLogs(t *testing.T, contextual bool) func() string {
	t.Helper()
	state := klog.CaptureState()
	t.Cleanup(func() {
		klog.EnableContextualLogging(true)
		state.Restore()
	})
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	require.NoError(t, flags.Parse([]string{"-v=10", "-logtostderr=false", "-stderrthreshold=FATAL"}))
	out := &syncBuffer{}
	klog.SetOutput(out)
	klog.EnableContextualLogging(contextual)
	return func() string {
		klog.Flush()
		return out.String()
	}
}

type syncBuffer struct {
	lock   sync.Mutex
	buffer bytes.Buffer
}

func (b *syncBuffer) Write(data []byte) (int, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.buffer.Write(data)
}

func (b *syncBuffer) String() string {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.buffer.String()
}
