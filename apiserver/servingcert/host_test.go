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

package servingcert

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/cert"
	testingclock "k8s.io/utils/clock/testing"
)

const (
	namespace  = "entente-system"
	service    = "entente-apiserver"
	serverName = service + "." + namespace + ".svc"
	peeringAPI = "v1alpha1.peering.entente.dev"
	coreAPI    = "v1alpha1.core.convoy.kumodo.io"
)

func start() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// host is a cluster as far as it matters here: a Secret and APIServices, written
// only by who knows their resource version.
type host struct {
	clock *testingclock.FakeClock

	lock    sync.Mutex
	version int
	// secret is nil if it does not exist.
	secret      *corev1.Secret
	apiServices map[string]APIService
	writes      int
	// replicas are the Managers that share this host.
	replicas []*Manager
	// trusted are the leaves and bundles that were found to fit; a leaf ends before its
	// authority.
	trusted map[[2]string]bool
	// broken is the first moment at which a leaf was served that was not trusted.
	broken error
}

func newHost() *host {
	h := &host{clock: testingclock.NewFakeClock(start()), version: 1, trusted: map[[2]string]bool{}}
	h.secret = &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: DefaultSecretName, Namespace: namespace, ResourceVersion: "1"},
		Type:       corev1.SecretTypeOpaque,
	}
	h.apiServices = map[string]APIService{}
	for _, name := range []string{peeringAPI, coreAPI} {
		h.apiServices[name] = APIService{ResourceVersion: "1", Namespace: namespace, Service: service}
	}
	return h
}

func (h *host) options() Options {
	return Options{Namespace: namespace, Service: service, APIServices: []string{peeringAPI, coreAPI}, Clock: h.clock}
}

// replica adds a Manager. before is called before each request of its, and what it
// returns is the answer, unless that is nil.
func (h *host) replica(t testing.TB, options Options, before func(verb, name string) error) *Manager {
	t.Helper()
	if before == nil {
		before = func(string, string) error { return nil }
	}
	view := &view{host: h, before: before}
	m, err := New(view, apiServicesOf{view}, options)
	require.NoError(t, err)
	h.lock.Lock()
	defer h.lock.Unlock()
	h.replicas = append(h.replicas, m)
	return m
}

// check looks whether kube-aggregator trusts what every replica serves, through
// every APIService. The caller holds the lock. A certificate that is provisional or
// has expired is not looked at: it is a matter of readiness.
func (h *host) check(when string) {
	for i, replica := range h.replicas {
		// Before the bundle, which may lose an authority as soon as nothing hangs on it.
		inUse := replica.inUse.Load()
		now := h.clock.Now()
		if inUse.provisional() || inUse.expired(now) {
			continue
		}
		for name, apiService := range h.apiServices {
			if apiService.Service != service {
				continue
			}
			key := [2]string{string(inUse.leaf.Raw), string(apiService.CABundle)}
			if h.trusted[key] {
				continue
			}
			err := apiService.trusts(inUse.leaf, now)
			h.trusted[key] = err == nil
			if err != nil && h.broken == nil {
				h.broken = fmt.Errorf("%s, %s: replica %d serves what APIService %s does not trust: %w", now.Format(time.DateTime), when, i, name, err)
			}
		}
	}
}

// trusts is what kube-aggregator does in a handshake.
func (a APIService) trusts(leaf *x509.Certificate, now time.Time) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.CABundle)
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, DNSName: serverName})
	return err
}

// always fails if something was served that was not trusted.
func (h *host) always(t testing.TB) {
	t.Helper()
	h.lock.Lock()
	defer h.lock.Unlock()
	h.check("at the end of a step")
	require.NoError(t, h.broken)
}

// edit is somebody's change of the Secret.
func (h *host) edit(change func(data map[string][]byte)) {
	h.lock.Lock()
	defer h.lock.Unlock()
	if h.secret.Data == nil {
		h.secret.Data = map[string][]byte{}
	}
	change(h.secret.Data)
	h.version++
	h.secret.ResourceVersion = strconv.Itoa(h.version)
}

// editAPIService is somebody's change of an APIService.
func (h *host) editAPIService(name string, change func(*APIService)) {
	h.lock.Lock()
	defer h.lock.Unlock()
	apiService := h.apiServices[name]
	change(&apiService)
	h.version++
	apiService.ResourceVersion = strconv.Itoa(h.version)
	h.apiServices[name] = apiService
}

func (h *host) written() int {
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.writes
}

// data is the Secret's.
func (h *host) data() map[string][]byte {
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.secret.DeepCopy().Data
}

