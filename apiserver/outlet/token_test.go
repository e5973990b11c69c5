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

package outlet

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/klog/v2"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/record"
)

// H1: one token does for many requests at a time and for most of its life, and the next one
// is made in time.
func TestH1TokensAreKept(t *testing.T) {
	w := newWorld(t)
	hold := make(chan struct{})
	w.host.set(func() { w.host.hold = hold })
	var asking sync.WaitGroup
	for range 100 {
		asking.Go(func() { assert.Equal(t, http.StatusOK, w.get().code) })
	}
	require.Eventually(t, func() bool { return len(w.host.requests()) == 1 }, soon, tick)
	close(hold)
	asking.Wait()
	assert.Len(t, w.host.requests(), 1)

	w.clock.Step(8 * time.Minute)
	assert.Equal(t, http.StatusOK, w.get().code)
	assert.Len(t, w.host.requests(), 1)
	w.clock.Step(time.Second)
	assert.Equal(t, http.StatusOK, w.get().code)
	assert.Len(t, w.host.requests(), 2)
}

// H1: a token that nobody uses is forgotten once it is too old, and those used longest ago
// when there are too many.
func TestH1TokensAreForgotten(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Limits = Limits{Tokens: 2} })
	w.change(func() {
		for _, pod := range []string{"a", "b", "c"} {
			w.callers[pod] = consumer(pod)
		}
	})
	for _, pod := range []string{"a", "b", "a", "c", "a"} {
		assert.Equal(t, http.StatusOK, w.get("Test-Caller", pod).code)
	}
	assert.Len(t, w.host.requests(), 3)
	w.get("Test-Caller", "b")
	assert.Len(t, w.host.requests(), 4)

	count := func() int {
		n := 0
		w.outlet.tokens.kept.RemoveAll(func(any) bool { n++; return false })
		return n
	}
	assert.Equal(t, 2, count())
	w.clock.Step(9 * time.Minute)
	w.eventually(func() bool { return count() == 0 }, "they are forgotten")
}

// H1: a token is for one caller, one Pod, one peer and one capability.
func TestH1TokensAreNotShared(t *testing.T) {
	w := newWorld(t)
	w.change(func() {
		w.callers["pod"], w.callers["other pod"] = consumer("pod"), consumer("other-pod")
		w.callers["other"] = serviceaccount.UserInfo("other", "other", saUID)
		w.specs[eastUID] = record.Spec{Capabilities: []string{"logs", "metrics"}}
		w.capabilities["metrics"] = &peeringv1alpha1.PeeringCapability{Spec: w.capabilities["logs"].Spec}
	})
	both := offers("logs", "1.0.0")
	both.Capabilities = append(both.Capabilities, offers("metrics", "1.0.0").Capabilities...)
	w.edit(func(p *record.Peer) { p.Offer.Body, p.Remote.Offer.Body = both, both })
	presented := map[string]bool{}
	w.far.answers(func(rw http.ResponseWriter, r *http.Request) {
		presented[r.Header.Get("Authorization")] = true
		rw.WriteHeader(http.StatusNoContent)
	})
	for range 2 {
		for _, who := range []string{"", "pod", "other pod", "other"} {
			assert.Equal(t, http.StatusNoContent, w.get("Test-Caller", who).code)
		}
		assert.Equal(t, http.StatusNoContent, w.ask(http.MethodGet, "metrics/api", nil).code)
	}
	requests := w.host.requests()
	require.Len(t, requests, 5)
	assert.Len(t, presented, 5)
	assert.Equal(t, &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: "pod", UID: types.UID("uid-of-pod")}, requests[1].Spec.BoundObjectRef)
	assert.Equal(t, "POST /api/v1/namespaces/other/serviceaccounts/other/token", requests[3].Path)
	assert.Equal(t, []string{"peering.entente.dev:" + east + ":metrics"}, requests[4].Spec.Audiences)
}

