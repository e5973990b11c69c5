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

package entrance

import (
	"context"
	"crypto/tls"
	"flag"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/klog/v2"
)

// G7: what is let in reaches the host as the workload, in the group of its cluster, with
// the query, the body and the harmless headers of the request, and nothing else.
func TestG7RequestsAreCarried(t *testing.T) {
	f := newFixture(t, Limits{})
	for _, two := range []bool{false, true} {
		transport := f.client(two)
		r := f.request(t.Context(), http.MethodPatch, apiPath+"/api/v1/namespaces/shop/configmaps/a?fieldManager=x%20y&force=true", strings.NewReader(`{"data":{}}`))
		for name, value := range map[string]string{
			"Content-Type": "application/apply-patch+yaml", "Accept": "application/json", "User-Agent": "module/1.0", "If-Match": "x",
			"Impersonate-User": "system:admin", "Impersonate-Group": "system:masters", "Impersonate-Uid": "1", "Impersonate-Extra-Scopes": "x",
			"X-Remote-User": "system:admin", "X-Remote-Group": "system:masters", "X-Remote-Extra-Foo": "x", "X-Forwarded-For": "192.0.2.1",
			"Forwarded": "for=192.0.2.1", "X-Forwarded-Host": "x", "X-Forwarded-Proto": "http", "Cookie": "a=b", "Proxy-Authorization": "Basic eA==",
			"Audit-Id": "theirs", "X-Custom": "x", "Origin": "https://192.0.2.1", "Te": "trailers", "Traceparent": "x",
		} {
			r.Header.Set(name, value)
		}
		r.Trailer = http.Header{"Impersonate-User": {"system:admin"}, "X-Remote-User": {"system:admin"}}
		r.ContentLength = -1
		a := f.send(transport, r)
		require.Equal(t, http.StatusOK, a.code, a.body)
		assert.Equal(t, `{"kind":"ConfigMapList"}`, a.body)
		got := f.host.take()
		require.Len(t, got, 1)
		assert.Equal(t, "PATCH /base/api/v1/namespaces/shop/configmaps/a?fieldManager=x%20y&force=true", got[0].method+" "+got[0].uri)
		assert.Equal(t, `{"data":{}}`, got[0].body)
		assert.Empty(t, got[0].trailer)
		audit := f.audited(1)
		assert.Equal(t, http.Header{
			"Accept": {"application/json"}, "Content-Type": {"application/apply-patch+yaml"}, "User-Agent": {"module/1.0"}, "If-Match": {"x"},
			"Impersonate-User": {workload}, "Impersonate-Group": {"peer:" + west},
			"Audit-Id": {audit[0].ID}, "Accept-Encoding": {"gzip"}, // that is the transport's
		}, got[0].header)
	}
}

