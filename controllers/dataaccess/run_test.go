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

package dataaccess

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"

	"entente.dev/entente/apis/generated/clientset/versioned/fake"
	"entente.dev/entente/apis/generated/informers/externalversions"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/exchange"
	"entente.dev/entente/peering/gateway"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/record"
	"entente.dev/entente/peering/record/recordtest"
)

func TestNewNeedsAll(t *testing.T) {
	f := newFixture(t)
	whole := Config{
		Ledger: f.book, Informer: f.peers.Peering().V1alpha1().ClusterPeers(), Connect: f.far.connect,
		Secrets: f.host.CoreV1().Secrets(namespace), Recorder: f.recorder, Clock: f.clock,
	}
	_, err := New(whole)
	require.NoError(t, err)
	for name, take := range map[string]func(*Config){
		"ledger":   func(c *Config) { c.Ledger = nil },
		"informer": func(c *Config) { c.Informer = nil },
		"connect":  func(c *Config) { c.Connect = nil },
		"secrets":  func(c *Config) { c.Secrets = nil },
		"recorder": func(c *Config) { c.Recorder = nil },
		"clock":    func(c *Config) { c.Clock = nil },
	} {
		config := whole
		take(&config)
		_, err := New(config)
		assert.ErrorContains(t, err, "not complete", name)
	}
}

// runs runs a controller and its informers until the test ends, or stop is called.
func runs(t *testing.T, controller *Controller, peers externalversions.SharedInformerFactory) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	peers.StartWithContext(ctx)
	running.Go(func() { assert.NoError(t, controller.Run(ctx)) })
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		peers.Shutdown()
	})
	t.Cleanup(stop)
	return stop
}

// G8: Secrets of ours whose ClusterPeer went while nobody was there are found at the start,
// as soon as the host cluster says which there are.
func TestG8Sweep(t *testing.T) {
	f := newFixture(t)
	ours := metav1.ObjectMeta{Labels: map[string]string{peeringv1alpha1.LabelManagedBy: peeringv1alpha1.ManagedBy}, Annotations: map[string]string{peeringv1alpha1.AnnotationPeerUID: "gone"}}
	named := func(name string, meta metav1.ObjectMeta) *corev1.Secret {
		meta.Name = name
		return &corev1.Secret{ObjectMeta: meta, Type: corev1.SecretTypeTLS}
	}
	f.puts(named("gone-access", ours))
	f.puts(named("labelled-access", metav1.ObjectMeta{Labels: ours.Labels}))
	f.puts(named("of-a-module", ours))
	f.puts(named("other-access", metav1.ObjectMeta{}))
	var lock sync.Mutex
	failing, failed := true, false
	f.host.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		lock.Lock()
		defer lock.Unlock()
		if failing {
			failed = true
			return true, nil, errors.New("ouch")
		}
		return false, nil, nil
	})
	f.shows()
	f.restart()
	runs(t, f.Controller, f.peers)
	require.Eventually(t, func() bool {
		lock.Lock()
		defer lock.Unlock()
		failing = !failed
		return failed
	}, deadline, time.Millisecond)
	names := func() (names []string) {
		list, err := f.host.CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		return names
	}
	require.Eventually(t, func() bool {
		f.clock.Step(sweepAgain)
		return len(names()) == 3
	}, deadline, time.Millisecond)
	assert.ElementsMatch(t, []string{"labelled-access", "of-a-module", "other-access"}, names())
}

// unobserved is an observer of a gateway that looks away.
type unobserved struct{}

func (unobserved) Occurred(gateway.Occurrence) {}
func (unobserved) Served(gateway.Request)      {}

// inviter is another cluster with a real gateway, which is paired with this one.
type inviter struct {
	ledger   *recordtest.Memory
	endpoint string
	ours     record.Credential
}

