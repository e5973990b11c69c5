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
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	testingclock "k8s.io/utils/clock/testing"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/gateway"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
	"entente.dev/entente/peering/record/recordtest"
	"entente.dev/entente/registry/peering/clusterpeer"
)

const (
	eastUID = "11111111-0000-4000-8000-000000000001" // of ClusterPeer east, in cluster west
	westUID = "11111111-0000-4000-8000-000000000002" // of ClusterPeer west, in cluster east
	east    = "aaaaaaaa-0000-4000-8000-000000000001"
	west    = "bbbbbbbb-0000-4000-8000-000000000002"

	namespace = "module"
	account   = "controller"
	saUID     = "22222222-0000-4000-8000-000000000001"

	soon = 10 * time.Second
	tick = 2 * time.Millisecond
	// canary stands wherever the peer could put something.
	canary = "canary"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func noon() time.Time { return time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC) }

// world is cluster west, where the Outlet is, and the gateway of cluster east.
type world struct {
	t     *testing.T
	clock *testingclock.FakeClock

	config Config
	outlet *Outlet
	// front is where callers send what goes to clusterpeers/east/proxy/: front + CAPABILITY/PATH.
	front  string
	client *http.Client
	ledger *recordtest.Memory
	host   *tokenAPI
	// stop ends the Outlet's Run.
	stop func()
	// impatient is a dialer that does not wait long for an answer.
	impatient *client.Dialer

	far *farEnd

	lock         sync.Mutex
	callers      map[string]user.Info // by what header Test-Caller says
	specs        map[string]record.Spec
	capabilities map[string]*peeringv1alpha1.PeeringCapability
}

// farEnd is the gateway of cluster east.
type farEnd struct {
	t         *testing.T
	authority *pki.Authority
	ledger    *recordtest.Memory
	endpoint  string
	// handler answers what is below protocol.PathAPI.
	handler atomic.Pointer[http.HandlerFunc]
	// requests counts what came there, connections all that were opened, open those that are.
	requests, connections, open atomic.Int32
}

type option func(*Config)

func newWorld(t *testing.T, options ...option) *world {
	t.Helper()
	w := &world{
		t: t, clock: testingclock.NewFakeClock(noon()), ledger: recordtest.New(),
		callers: map[string]user.Info{"": consumer("")},
		specs:   map[string]record.Spec{eastUID: {Capabilities: []string{"logs"}}},
		capabilities: map[string]*peeringv1alpha1.PeeringCapability{"logs": {Spec: peeringv1alpha1.PeeringCapabilitySpec{
			Version: "1.2.3", Consumers: []peeringv1alpha1.Consumer{{Namespace: "other", Name: "other"}, {Kind: "ServiceAccount", Namespace: namespace, Name: account}},
		}}},
	}
	w.far = newFarEnd(t, w.clock)
	w.host = newTokenAPI(t, w.clock)
	w.pair(w.certified(w.clock.Now()))

	dialing := client.Config{Policy: client.Policy{AllowLocal: true}, Clock: w.clock}
	dialer, err := client.New(dialing)
	require.NoError(t, err)
	dialing.CarryTimeout = 300 * time.Millisecond
	w.impatient, err = client.New(dialing)
	require.NoError(t, err)
	scheme := runtime.NewScheme()
	require.NoError(t, peeringv1alpha1.AddToScheme(scheme))
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	config := Config{
		Ledger: w.ledger, Specs: w.spec, Capabilities: w.capability, Tokens: w.host.client, Dialer: dialer,
		Clock: w.clock, Serializer: serializer.NewCodecFactory(scheme).WithoutConversion(),
	}
	for _, o := range options {
		o(&config)
	}
	w.config = config
	w.outlet, err = New(config)
	require.NoError(t, err)

	server := httptest.NewServer(http.HandlerFunc(w.serve))
	w.front = server.URL + "/proxy/"
	w.client = &http.Client{
		Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 1},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	ctx, cancel := context.WithCancel(context.Background())
	running := make(chan struct{})
	go func() { defer close(running); w.outlet.Run(ctx) }()
	require.Eventually(t, w.outlet.streams.Runs, soon, tick)
	w.stop = sync.OnceFunc(func() { cancel(); <-running })
	t.Cleanup(func() {
		w.stop()
		w.client.CloseIdleConnections()
		server.Close()
	})
	return w
}

