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
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"entente.dev/entente/apis/generated/clientset/versioned"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/apiserver/options"
	"entente.dev/entente/test/harness"
)

// lifecycleValue is the sensitive value of an object.
func lifecycleValue(name string) string { return "entente1.lifecycle-" + name + ".x" }

func lifecycleJoin(name string) *peeringv1alpha1.ClusterPeer {
	return &peeringv1alpha1.ClusterPeer{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: peeringv1alpha1.ClusterPeerSpec{
			Type: peeringv1alpha1.ClusterPeerTypeJoin,
			Join: &peeringv1alpha1.JoinSpec{ConnectionString: lifecycleValue(name)},
		},
	}
}

func lifecycleCreate(t testing.TB, s *harness.Server, name string) {
	t.Helper()
	_, err := s.Client(t, harness.Operator).PeeringV1alpha1().ClusterPeers().Create(t.Context(), lifecycleJoin(name), metav1.CreateOptions{})
	require.NoError(t, err)
}

// lifecyclePeer is a stored object, with its value, once the controller has
// nothing left to write to it.
func lifecyclePeer(t testing.TB, s *harness.Server, name string) (peer *peeringv1alpha1.ClusterPeer) {
	t.Helper()
	peers := s.Client(t, harness.Admin).PeeringV1alpha1().ClusterPeers()
	harness.Eventually(t, "the status of "+name+" is up to date", func(ctx context.Context) bool {
		var err error
		peer, err = peers.Get(ctx, name, metav1.GetOptions{})
		require.NoError(t, err)
		return peer.Status.ObservedGeneration == peer.Generation
	})
	return peer
}

// lifecycleGet asks for a path, and returns the code and the body.
func lifecycleGet(t testing.TB, client *http.Client, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	resp, err := client.Do(req)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode, string(body)
}

// lifecycleFiles are the files of a data folder that must survive a restart as
// they are.
func lifecycleFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, pattern := range []string{"keys/*", "rbac/*", "cluster-uuid", "version"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		require.NoError(t, err)
		require.NotEmpty(t, paths, pattern)
		for _, path := range paths {
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			files[path] = string(content)
		}
	}
	return files
}

// Design, section 3: CA, users and cluster UUID survive restarts, and so do
// objects, values, and what somebody changed in the folder.
func TestLifecycleRestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := harness.Start(t, harness.InDir(dir))
	for _, name := range []string{"east", "west"} {
		lifecycleCreate(t, s, name)
	}
	s.AddUser(t, "lifecycle-lister", harness.Rule([]string{"list"}, []string{"clusterpeers"}))
	require.NoError(t, os.Remove(filepath.Join(dir, "rbac", "viewer.yaml")))
	for _, name := range []string{"east", "west"} {
		lifecyclePeer(t, s, name)
	}
	objects, files := inputStored(t, s), lifecycleFiles(t, dir)
	kubeconfigs := map[string]*tls.Config{}
	for _, user := range []string{harness.Admin, harness.Operator, harness.Viewer, "lifecycle-lister"} {
		kubeconfigs[user] = s.HTTP(t, user).Transport.(*http.Transport).TLSClientConfig
	}
	require.NoError(t, s.Stop())

	for round := range 2 {
		s = harness.Start(t, harness.InDir(dir))
		assert.Equal(t, objects, inputStored(t, s), "round %d", round)
		assert.Equal(t, files, lifecycleFiles(t, dir), "round %d", round)
		// Whoever kept the certificates of the first start still knows the server, and
		// is still known to it.
		for user, code := range map[string]int{harness.Admin: 200, harness.Operator: 200, harness.Viewer: 403, "lifecycle-lister": 200} {
			transport := &http.Transport{TLSClientConfig: kubeconfigs[user]}
			got, body := lifecycleGet(t, &http.Client{Transport: transport}, s.Base+inputPath)
			transport.CloseIdleConnections()
			assert.Equal(t, code, got, "%s: %s", user, body)
			assert.Equal(t, user == harness.Admin, strings.Contains(body, lifecycleValue("east")), user)
		}
		require.NoError(t, s.Stop())
	}
}

// lifecycleShutdown is a running server and how to end it.
type lifecycleShutdown struct {
	*harness.Server
	// begin tells it to end, and end waits until it has.
	begin func()
	end   func(t *testing.T)
}