func newInviter(t *testing.T, handler http.Handler) *inviter {
	t.Helper()
	i := &inviter{ledger: recordtest.New()}
	now := time.Now()
	key, err := pki.NewKey()
	require.NoError(t, err)
	ca, err := pki.NewAuthority("a peering CA", key, now.Add(-time.Hour), now.Add(365*24*time.Hour))
	require.NoError(t, err)
	control, err := pki.NewKey()
	require.NoError(t, err)
	update := func(change func(tx record.Tx) error) { require.NoError(t, i.ledger.Update(t.Context(), change)) }
	update(func(tx record.Tx) error {
		return tx.PutAuthority(&record.Authority{Current: record.CA{Certificate: ca.Certificate.Raw, Key: record.NewSecret(key.PEM()), NotBefore: ca.Certificate.NotBefore, NotAfter: ca.Certificate.NotAfter}})
	})
	known, err := exchange.NewKey(i.ledger.Authority(), control.Public(), record.RoleControl, record.KeyLife, now)
	require.NoError(t, err)
	update(func(tx record.Tx) error {
		return tx.PutPeer(&record.Peer{UID: "far", Name: "west", Remote: &record.Remote{ClusterUUID: west, Keys: []record.Key{known}, PairedAt: now, ConfirmedAt: now}})
	})
	certificate, err := exchange.Certify(i.ledger.Authority(), west, known, control.Public())
	require.NoError(t, err)
	i.ours = record.Credential{Key: record.NewSecret(control.PEM()), Certificate: certificate, NotBefore: known.NotBefore, NotAfter: known.NotAfter}

	var listening net.ListenConfig
	listener, err := listening.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	i.endpoint = "https://" + listener.Addr().String()
	served, err := gateway.New(gateway.Config{
		Ledger: i.ledger, Self: exchange.Self{ClusterUUID: east, Endpoints: []string{i.endpoint}},
		Specs: func(string) (record.Spec, bool) { return record.Spec{}, true }, Observer: unobserved{},
	})
	require.NoError(t, err)
	require.NoError(t, served.Handle("/for/data/", record.RoleData, handler))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- served.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended)
	})
	return i
}

// P2, G8: over real TLS a real gateway certifies the key, and who has the Secret is let in by
// it, and recognises the gateway.
func TestG8OverTLS(t *testing.T) {
	far := newInviter(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peer, _ := gateway.PeerFrom(r.Context())
		_, _ = io.WriteString(w, peer.ClusterUUID+" "+string(peer.Role))
	}))
	ledger, host := recordtest.New(), kubefake.NewSimpleClientset()
	guarded(host)
	require.NoError(t, ledger.Update(t.Context(), func(tx record.Tx) error {
		return tx.PutPeer(&record.Peer{UID: uid, Name: "east", Remote: &record.Remote{
			ClusterUUID: east, Endpoints: []string{far.endpoint}, Trust: far.ledger.Authority().Trust(),
			PairedAt: time.Now(), ConfirmedAt: time.Now(), Ours: far.ours,
		}})
	}))
	dialer, err := client.New(client.Config{Policy: client.Policy{AllowLocal: true}})
	require.NoError(t, err)
	api := fake.NewSimpleClientset(clusterPeer("east", uid))
	peers := externalversions.NewSharedInformerFactory(api, 0)
	controller, err := New(Config{
		Ledger: ledger, Informer: peers.Peering().V1alpha1().ClusterPeers(), Connect: Dialing(dialer),
		Secrets: host.CoreV1().Secrets(namespace), Recorder: events.NewFakeRecorder(10), Clock: clock.RealClock{},
	})
	require.NoError(t, err)
	runs(t, controller, peers)
	find := func() *corev1.Secret {
		live, err := host.CoreV1().Secrets(namespace).Get(t.Context(), secret, metav1.GetOptions{})
		if err != nil {
			return nil
		}
		return live
	}
	require.Eventually(t, func() bool { return find() != nil }, deadline, 5*time.Millisecond)
	live := find()
	pair, err := tls.X509KeyPair(live.Data["tls.crt"], live.Data["tls.key"])
	require.NoError(t, err)
	roots, err := cert.NewPoolFromBytes(live.Data["ca.crt"])
	require.NoError(t, err)
	transport := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, RootCAs: roots}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, far.endpoint+"/for/data/x", nil)
	require.NoError(t, err)
	answer, err := (&http.Client{Transport: transport}).Do(request)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	assert.Equal(t, west+" data", string(body))
	keys := 0
	for _, key := range far.ledger.Peer("far").Remote.Keys {
		if key.Role == record.RoleData {
			keys++
		}
	}
	assert.Equal(t, 1, keys)

	require.NoError(t, api.PeeringV1alpha1().ClusterPeers().Delete(t.Context(), "east", metav1.DeleteOptions{}))
	require.Eventually(t, func() bool { return find() == nil }, deadline, 5*time.Millisecond)
}