// H1: a token is for the very ServiceAccount that called, not for one that was made anew
// under its name.
func TestH1TokenOfAnother(t *testing.T) {
	w := newWorld(t)
	w.host.set(func() { w.host.uid = "another" })
	for range 2 {
		answer := w.get()
		assert.Equal(t, http.StatusForbidden, answer.code)
		assert.Contains(t, answer.status(t).Message, "another one has its name")
		assert.NotContains(t, answer.body, w.host.last())
	}
	assert.Zero(t, w.far.connections.Load())
	assert.Len(t, w.host.requests(), 2, "it is not kept")
}

// H1: what the caller is told where the host makes no token.
func TestH1NoToken(t *testing.T) {
	for code, says := range map[int32]string{
		http.StatusForbidden: `a Role in namespace module, bound to Entente's ServiceAccount, with verb create on resource serviceaccounts/token and resourceNames ["controller"]`,
		http.StatusNotFound:  "is gone",
		http.StatusConflict:  "is gone",
	} {
		w := newWorld(t)
		reasons := map[int32]metav1.StatusReason{403: metav1.StatusReasonForbidden, 404: metav1.StatusReasonNotFound, 409: metav1.StatusReasonConflict}
		w.host.set(func() {
			w.host.refuse = &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: code, Reason: reasons[code], Message: canary}
		})
		answer := w.get()
		assert.Equal(t, http.StatusForbidden, answer.code)
		assert.Contains(t, answer.status(t).Message, says)
		assert.NotContains(t, answer.body, canary)

		w.host.set(func() { w.host.refuse = nil })
		assert.Equal(t, http.StatusOK, w.get().code, "it is asked for again")
	}
}

// H1: a token that the peer does not take is not used again, and no more than one is made in
// a minute, whatever the peer says.
func TestH1TokenRefused(t *testing.T) {
	w := newWorld(t)
	good := *w.far.handler.Load()
	w.far.answers(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusUnauthorized) })
	for minute := range 3 {
		for range 20 {
			assert.Equal(t, http.StatusServiceUnavailable, w.get().code, "no client is to ask for other credentials")
		}
		assert.Len(t, w.host.requests(), 1+minute)
		w.clock.Step(time.Minute)
		assert.Equal(t, http.StatusServiceUnavailable, w.get().code) // and gives it up
	}
	w.far.answers(good)
	assert.Equal(t, http.StatusOK, w.get().code)
	assert.Len(t, w.host.requests(), 4)
}

// H1, G7: what lasts ends with the token by which it was let in.
func TestH1EndsWithTheToken(t *testing.T) {
	w := newWorld(t)
	w.far.answers(events(nil))
	early, err := w.open(http.MethodGet, "logs/api/v1/pods?watch=1", nil)
	require.NoError(t, err)
	defer early.Body.Close()
	w.clock.Step(5 * time.Minute)
	late, err := w.open(http.MethodGet, "logs/api/v1/pods?watch=1", nil)
	require.NoError(t, err)
	defer late.Body.Close()
	assert.Len(t, w.host.requests(), 1)
	w.clock.Step(4 * time.Minute)
	next, err := w.open(http.MethodGet, "logs/api/v1/pods?watch=1", nil)
	require.NoError(t, err)
	defer next.Body.Close()
	assert.Len(t, w.host.requests(), 2)
	one, two, three := ends(early.Body), ends(late.Body), ends(next.Body)
	w.clock.Step(59 * time.Second)
	goesOn(t, one, two)
	w.clock.Step(time.Second)
	assert.NoError(t, <-one)
	assert.NoError(t, <-two)
	goesOn(t, three) // it has another token
}

// A host whose clock is far behind makes tokens that are of no use.
func TestH1TokenThatHasEnded(t *testing.T) {
	w := newWorld(t)
	w.host.set(func() { w.host.life = -time.Second })
	answer := w.get()
	assert.Equal(t, http.StatusServiceUnavailable, answer.code)
	assert.Contains(t, answer.status(t).Message, "by the clock of this replica")
	assert.Zero(t, w.far.connections.Load())
}