// k/k#74416: shutdown drops requests. Not ready comes first, while requests are
// still served; then nothing new is accepted, requests in flight finish, watches
// end cleanly, the store goes last.
func TestLifecycleShutdown(t *testing.T) {
	const delay = 2 * time.Second
	starts := map[string]func(t *testing.T, dir string) lifecycleShutdown{
		"in process": func(t *testing.T, dir string) lifecycleShutdown {
			s := harness.Start(t, harness.InDir(dir), harness.WithOptions(func(o *options.Options) { o.ServerRun.ShutdownDelayDuration = delay }))
			result := make(chan error, 1)
			return lifecycleShutdown{
				Server: s,
				begin:  func() { go func() { result <- s.Stop() }() },
				end:    func(t *testing.T) { require.NoError(t, <-result) },
			}
		},
		"SIGTERM": func(t *testing.T, dir string) lifecycleShutdown {
			p := harness.StartReadyProcess(t, dir, "--shutdown-delay-duration", delay.String())
			return lifecycleShutdown{
				Server: p.Server,
				begin:  func() { p.Signal(t, syscall.SIGTERM) },
				end: func(t *testing.T) {
					require.Zero(t, p.WaitEnd(t), p.Output())
					inputClean(t, p.Output())
				},
			}
		},
	}
	for name, start := range starts {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			s := start(t, dir)
			lifecycleCreate(t, s.Server, "east")
			lifecyclePeer(t, s.Server, "east")
			events := lifecycleWatch(t, s.Server)
			finish := lifecycleSlowCreate(t, s.Server, "late")

			s.begin()
			client := s.HTTP(t, harness.Viewer)
			harness.Eventually(t, "the server is not ready", func(context.Context) bool {
				code, _ := lifecycleGet(t, client, s.Base+"/readyz")
				return code == http.StatusInternalServerError
			})
			code, _ := lifecycleGet(t, client, s.Base+inputPath)
			assert.Equal(t, http.StatusOK, code, "not ready, and still serving who has not noticed")
			harness.Eventually(t, "nothing new is accepted", func(ctx context.Context) bool {
				conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(s.Base, "https://"))
				if err == nil {
					require.NoError(t, conn.Close())
				}
				return err != nil
			})
			code, body := finish()
			assert.Equal(t, http.StatusCreated, code, "a request in flight finishes: %s", body)
			seen, err := events()
			require.NoError(t, err, "the watch ends cleanly")
			assert.Contains(t, seen, "east")
			s.end(t)

			again := harness.Start(t, harness.InDir(dir))
			assert.Equal(t, lifecycleValue("late"), lifecyclePeer(t, again, "late").Spec.Join.ConnectionString)
		})
	}
}

// lifecycleWatch opens a watch, waits for its first event, and returns what waits
// for the end of the watch.
func lifecycleWatch(t *testing.T, s *harness.Server) (end func() (names []string, err error)) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Base+inputPath+"?watch=1", nil)
	require.NoError(t, err)
	resp, err := s.HTTP(t, harness.Viewer).Do(req)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	t.Cleanup(func() { _ = resp.Body.Close() }) // The test reads it to its end, unless it fails.
	decoder := json.NewDecoder(resp.Body)
	type event struct {
		Type   string
		Object peeringv1alpha1.ClusterPeer
	}
	var first event
	require.NoError(t, decoder.Decode(&first))
	return func() ([]string, error) {
		names := []string{first.Object.Name}
		for {
			var next event
			if err := decoder.Decode(&next); errors.Is(err, io.EOF) {
				return names, nil
			} else if err != nil {
				return names, err
			}
			names = append(names, next.Object.Name)
		}
	}
}