// G7: who somebody is, is said by one token in one place.
func TestG7OneTokenInOnePlace(t *testing.T) {
	f := newFixture(t, Limits{})
	token := f.token()
	line := "GET " + apiPath + "/api/v1/namespaces/shop/configmaps HTTP/1.1\nHost: x\n"
	for name, test := range map[string]struct {
		request string
		code    int
	}{
		"as it should be":           {line + "Authorization: Bearer " + token + "\n\n", http.StatusOK},
		"names in any case":         {line + "aUTHORIZATION: bEARER " + token + "\n\n", http.StatusOK},
		"none":                      {line + "\n", http.StatusUnauthorized},
		"empty":                     {line + "Authorization:\n\n", http.StatusUnauthorized},
		"empty bearer":              {line + "Authorization: Bearer \n\n", http.StatusUnauthorized},
		"basic":                     {line + "Authorization: Basic " + token + "\n\n", http.StatusUnauthorized},
		"no scheme":                 {line + "Authorization: " + token + "\n\n", http.StatusUnauthorized},
		"two":                       {line + "Authorization: Bearer " + token + "\nAuthorization: Bearer " + token + "\n\n", http.StatusUnauthorized},
		"two, in another case":      {line + "Authorization: Bearer " + token + "\nauthorization: Basic eA==\n\n", http.StatusUnauthorized},
		"two in one":                {line + "Authorization: Bearer " + token + ", Bearer " + token + "\n\n", http.StatusUnauthorized},
		"two spaces":                {line + "Authorization: Bearer  " + token + "\n\n", http.StatusUnauthorized},
		"in the query":              {strings.Replace(line, " HTTP", "?access_token="+token+"&token="+token+" HTTP", 1) + "\n", http.StatusUnauthorized},
		"in a cookie":               {line + "Cookie: Authorization=Bearer " + token + "\n\n", http.StatusUnauthorized},
		"named by Connection":       {line + "Authorization: Bearer " + token + "\nConnection: Authorization, Accept\n\n", http.StatusOK},
		"of a proxy":                {line + "Proxy-Authorization: Bearer " + token + "\n\n", http.StatusUnauthorized},
		"protocol of a WebSocket":   {line + "Connection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Key: x\nSec-WebSocket-Version: 13\nSec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io." + token + ", x\n\n", http.StatusUnauthorized},
		"two, upgrading":            {line + "Authorization: Bearer " + token + "\nauthorization: Bearer " + token + "\nConnection: Upgrade\nUpgrade: websocket\n\n", http.StatusUnauthorized},
		"in a trailer":              {strings.Replace(line, "GET", "POST", 1) + "Transfer-Encoding: chunked\nTrailer: Authorization\n\n2\n{}\n0\nAuthorization: Bearer " + token + "\n\n", http.StatusUnauthorized},
		"another one in a trailer":  {strings.Replace(line, "GET", "POST", 1) + "Authorization: Bearer " + token + "\nTransfer-Encoding: chunked\nTrailer: Impersonate-User\n\n2\n{}\n0\nImpersonate-User: x\n\n", http.StatusOK},
		"impersonating in any case": {line + "Authorization: Bearer " + token + "\niMPERSONATE-uSER: system:admin\nIMPERSONATE-GROUP: system:masters\n\n", http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			response, _, _ := f.raw(test.request)
			a := f.read(response)
			assert.Equal(t, test.code, a.code, a.body)
			got := f.host.take()
			if test.code != http.StatusOK {
				assert.Empty(t, got)
				return
			}
			require.Len(t, got, 1)
			assert.Equal(t, []string{workload}, got[0].header["Impersonate-User"])
			assert.Equal(t, []string{"peer:" + west}, got[0].header["Impersonate-Group"])
			assert.NotContains(t, got[0].header, "Authorization")
			assert.Empty(t, got[0].trailer)
		})
	}
}

// G7: of an answer only what is known to be harmless passes, and what is no answer of an
// API is none.
func TestG7Answers(t *testing.T) {
	f := newFixture(t, Limits{})
	for _, two := range []bool{false, true} {
		transport := f.client(two)
		send := func(answer http.HandlerFunc) answer {
			f.host.answers(answer)
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, _ textproto.MIMEHeader) error {
				t.Error("something came before the answer", code)
				return nil
			}})
			return f.send(transport, f.request(ctx, http.MethodGet, apiPath+"/api/v1/namespaces/shop/configmaps", nil))
		}
		a := send(func(w http.ResponseWriter, _ *http.Request) {
			for _, name := range []string{"Set-Cookie", "Location", "Www-Authenticate", "Access-Control-Allow-Origin", "X-Remote-User", "Server", "Alt-Svc", "X-Kubernetes-Pf-Flowschema-Uid", "Audit-Id", "Warning", "Etag"} {
				w.Header().Set(name, "x")
			}
			w.Header().Set("Content-Type", "application/json;stream=watch")
			w.Header().Set("Trailer", "X-Announced")
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, "{}")
			w.(http.Flusher).Flush()
			w.Header().Set("X-Announced", "x")
			w.Header().Set(http.TrailerPrefix+"Set-Cookie", "x")
		})
		assert.Equal(t, http.StatusTeapot, a.code)
		assert.Equal(t, "{}", a.body)
		assert.Equal(t, http.Header{"Content-Type": {"application/json;stream=watch"}, "Audit-Id": {"x"}, "Warning": {"x"}, "Etag": {"x"}, "X-Content-Type-Options": {"nosniff"}}, a.header)
		assert.Empty(t, a.trailer, "trailers do not pass, announced or not")

		a = send(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Set-Cookie", "x")
			w.Header().Set("Link", "</x>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
			w.Header().Del("Set-Cookie")
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, "line")
		})
		assert.Equal(t, http.StatusOK, a.code, "what comes before an answer does not pass")
		assert.Equal(t, "line", a.body)
		assert.Empty(t, a.header["Set-Cookie"])
		assert.Empty(t, a.header["Link"])

		for name, answer := range map[string]http.HandlerFunc{
			"a page": func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, "<script>")
			},
			"an error page": func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				w.WriteHeader(http.StatusForbidden)
			},
			"two types": func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = []string{"application/json", "text/html"}
			},
			"no type": func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = nil
				_, _ = io.WriteString(w, "<script>")
			},
			"a script": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/javascript") },
			"redirect": func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "https://192.0.2.1/", http.StatusFound)
			},
			"moved": func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/x")
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusPermanentRedirect)
			},
			"choices": func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusMultipleChoices)
			},
			"ends too early": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		} {
			a := send(answer)
			assert.Equal(t, http.StatusBadGateway, a.code, name)
			assert.Contains(t, []Reason{InvalidAnswer, HostUnreachable}, a.reason, name)
			assert.Empty(t, a.header["Location"])
			assert.NotContains(t, a.body, "script")
		}
		a = send(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) })
		assert.Equal(t, http.StatusNotModified, a.code)
		a = send(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
		assert.Equal(t, http.StatusNoContent, a.code)
	}
	f.host.server.CloseClientConnections()
	f.host.server.Listener.Close()
	f.entrance.config.API.Plain.(utilnet.RoundTripperWrapper).WrappedRoundTripper().(*http.Transport).CloseIdleConnections()
	assert.Equal(t, HostUnreachable, f.get("/api/v1/namespaces/shop/configmaps").reason)
}