// The caller who asked first may go: others wait for the same token.
func TestH1TokenOutlivesItsCaller(t *testing.T) {
	w := newWorld(t)
	hold := make(chan struct{})
	w.host.set(func() { w.host.hold = hold })
	request, err := http.NewRequest(http.MethodGet, w.front+"logs/api", nil)
	require.NoError(t, err)
	ctx, cancel := contextOf(t)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		response, err := w.client.Do(request.WithContext(ctx))
		if err == nil {
			_ = response.Body.Close()
		}
	}()
	require.Eventually(t, func() bool { return len(w.host.requests()) == 1 }, soon, tick)
	cancel()
	<-gone
	require.Eventually(t, func() bool { return turnoutOf(w) == 0 }, soon, tick)
	done := make(chan reply, 1)
	go func() { done <- w.get() }()
	require.Eventually(t, func() bool { return turnoutOf(w) == 1 }, soon, tick)
	close(hold)
	assert.Equal(t, http.StatusOK, (<-done).code)
	assert.Len(t, w.host.requests(), 1)
}

// H1, R15: a token that is kept prints itself nowhere.
func TestH1TokensDoNotPrint(t *testing.T) {
	w := newWorld(t)
	assert.Equal(t, http.StatusOK, w.get().code)
	kept, ok := w.outlet.tokens.kept.Get(badge{caller{namespace: namespace, name: account, uid: saUID}, "peering.entente.dev:" + east + ":logs"})
	require.True(t, ok)
	made := w.host.last()
	require.Equal(t, made, string(kept.(*token).secret.Reveal()))
	w.stop() // nothing looks at them any more
	encoded, err := json.Marshal(kept)
	require.NoError(t, err)
	c := &crossing{token: kept.(*token)}
	for _, text := range []string{
		fmt.Sprintf("%v %+v %#v %s %q %x", kept, kept, kept, kept, kept, kept), fmt.Sprintf("%v %+v %#v", *c, *c, *c),
		fmt.Sprintf("%v %+v", w.outlet.tokens.kept, w.outlet.tokens.kept), string(encoded),
	} {
		assert.NotContains(t, text, made)
		assert.NotContains(t, text, fmt.Sprintf("%x", made))
	}
}

// Whose a token is is read from a token only.
func TestH1WhoseToken(t *testing.T) {
	who := caller{namespace: "n", name: "a", uid: "u"}
	payload := func(text string) string { return "e30." + base64.RawURLEncoding.EncodeToString([]byte(text)) + ".c2ln" }
	good := `{"kubernetes.io":{"namespace":"n","serviceaccount":{"name":"a","uid":"u"}}}`
	assert.True(t, isOf(payload(good), who))
	for _, token := range []string{
		"", "a.b", "..", payload(""), payload("{}"), payload("[]"), payload(good) + ".x", "e30.%%%.c2ln",
		payload(`{"kubernetes.io":{"namespace":"m","serviceaccount":{"name":"a","uid":"u"}}}`),
		payload(`{"kubernetes.io":{"namespace":"n","serviceaccount":{"name":"b","uid":"u"}}}`),
		payload(`{"kubernetes.io":{"namespace":"n","serviceaccount":{"name":"a","uid":"v"}}}`),
		payload(`{"kubernetes.io":{"namespace":"n","serviceaccount":{"name":"a"}}}`),
	} {
		assert.False(t, isOf(token, who), token)
	}
}

// R15: a token that is made is not in the log, however much is logged.
func TestR15TokensAreNotLogged(t *testing.T) {
	w := newWorld(t)
	state := klog.CaptureState()
	defer state.Restore()
	var flags flag.FlagSet
	klog.InitFlags(&flags)
	for name, value := range map[string]string{"v": "10", "logtostderr": "false", "stderrthreshold": "FATAL"} {
		require.NoError(t, flags.Set(name, value))
	}
	log := &buffer{}
	klog.SetOutput(log)
	assert.Equal(t, http.StatusOK, w.get().code)
	klog.Info("the log is read")
	klog.Flush()
	require.NotEmpty(t, w.host.last())
	assert.Contains(t, log.String(), "the log is read")
	assert.NotContains(t, log.String(), w.host.last())
}

// buffer is one that several write to.
type buffer struct {
	lock sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.text.String()
}