// lifecycleSlowCreate sends one half of a create, waits until the server reads
// it, and returns what sends the other half and waits for the answer.
func lifecycleSlowCreate(t *testing.T, s *harness.Server, name string) (finish func() (code int, body string)) {
	t.Helper()
	content, err := json.Marshal(lifecycleJoin(name))
	require.NoError(t, err)
	reader, writer := io.Pipe()
	reading := make(chan struct{})
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: sync.OnceFunc(func() { close(reading) })})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Base+inputPath, reader)
	require.NoError(t, err)
	req.Header.Set("Content-Type", inputJSON)
	req.Header.Set("Expect", "100-continue")
	client := s.HTTP(t, harness.Operator)
	client.Transport.(*http.Transport).ExpectContinueTimeout = time.Minute
	type answer struct {
		code int
		body string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		resp, err := client.Do(req)
		if err != nil {
			answers <- answer{err: err}
			return
		}
		body, err := io.ReadAll(resp.Body)
		answers <- answer{resp.StatusCode, string(body), errors.Join(err, resp.Body.Close())}
	}()
	_, err = writer.Write(content[:len(content)/2])
	require.NoError(t, err)
	<-reading
	return func() (int, string) {
		_, err := writer.Write(content[len(content)/2:])
		require.NoError(t, err)
		require.NoError(t, writer.Close())
		got := <-answers
		require.NoError(t, got.err)
		return got.code, got.body
	}
}

// A server that is told to end while it still starts ends at once: nobody waits
// for connections that the controllers have just opened and no longer need. Some
// at a time, since it is about who comes first.
func TestLifecycleEarlyShutdown(t *testing.T) {
	const rounds, parallel = 2, 5
	for range rounds {
		var wait sync.WaitGroup
		for range parallel {
			p := harness.StartProcess(t, filepath.Join(t.TempDir(), "data"))
			wait.Go(func() {
				harness.Eventually(t, "the controllers are started", func(context.Context) bool {
					return strings.Contains(p.Output(), `"Waiting" controller=`)
				})
				p.Signal(t, syscall.SIGTERM)
				select {
				case <-p.Ended():
				case <-time.After(20 * time.Second): // a drain of nothing takes one
					t.Errorf("a server without a client has not ended: %s", p.Output())
				}
			})
		}
		wait.Wait()
	}
}

// A server that has stopped leaves no goroutine, however often it is started in
// one process: requests, watches, controllers and the store have ended.
func TestLifecycleGoroutines(t *testing.T) {
	once := func() {
		s := harness.Start(t)
		lifecycleCreate(t, s, "east")
		lifecyclePeer(t, s, "east")
		events := lifecycleWatch(t, s)
		require.NoError(t, s.Stop())
		_, err := events()
		require.NoError(t, err)
	}
	// What the libraries start once a process is there after the first time.
	once()
	before := goleak.IgnoreCurrent()
	for range 3 {
		once()
	}
	// Some goroutines of the watch cache's end by a timer of three seconds.
	var leak error
	harness.Eventually(t, "no goroutine is left", func(context.Context) bool {
		leak = goleak.Find(before)
		return leak == nil
	})
	require.NoError(t, leak)
}

// A crash loses nothing that was acknowledged.
func TestLifecycleKill(t *testing.T) {
	const writers, enough = 4, 100
	dir := filepath.Join(t.TempDir(), "data")
	p := harness.StartReadyProcess(t, dir)
	var acknowledged sync.Map // name → value
	var count atomic.Int32
	var wait sync.WaitGroup
	for writer := range writers {
		peers := p.Client(t, harness.Operator).PeeringV1alpha1().ClusterPeers()
		wait.Go(func() {
			for i := 0; ; i++ {
				name := fmt.Sprintf("peer-%d-%d", writer, i)
				if _, err := peers.Create(t.Context(), lifecycleJoin(name), metav1.CreateOptions{}); err != nil {
					return // the server is gone
				}
				acknowledged.Store(name, lifecycleValue(name))
				patch := fmt.Appendf(nil, `{"spec":{"join":{"connectionString":%q}}}`, lifecycleValue(name+"-2"))
				if _, err := peers.Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
					// Stored or not: it was not acknowledged.
					acknowledged.Store(name, lifecycleValue(name)+" "+lifecycleValue(name+"-2"))
					return
				}
				acknowledged.Store(name, lifecycleValue(name+"-2"))
				count.Add(1)
			}
		})
	}
	harness.Eventually(t, "there are enough writes", func(context.Context) bool { return count.Load() >= enough })
	p.Signal(t, syscall.SIGKILL)
	assert.Equal(t, -1, p.WaitEnd(t))
	wait.Wait()

	p = harness.StartReadyProcess(t, dir)
	stored := map[string]string{}
	for _, peer := range inputStored(t, p.Server) {
		stored[peer.Name] = peer.Spec.Join.ConnectionString
	}
	acknowledged.Range(func(name, value any) bool {
		if assert.Contains(t, stored, name) {
			assert.Contains(t, strings.Fields(value.(string)), stored[name.(string)], name)
		}
		return true
	})
	assert.GreaterOrEqual(t, len(stored), enough)
	inputClean(t, p.Output())
}