// G7: a body is as long as kube-apiserver takes it, and arrives in time.
func TestG7Bodies(t *testing.T) {
	f := newFixture(t, Limits{Body: 1})
	transport := f.client(true)
	path := apiPath + "/api/v1/namespaces/shop/configmaps"
	long := strings.Repeat("x", maxBody+1)
	a := f.send(transport, f.request(t.Context(), http.MethodPost, path, strings.NewReader(long)))
	assert.Equal(t, BodyTooLarge, a.reason)
	assert.Empty(t, f.host.take(), "its length is told")

	f.entrance.limits.Body = soon
	r := f.request(t.Context(), http.MethodPost, path, io.MultiReader(strings.NewReader(long)))
	a = f.send(transport, r)
	assert.Equal(t, BodyTooLarge, a.reason, "its length is found out")
	a = f.send(transport, f.request(t.Context(), http.MethodPost, path, strings.NewReader(long[:maxBody])))
	assert.Equal(t, http.StatusOK, a.code)

	f.entrance.limits.Body = 50e6
	reader, writer := io.Pipe()
	drip := f.request(t.Context(), http.MethodPost, path, reader)
	go func() { _, _ = io.WriteString(writer, "{") }()
	assert.Equal(t, BodyTooSlow, f.send(f.client(true), drip).reason)
	_ = writer.Close()
	f.audited(4)
	// Over HTTP/1.1 there is no telling.
	opened, err := (&tls.Dialer{Config: f.tls()}).DialContext(t.Context(), "tcp", f.address)
	require.NoError(t, err)
	defer opened.Close()
	require.NoError(t, opened.SetDeadline(time.Now().Add(soon)))
	_, err = io.WriteString(opened, "POST "+path+" HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nAuthorization: Bearer "+f.token()+"\r\n\r\n{")
	require.NoError(t, err)
	_, err = io.ReadAll(opened)
	require.NoError(t, err, "it is closed")
	assert.Equal(t, BodyTooSlow, f.audited(1)[0].Reason)
	r = f.request(context.Background(), http.MethodGet, path, strings.NewReader("{}"))
	assert.Equal(t, InvalidBody, f.send(transport, r).reason)
	// One that has arrived ends no request that goes on for longer.
	f.host.answers(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for range 5 {
			_, _ = io.WriteString(w, "{}")
			w.(http.Flusher).Flush()
			<-after(30e6)
		}
	})
	for _, two := range []bool{true, false} {
		a = f.send(f.client(two), f.request(t.Context(), http.MethodPost, path, strings.NewReader("{}")))
		assert.Equal(t, "{}{}{}{}{}", a.body)
	}
}

// after is how a host takes its time.
func after(d time.Duration) <-chan time.Time { return time.After(d) }

// R15: what is asked of the host, and as whom, is not in the log, however much is logged.
func TestR15CarriedQuietly(t *testing.T) {
	f := newFixture(t, Limits{})
	state := klog.CaptureState()
	t.Cleanup(state.Restore)
	var flags flag.FlagSet
	klog.InitFlags(&flags)
	for name, value := range map[string]string{"v": "10", "logtostderr": "false", "stderrthreshold": "FATAL"} {
		require.NoError(t, flags.Set(name, value))
	}
	log := &lockedBuffer{}
	klog.SetOutput(log)
	assert.Equal(t, http.StatusOK, f.get("/api/v1/namespaces/shop/configmaps?labelSelector=canary").code)
	klog.Info("the log is read")
	klog.Flush()
	assert.Contains(t, log.String(), "the log is read")
	for _, text := range []string{"canary", workload} {
		assert.NotContains(t, log.String(), text)
	}
}