// serve is what stands before the Outlet in a server: who the caller is is known by then.
func (w *world) serve(rw http.ResponseWriter, r *http.Request) {
	w.lock.Lock()
	who := w.callers[r.Header.Get("Test-Caller")]
	w.lock.Unlock()
	r.Header.Del("Test-Caller")
	if who != nil {
		r = r.WithContext(genericapirequest.WithUser(r.Context(), who))
	}
	rest := strings.TrimPrefix(r.URL.EscapedPath(), "/proxy/")
	uid := eastUID
	if given := r.Header.Get("Test-UID"); given != "" {
		uid = given
	}
	w.outlet.Carry(rw, r, clusterpeer.Destination{UID: uid, Name: "east", Rest: rest})
}

// consumer is the ServiceAccount that the capability names, with a credential that is bound
// to a Pod if one is named.
func consumer(pod string) user.Info {
	info := serviceaccount.ServiceAccountInfo{Namespace: namespace, Name: account, UID: saUID}
	if pod != "" {
		info.PodName, info.PodUID = pod, "uid-of-"+pod
	}
	return info.UserInfo()
}

func (w *world) spec(uid string) (record.Spec, bool) {
	w.lock.Lock()
	defer w.lock.Unlock()
	spec, found := w.specs[uid]
	return spec, found
}

func (w *world) capability(name string) (*peeringv1alpha1.PeeringCapability, bool) {
	w.lock.Lock()
	defer w.lock.Unlock()
	capability, found := w.capabilities[name]
	return capability, found
}

// change changes what the world's fields hold.
func (w *world) change(change func()) {
	w.lock.Lock()
	defer w.lock.Unlock()
	change()
}

// edit changes the record of the peer.
func (w *world) edit(change func(*record.Peer)) {
	w.t.Helper()
	require.NoError(w.t, w.ledger.Update(context.Background(), func(tx record.Tx) error {
		peer, err := tx.Peer(eastUID)
		if err != nil {
			return err
		}
		change(peer)
		return tx.PutPeer(peer)
	}))
}

// offers is an offer of one capability.
func offers(name, version string) protocol.Offer {
	return protocol.Offer{Capabilities: []protocol.Capability{{Name: name, Version: version}}}
}

// pair has both clusters know each other.
func (w *world) pair(data *record.Credential) {
	w.t.Helper()
	require.NoError(w.t, w.ledger.Update(context.Background(), func(tx record.Tx) error {
		return tx.PutPeer(&record.Peer{
			UID: eastUID, Name: "east", Offer: record.Offer{Body: offers("logs", "1.2.3")},
			Remote: &record.Remote{
				ClusterUUID: east, Endpoints: []string{w.far.endpoint}, Trust: [][]byte{w.far.authority.Certificate.Raw},
				PairedAt: noon(), ConfirmedAt: noon(), Data: data, Offer: record.AcceptedOffer{Body: offers("logs", "1.0.0")},
			},
		})
	}))
}

// certified is a data credential, which the other cluster knows.
func (w *world) certified(from time.Time) *record.Credential {
	w.t.Helper()
	key, err := pki.NewKey()
	require.NoError(w.t, err)
	serial, err := pki.NewSerial()
	require.NoError(w.t, err)
	from, until := from.Add(-record.MaxSkew), from.Add(record.DataKeyLife)
	certificate, err := pki.IssuePeer(w.far.authority, key.Public(), pki.PeerTemplate{ClusterUUID: west, Role: pki.RoleData, Serial: serial, From: from, Until: until})
	require.NoError(w.t, err)
	w.far.edit(func(remote *record.Remote) {
		remote.Keys = append(remote.Keys, record.Key{
			Hash: record.Digest(pki.HashOfCertificate(certificate)), Role: record.RoleData, Serial: serial, NotBefore: from, NotAfter: until,
			Issuer: record.Digest(pki.HashOfCertificate(w.far.authority.Certificate)),
		})
	})
	return &record.Credential{Key: record.NewSecret(key.PEM()), Certificate: certificate.Raw, NotBefore: from, NotAfter: until}
}

// farObserver observes nothing.
type farObserver struct{}

func (farObserver) Occurred(gateway.Occurrence) {}
func (farObserver) Served(gateway.Request)      {}

// counting is a listener that counts connections.
type counting struct {
	net.Listener
	far *farEnd
}