// Design, section 3, and issue 2: --etcd-servers; an etcd that goes away is an
// unready server and clear errors, and both are over when it is back.
func TestLifecycleExternalEtcd(t *testing.T) {
	etcd := harness.NewExternalEtcd(t)
	etcd.Start(t)
	dir := filepath.Join(t.TempDir(), "data")
	p := harness.StartReadyProcess(t, dir, "--etcd-servers", etcd.Endpoint)
	lifecycleCreate(t, p.Server, "east")
	lifecyclePeer(t, p.Server, "east")
	assert.NoDirExists(t, filepath.Join(dir, "etcd"), "no embedded store beside it")
	otherDir := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.MkdirAll(filepath.Join(otherDir, "keys"), 0o700))
	key, err := os.ReadFile(filepath.Join(dir, "keys", "encryption.json"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(otherDir, "keys", "encryption.json"), key, 0o600))
	other := harness.StartReadyProcess(t, otherDir, "--etcd-servers", etcd.Endpoint)
	assert.Equal(t, lifecycleValue("east"), lifecyclePeer(t, other.Server, "east").Spec.Join.ConnectionString, "two servers share one store")

	etcd.Stop()
	client := p.HTTP(t, harness.Admin)
	harness.Eventually(t, "the server is not ready", func(context.Context) bool {
		code, body := lifecycleGet(t, client, p.Base+"/readyz")
		return code == http.StatusInternalServerError && strings.Contains(body, "etcd")
	})
	code, _ := lifecycleGet(t, client, p.Base+"/livez?exclude=etcd")
	assert.Equal(t, http.StatusOK, code, "to restart it would not help")
	west, err := json.Marshal(lifecycleJoin("west"))
	require.NoError(t, err)
	requests := []struct{ method, path, body string }{
		{http.MethodGet, "/east", ""},
		// No list: the library may abort the connection of one that times out.
		{http.MethodPost, "", string(west)},
		{http.MethodPatch, "/east", `{"metadata":{"labels":{"a":"b"}}}`},
		{http.MethodDelete, "/east", ""},
	}
	var wait sync.WaitGroup
	for _, request := range requests {
		contentType := inputJSON
		if request.method == http.MethodPatch {
			contentType = inputMerge
		}
		wait.Go(func() {
			req, err := http.NewRequestWithContext(t.Context(), request.method, p.Base+inputPath+request.path+"?timeout=2s", strings.NewReader(request.body))
			assert.NoError(t, err)
			req.Header.Set("Content-Type", contentType)
			resp, err := client.Do(req)
			if errors.Is(err, io.EOF) {
				return // The library aborts the connection of some that time out.
			}
			if !assert.NoError(t, err) {
				return
			}
			content, err := io.ReadAll(resp.Body)
			assert.NoError(t, err)
			assert.NoError(t, resp.Body.Close())
			got := inputAnswer{code: resp.StatusCode, body: string(content)}
			assert.NoError(t, json.Unmarshal(content, &got.status))
			assert.Contains(t, []int{http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, got.code, "%s: %s", request.method, got.body)
			// The library's time-outs leave the kind out.
			assert.Equal(t, metav1.StatusFailure, got.status.Status, "%s: %s", request.method, got.body)
			assert.NotEmpty(t, got.status.Reason, "%s: %s", request.method, got.body)
			assert.NotEmpty(t, got.status.Message, "%s: %s", request.method, got.body)
			assert.NotContains(t, got.body, lifecycleValue("west"), request.method)
		})
	}
	wait.Wait()

	etcd.Start(t)
	p.WaitReady(t)
	assert.Equal(t, lifecycleValue("east"), lifecyclePeer(t, p.Server, "east").Spec.Join.ConnectionString)
	lifecycleCreate(t, p.Server, "after")
	lifecyclePeer(t, p.Server, "after")
	p.Signal(t, syscall.SIGTERM)
	assert.Zero(t, p.WaitEnd(t))
	inputClean(t, p.Output())
	assert.NotContains(t, p.Output(), "entente1.lifecycle", "R15")
}