func (h *host) apiService(name string) APIService {
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.apiServices[name]
}

// bundle is what kube-aggregator trusts.
func (h *host) bundle(t testing.TB, name string) []*x509.Certificate {
	t.Helper()
	content := h.apiService(name).CABundle
	if len(content) == 0 {
		return nil
	}
	certificates, err := cert.ParseCertsPEM(content)
	require.NoError(t, err)
	return certificates
}

// view is the host as one replica reaches it.
type view struct {
	host   *host
	before func(verb, name string) error
}

func (v *view) request(verb, name string) error {
	err := v.before(verb, name)
	v.host.lock.Lock()
	defer v.host.lock.Unlock()
	v.host.check("before " + verb + " " + name)
	return err
}

func (v *view) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Secret, error) {
	if err := v.request("get", name); err != nil {
		return nil, err
	}
	v.host.lock.Lock()
	defer v.host.lock.Unlock()
	if v.host.secret == nil || name != v.host.secret.Name {
		return nil, apierrors.NewNotFound(corev1.Resource("secrets"), name)
	}
	return v.host.secret.DeepCopy(), nil
}

func (v *view) Update(_ context.Context, secret *corev1.Secret, _ metav1.UpdateOptions) (*corev1.Secret, error) {
	if err := v.request("update", secret.Name); err != nil {
		return nil, err
	}
	v.host.lock.Lock()
	defer v.host.lock.Unlock()
	if v.host.secret == nil {
		return nil, apierrors.NewNotFound(corev1.Resource("secrets"), secret.Name)
	}
	if secret.ResourceVersion == "" || secret.ResourceVersion != v.host.secret.ResourceVersion {
		return nil, apierrors.NewConflict(corev1.Resource("secrets"), secret.Name, errors.New("it changed"))
	}
	v.host.version++
	v.host.writes++
	v.host.secret = secret.DeepCopy()
	v.host.secret.ResourceVersion = strconv.Itoa(v.host.version)
	v.host.check("after an update of the Secret")
	return v.host.secret.DeepCopy(), nil
}

type apiServicesOf struct{ view *view }

func (a apiServicesOf) Get(_ context.Context, name string) (APIService, error) {
	if err := a.view.request("get", name); err != nil {
		return APIService{}, err
	}
	h := a.view.host
	h.lock.Lock()
	defer h.lock.Unlock()
	found, ok := h.apiServices[name]
	if !ok {
		return APIService{}, apierrors.NewNotFound(schema.GroupResource{Group: "apiregistration.k8s.io", Resource: "apiservices"}, name)
	}
	return found, nil
}

func (a apiServicesOf) Publish(_ context.Context, name, resourceVersion string, bundle []byte) error {
	if err := a.view.request("patch", name); err != nil {
		return err
	}
	h := a.view.host
	h.lock.Lock()
	defer h.lock.Unlock()
	found := h.apiServices[name]
	if found.ResourceVersion != resourceVersion {
		return apierrors.NewConflict(schema.GroupResource{Group: "apiregistration.k8s.io", Resource: "apiservices"}, name, errors.New("it changed"))
	}
	h.version++
	h.writes++
	found.CABundle, found.InsecureSkipTLSVerify, found.ResourceVersion = bundle, false, strconv.Itoa(h.version)
	h.apiServices[name] = found
	h.check("after a patch of " + name)
	return nil
}

// steps has a replica look until nothing is left to be done at once, with a second
// between two looks.
func (h *host) steps(t testing.TB, m *Manager) {
	t.Helper()
	for range 20 {
		written := h.written()
		require.NoError(t, ignoreUnready(m, m.RunOnce(quiet(t))))
		h.always(t)
		if h.written() == written {
			return
		}
		h.clock.Step(time.Second)
	}
	t.Fatal("it writes and writes")
}

// ignoreUnready drops an error that only repeats why the replica is not ready.
func ignoreUnready(m *Manager, err error) error {
	if m.Check(nil) == nil {
		return err
	}
	return nil
}

// started is a host with one replica that is ready.
func started(t testing.TB) (*host, *Manager) {
	t.Helper()
	h := newHost()
	m := h.replica(t, h.options(), nil)
	h.steps(t, m)
	require.NoError(t, m.Check(nil))
	return h, m
}

// parse reads one certificate.
func parse(t testing.TB, content []byte) *x509.Certificate {
	t.Helper()
	certificates, err := cert.ParseCertsPEM(content)
	require.NoError(t, err)
	require.Len(t, certificates, 1)
	return certificates[0]
}
