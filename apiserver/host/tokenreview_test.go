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

package host

import (
	"bytes"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// logged is what was logged.
type logged struct {
	lock sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.text.String()
}

// logsEverything has all be logged that there is to log, until the test ends.
func logsEverything(t *testing.T) *logged {
	t.Helper()
	all := &logged{}
	state := klog.CaptureState()
	var flags flag.FlagSet
	klog.InitFlags(&flags)
	for name, value := range map[string]string{"v": "10", "logtostderr": "false", "stderrthreshold": "FATAL"} {
		require.NoError(t, flags.Set(name, value))
	}
	klog.SetOutput(all)
	t.Cleanup(state.Restore)
	return all
}

// R15: a token that somebody shows is not in the log, however much is logged, while the host
// cluster is asked whose it is.
func TestR15TokenReviewsAreNotLogged(t *testing.T) {
	const token = "eyJcanary.canary.canary"
	reviews := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reviews++
		sent, _ := io.ReadAll(r.Body)
		assert.Contains(t, string(sent), token)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","spec":{"token":"`+token+`"},"status":{"authenticated":true,"user":{"username":"jane"}}}`)
	}))
	defer server.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	require.NoError(t, err)
	tokens, err := tokenReviews(client.AuthenticationV1())
	require.NoError(t, err)

	log := logsEverything(t)
	for range 2 {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		request.Header.Set("Authorization", "Bearer "+token)
		answer, ok, err := tokens.AuthenticateRequest(request)
		require.NoError(t, err)
		require.True(t, ok)
		assert.Equal(t, "jane", answer.User.GetName())
		assert.Equal(t, []string{user.AllAuthenticated}, answer.User.GetGroups())
		assert.Empty(t, request.Header.Get("Authorization"), "nobody further on sees it")
	}
	klog.Info("the log is read")
	klog.Flush()
	assert.Equal(t, 1, reviews, "it is remembered")
	assert.Contains(t, log.String(), "the log is read")
	assert.NotContains(t, log.String(), token)
}