// A server that is started while etcd is away says so, accepts nothing, waits, and
// is ready by itself when etcd is there; one that is told to end meanwhile ends.
func TestLifecycleEtcdAwayAtStart(t *testing.T) {
	etcd := harness.NewExternalEtcd(t)
	start := func(name string) *harness.Process {
		p := harness.StartProcess(t, filepath.Join(t.TempDir(), name), "--etcd-servers", etcd.Endpoint)
		harness.Eventually(t, "the server says what it waits for", func(context.Context) bool {
			return strings.Contains(p.Output(), "waiting for etcd") && strings.Contains(p.Output(), etcd.Endpoint)
		})
		assert.NotContains(t, p.Output(), `"Serving"`)
		return p
	}
	waits, gives := start("waits"), start("gives-up")
	gives.Signal(t, syscall.SIGTERM)
	gives.WaitEnd(t)
	inputClean(t, gives.Output())

	etcd.Start(t)
	waits.WaitServing(t)
	waits.WaitReady(t)
	lifecycleCreate(t, waits.Server, "east")
	lifecyclePeer(t, waits.Server, "east")
	waits.Signal(t, syscall.SIGTERM)
	assert.Zero(t, waits.WaitEnd(t))
	inputClean(t, waits.Output())
}

// lifecycleForeign is a client certificate for the admin, of another authority of
// the same name.
func lifecycleForeign(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := func(subject pkix.Name, authority bool) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: subject, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			IsCA: authority, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}
	}
	ca := template(pkix.Name{CommonName: "entente-standalone-client-ca"}, true)
	der, err := x509.CreateCertificate(rand.Reader, template(pkix.Name{CommonName: "admin", Organization: []string{"entente:admins", "system:masters"}}, false), ca, key.Public(), key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// Design, section 3: anonymous is for the health paths only, all else is 401, and
// pprof is there only with a flag, and authorized.
func TestLifecycleEndpoints(t *testing.T) {
	s := harness.Start(t)
	lifecycleCreate(t, s, "east")
	lifecyclePeer(t, s, "east")

	foreign := s.HTTP(t, "")
	certificate := lifecycleForeign(t)
	foreign.Transport.(*http.Transport).TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificate, nil }
	strangers := map[string]struct {
		client *http.Client
		header http.Header
	}{
		"no certificate":         {s.HTTP(t, ""), nil},
		"forged front proxy":     {s.HTTP(t, ""), http.Header{"X-Remote-User": {"admin"}, "X-Remote-Group": {"entente:admins", "system:masters"}}},
		"impersonation":          {s.HTTP(t, ""), http.Header{"Impersonate-User": {"admin"}, "Impersonate-Group": {"entente:admins"}}},
		"bearer token":           {s.HTTP(t, ""), http.Header{"Authorization": {"Bearer admin"}}},
		"password":               {s.HTTP(t, ""), http.Header{"Authorization": {"Basic YWRtaW46YWRtaW4="}}},
		"another's certificate":  {foreign, nil},
		"that and forged header": {foreign, http.Header{"X-Remote-User": {"admin"}, "X-Remote-Group": {"entente:admins"}}},
	}
	for name, stranger := range strangers {
		t.Run(name, func(t *testing.T) {
			ask := func(method, path string) int {
				req, err := http.NewRequestWithContext(t.Context(), method, s.Base+path, nil)
				require.NoError(t, err)
				for key, values := range stranger.header {
					req.Header[key] = values
				}
				resp, err := stranger.client.Do(req)
				require.NoError(t, err)
				body, err := io.ReadAll(resp.Body)
				require.NoError(t, errors.Join(err, resp.Body.Close()))
				assert.NotContains(t, string(body), "entente1.lifecycle")
				return resp.StatusCode
			}
			for _, path := range []string{"/", "/api", "/apis", "/apis/peering.entente.dev", "/apis/peering.entente.dev/v1alpha1", inputPath, inputPath + "/east", inputPath + "/east/sensitive", inputPath + "?watch=1", "/openapi/v2", "/openapi/v3", "/version", "/metrics", "/debug/pprof/", "/debug/flags/v", "/nowhere", "/readyz/../metrics"} {
				assert.Equal(t, http.StatusUnauthorized, ask(http.MethodGet, path), path)
			}
			assert.Equal(t, http.StatusUnauthorized, ask(http.MethodDelete, inputPath+"/east"))
			assert.Equal(t, http.StatusUnauthorized, ask(http.MethodPost, "/readyz/x"))
			// A credential that is wrong is not taken for none, unless nobody reads it.
			if name == "no certificate" || name == "forged front proxy" {
				for _, path := range []string{"/healthz", "/livez", "/readyz"} {
					assert.Equal(t, http.StatusOK, ask(http.MethodGet, path), path)
				}
			}
		})
	}

	t.Run("forged headers beside a certificate", func(t *testing.T) {
		config := s.RESTConfig(t, harness.Viewer)
		for key, value := range map[string]string{"X-Remote-User": "admin", "X-Remote-Group": "entente:admins", "Impersonate-User": "admin"} {
			wrapped := *config
			wrapped.Wrap(func(rt http.RoundTripper) http.RoundTripper { return lifecycleHeader{rt, key, value} })
			client, err := versioned.NewForConfig(&wrapped)
			require.NoError(t, err)
			peer, err := client.PeeringV1alpha1().ClusterPeers().Get(t.Context(), "east", metav1.GetOptions{})
			if key == "Impersonate-User" {
				assert.True(t, apierrors.IsForbidden(err), "%v", err)
				continue
			}
			require.NoError(t, err)
			assert.Equal(t, "<omitted>", peer.Spec.Join.ConnectionString, key)
		}
	})

	t.Run("metrics", func(t *testing.T) {
		code, body := lifecycleGet(t, s.HTTP(t, harness.Admin), s.Base+"/metrics")
		require.Equal(t, http.StatusOK, code)
		for _, metric := range []string{"apiserver_request_total{", "apiserver_storage_objects{", "# TYPE entente_etcd_", "go_goroutines ", "process_resident_memory_bytes "} {
			assert.Contains(t, body, metric)
		}
		assert.NotContains(t, body, "entente1.lifecycle", "R15")
		for _, user := range []string{harness.Operator, harness.Viewer} {
			code, _ = lifecycleGet(t, s.HTTP(t, user), s.Base+"/metrics")
			assert.Equal(t, http.StatusForbidden, code, user)
		}
	})

	t.Run("profiling", func(t *testing.T) {
		paths := []string{"/debug/pprof/", "/debug/pprof/goroutine", "/debug/pprof/profile?seconds=1", "/debug/flags/v"}
		for _, path := range paths {
			code, _ := lifecycleGet(t, s.HTTP(t, harness.Admin), s.Base+path)
			assert.Equal(t, http.StatusNotFound, code, path)
		}
		profiled := harness.Start(t, harness.WithOptions(func(o *options.Options) { o.Features.EnableProfiling = true }))
		for user, want := range map[string]int{harness.Admin: http.StatusOK, harness.Operator: http.StatusForbidden, harness.Viewer: http.StatusForbidden, "": http.StatusUnauthorized} {
			for _, path := range paths[:2] {
				code, _ := lifecycleGet(t, profiled.HTTP(t, user), profiled.Base+path)
				assert.Equal(t, want, code, "%q at %s", user, path)
			}
		}
	})

	t.Run("kubeconfigs are for their owner", func(t *testing.T) {
		for _, user := range []string{harness.Admin, harness.Operator, harness.Viewer} {
			info, err := os.Stat(s.Kubeconfig(user))
			require.NoError(t, err)
			assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), user)
			config, err := clientcmd.LoadFromFile(s.Kubeconfig(user))
			require.NoError(t, err)
			assert.Len(t, config.AuthInfos, 1, "one user a file")
		}
	})
}

// lifecycleHeader adds a header to each request.
type lifecycleHeader struct {
	http.RoundTripper
	key, value string
}

func (h lifecycleHeader) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set(h.key, h.value)
	return h.RoundTripper.RoundTrip(req)
}