func (c *counting) Accept() (net.Conn, error) {
	connection, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c.far.connections.Add(1)
	c.far.open.Add(1)
	return &counted{Conn: connection, gone: sync.OnceFunc(func() { c.far.open.Add(-1) })}, nil
}

type counted struct {
	net.Conn
	gone func()
}

func (c *counted) Close() error {
	c.gone()
	return c.Conn.Close()
}

func newFarEnd(t *testing.T, clock *testingclock.FakeClock) *farEnd {
	t.Helper()
	f := &farEnd{t: t, ledger: recordtest.New()}
	key, err := pki.NewKey()
	require.NoError(t, err)
	now := clock.Now()
	f.authority, err = pki.NewAuthority("east", key, now.Add(-record.MaxSkew), now.Add(365*24*time.Hour))
	require.NoError(t, err)
	require.NoError(t, f.ledger.Update(t.Context(), func(tx record.Tx) error {
		if err := tx.PutAuthority(&record.Authority{Current: record.CA{
			Certificate: f.authority.Certificate.Raw, Key: record.NewSecret(key.PEM()),
			NotBefore: f.authority.Certificate.NotBefore, NotAfter: f.authority.Certificate.NotAfter,
		}}); err != nil {
			return err
		}
		return tx.PutPeer(&record.Peer{UID: westUID, Name: "west", Remote: &record.Remote{ClusterUUID: west, PairedAt: now, ConfirmedAt: now}})
	}))
	var listening net.ListenConfig
	listener, err := listening.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f.endpoint = "https://" + listener.Addr().String()
	g, err := gateway.New(gateway.Config{
		Ledger: f.ledger, Self: exchange.Self{ClusterUUID: east, Endpoints: []string{f.endpoint}},
		Specs: func(string) (record.Spec, bool) { return record.Spec{}, true }, Observer: farObserver{}, Clock: clock,
		Limits: gateway.Limits{Drain: time.Millisecond},
	})
	require.NoError(t, err)
	f.answers(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"PodList"}`)
	})
	require.NoError(t, g.Handle(protocol.PathAPI, record.RoleData, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.requests.Add(1)
		(*f.handler.Load())(w, r)
	})))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Serve(ctx, &counting{listener, f}) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-done)
	})
	return f
}

// answers sets what the gateway answers from now on.
func (f *farEnd) answers(handler http.HandlerFunc) { f.handler.Store(&handler) }

func (f *farEnd) edit(change func(*record.Remote)) {
	f.t.Helper()
	require.NoError(f.t, f.ledger.Update(context.Background(), func(tx record.Tx) error {
		peer, err := tx.Peer(westUID)
		if err != nil {
			return err
		}
		change(peer.Remote)
		return tx.PutPeer(peer)
	}))
}

// reply is what a caller gets.
type reply struct {
	code   int
	header http.Header
	body   string
}

// status is the Status in the body.
func (r reply) status(t *testing.T) metav1.Status {
	t.Helper()
	var status metav1.Status
	require.NoError(t, json.Unmarshal([]byte(r.body), &status), r.body)
	require.Equal(t, "Status", status.Kind, r.body)
	assert.EqualValues(t, r.code, status.Code)
	return status
}

// open sends a request and leaves the body of the answer open.
func (w *world) open(method, path string, body io.Reader, header ...string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(w.t.Context(), method, w.front+path, body)
	require.NoError(w.t, err)
	for i := 0; i < len(header); i += 2 {
		request.Header.Add(header[i], header[i+1])
	}
	return w.client.Do(request)
}

// ask sends a request.
func (w *world) ask(method, path string, body io.Reader, header ...string) reply {
	w.t.Helper()
	response, err := w.open(method, path, body, header...)
	require.NoError(w.t, err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	require.NoError(w.t, err)
	return reply{response.StatusCode, response.Header, string(data)}
}

// get asks for the Pods.
func (w *world) get(header ...string) reply {
	w.t.Helper()
	return w.ask(http.MethodGet, "logs/api/v1/pods", nil, header...)
}

// eventually is for what happens in another goroutine, moving the clock all the while.
func (w *world) eventually(happened func() bool, what string) {
	w.t.Helper()
	deadline := time.After(soon)
	for !happened() {
		w.clock.Step(100 * time.Millisecond)
		select {
		case <-deadline:
			require.Fail(w.t, "it did not happen", what)
		case <-time.After(tick):
		}
	}
}
