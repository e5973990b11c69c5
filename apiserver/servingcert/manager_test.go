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
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
)

func TestFirstStart(t *testing.T) {
	h := newHost()
	m := h.replica(t, h.options(), nil)

	// A listener needs a certificate before anything is known.
	certificate, key := m.CurrentCertKeyContent()
	require.NotEmpty(t, certificate)
	require.NotEmpty(t, key)
	require.NoError(t, parse(t, certificate).VerifyHostname(serverName))
	require.ErrorContains(t, m.Check(nil), "has not been read yet")
	assert.Equal(t, "serving-certificate", m.Name())

	// One look makes and publishes an authority, the next one finds it there.
	require.NoError(t, m.RunOnce(quiet(t)))
	require.ErrorContains(t, m.Check(nil), "holds no serving certificate yet")
	assert.Len(t, h.bundle(t, peeringAPI), 1)
	assert.NotContains(t, h.data(), leafCert)
	require.NoError(t, m.RunOnce(quiet(t)))
	require.NoError(t, m.Check(nil))
	served, _ := m.CurrentCertKeyContent()
	assert.Equal(t, h.data()[leafCert], served)
	for _, name := range []string{serverName, serverName + ".cluster.local", service, "localhost", "127.0.0.1", "::1"} {
		require.NoError(t, parse(t, served).VerifyHostname(name))
	}
	assert.Equal(t, start().Add(30*24*time.Hour), parse(t, served).NotAfter)
	assert.Equal(t, start().Add(365*24*time.Hour), h.bundle(t, coreAPI)[0].NotAfter)

	// Then nothing is written.
	written := h.written()
	for range 100 {
		h.clock.Step(time.Minute)
		require.NoError(t, m.RunOnce(quiet(t)))
	}
	assert.Equal(t, written, h.written())
}

// H4: Entente creates no Secret, and says who ships it.
func TestNoSecret(t *testing.T) {
	h := newHost()
	h.secret = nil
	m := h.replica(t, h.options(), nil)
	err := m.RunOnce(quiet(t))
	require.EqualError(t, err, "Secret entente-system/entente-serving-cert does not exist and is not made here: apply artifacts/deploy/secret.yaml, which ships it empty")
	require.Equal(t, err, m.Check(nil))
	assert.Zero(t, h.written())
}

// An APIService that leads elsewhere is not ours to change; one that is missing or
// lacks the authority keeps us from being ready.
func TestAPIServices(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*APIService)
		// says is why we are not ready; empty if we are.
		says string
		// leaves is set where the APIService is left alone.
		leaves bool
	}{
		"of another Service":         {change: func(a *APIService) { a.Service, a.CABundle = "other", []byte("x") }, says: "APIService " + coreAPI + " is served by Service entente-system/other, not by Service entente-system/entente-apiserver", leaves: true},
		"of another namespace":       {change: func(a *APIService) { a.Namespace, a.CABundle = "other", nil }, says: "is served by Service other/entente-apiserver, not by Service entente-system/entente-apiserver", leaves: true},
		"of the kube-apiserver":      {change: func(a *APIService) { *a = APIService{} }, says: "is served by the kube-apiserver itself", leaves: true},
		"without a bundle":           {change: func(a *APIService) { a.CABundle = nil }},
		"with a garbage bundle":      {change: func(a *APIService) { a.CABundle = []byte("garbage") }},
		"with a foreign one":         {change: func(a *APIService) { a.CABundle = []byte(strings.ToLower(string(a.CABundle))) }},
		"with one more":              {change: func(a *APIService) { a.CABundle = append(a.CABundle[:len(a.CABundle):len(a.CABundle)], '\n') }},
		"that verifies nothing":      {change: func(a *APIService) { a.CABundle, a.InsecureSkipTLSVerify = nil, true }},
		"made again from a manifest": {change: func(a *APIService) { *a = APIService{Namespace: namespace, Service: service} }},
	} {
		t.Run(name, func(t *testing.T) {
			h, m := started(t)
			before := h.apiService(coreAPI)
			h.editAPIService(coreAPI, test.change)
			edited := h.apiService(coreAPI)
			err := m.RunOnce(quiet(t))
			if test.says != "" {
				require.ErrorContains(t, err, test.says)
				require.ErrorContains(t, m.Check(nil), test.says)
			} else {
				require.NoError(t, err)
				require.NoError(t, m.Check(nil))
			}
			if test.leaves {
				assert.Equal(t, edited, h.apiService(coreAPI))
				h.editAPIService(coreAPI, func(a *APIService) { *a = before })
				require.NoError(t, m.RunOnce(quiet(t)))
				require.NoError(t, m.Check(nil))
				return
			}
			assert.Equal(t, before.CABundle, h.apiService(coreAPI).CABundle)
			assert.False(t, h.apiService(coreAPI).InsecureSkipTLSVerify)
		})
	}

	t.Run("missing", func(t *testing.T) {
		h, m := started(t)
		delete(h.apiServices, coreAPI)
		require.ErrorContains(t, m.RunOnce(quiet(t)), "APIService "+coreAPI+" does not exist: apply artifacts/deploy/apiservice.yaml")
		require.ErrorContains(t, m.Check(nil), "does not exist")
	})
}

// A bundle that cannot be put back keeps us from being ready.
func TestBundleCannotBePutBack(t *testing.T) {
	h := newHost()
	forbidden := false
	m := h.replica(t, h.options(), func(verb, _ string) error {
		if forbidden && verb == "patch" {
			return errors.New("no right to patch")
		}
		return nil
	})
	h.steps(t, m)
	forbidden = true
	h.editAPIService(coreAPI, func(a *APIService) { a.CABundle = nil })
	require.ErrorContains(t, m.RunOnce(quiet(t)), "no right to patch")
	require.ErrorContains(t, m.Check(nil), "could not publish the authorities in APIService "+coreAPI)
	forbidden = false
	require.NoError(t, m.RunOnce(quiet(t)))
	require.NoError(t, m.Check(nil))
}

// What can't be finished is not written again and again.
func TestUnfinishedIsNotRewritten(t *testing.T) {
	h := newHost()
	forbidden := false
	m := h.replica(t, h.options(), func(verb, _ string) error {
		if forbidden && verb == "patch" {
			return errors.New("no right to patch")
		}
		return nil
	})
	h.steps(t, m)
	forbidden = true
	h.edit(remove(caKey)) // as long as a leaf hangs on it, it stays without a key
	require.Error(t, m.RunOnce(quiet(t)))
	written := h.written()
	for range 3 {
		h.clock.Step(time.Minute)
		require.ErrorContains(t, m.RunOnce(quiet(t)), "no right to patch")
	}
	assert.Equal(t, written, h.written())
	require.NoError(t, m.Check(nil))
}

// Where the API is away, who was ready stays so until its certificate expires, and
// who was not says why.
func TestAway(t *testing.T) {
	for name, what := range map[string]string{"Secret": DefaultSecretName, "APIService": coreAPI} {
		t.Run(name, func(t *testing.T) {
			h := newHost()
			away := false
			before := func(_, name string) error {
				if away && name == what {
					return context.DeadlineExceeded
				}
				return nil
			}
			m := h.replica(t, h.options(), before)
			h.steps(t, m)
			away = true
			require.ErrorContains(t, m.RunOnce(quiet(t)), name)
			require.NoError(t, m.Check(nil))

			late := h.replica(t, h.options(), before)
			require.Error(t, late.RunOnce(quiet(t)))
			require.ErrorContains(t, late.Check(nil), "context deadline exceeded")

			h.clock.Step(30 * 24 * time.Hour)
			require.ErrorContains(t, m.Check(nil), "expired on")
		})
	}
}

// Two replicas decide the same at once: one writes, the other one reads again.
func TestConflict(t *testing.T) {
	h := newHost()
	first := h.replica(t, h.options(), nil)
	overtaken := false
	second := h.replica(t, h.options(), func(verb, _ string) error {
		if verb == "update" && !overtaken {
			overtaken = true
			h.steps(t, first)
		}
		return nil
	})
	err := second.RunOnce(quiet(t))
	require.True(t, apierrors.IsConflict(errors.Unwrap(err)), err)
	bundle := h.bundle(t, peeringAPI)
	h.steps(t, second)
	assert.Equal(t, first.inUse.Load().leaf, second.inUse.Load().leaf)
	assert.Equal(t, bundle, h.bundle(t, peeringAPI))
}

// Another replica gets further between our looks at the Secret and at the
// APIServices, whichever comes first: an older bundle never replaces a newer one.
func TestSlowReplicaPublishesNothingOld(t *testing.T) {
	for _, when := range []string{"get " + peeringAPI, "get " + coreAPI, "get " + DefaultSecretName, "update " + DefaultSecretName, "patch " + peeringAPI, "patch " + coreAPI} {
		for _, what := range []string{"renewal", "switch"} {
			t.Run(what+" before "+when, func(t *testing.T) {
				h, first := started(t)
				// The authority is about to get a successor, the leaf is not old.
				for range 12 {
					h.clock.Step(18 * 24 * time.Hour)
					h.steps(t, first)
				}
				require.Len(t, h.bundle(t, peeringAPI), 1)
				var overtaken bool
				// It would not make a successor yet, as one of another version might not: it
				// does not find out by a conflict that it is late.
				options := h.options()
				options.Policy.NextCAAfter = 0.65
				second := h.replica(t, options, func(verb, name string) error {
					if overtaken || verb+" "+name != when {
						return nil
					}
					overtaken = true
					h.clock.Step(4 * 24 * time.Hour)
					h.steps(t, first)
					if what == "switch" {
						h.clock.Step(time.Minute)
						h.steps(t, first)
						assert.Contains(t, h.data(), oldCACert)
					}
					return nil
				})
				if strings.HasPrefix(when, "update") {
					h.edit(garble(nextCACert))
				}
				if strings.HasPrefix(when, "patch") {
					h.replicas = nil // somebody breaks what they rely on
					h.editAPIService(strings.TrimPrefix(when, "patch "), func(a *APIService) { a.CABundle = nil })
				}
				_ = second.RunOnce(quiet(t))
				require.True(t, overtaken)
				assert.Len(t, h.bundle(t, peeringAPI), 2)
				assert.Len(t, h.bundle(t, coreAPI), 2)
				h.steps(t, second)
				require.NoError(t, second.Check(nil))
			})
		}
	}
}

// While there is something to do, looks come soon, and ever more seldom; then once
// in an interval.
func TestRunPaces(t *testing.T) {
	h := newHost()
	secret := h.secret
	h.secret = nil
	looks := make(chan time.Time, 100)
	m := h.replica(t, h.options(), func(verb, name string) error {
		if verb+" "+name == "get "+DefaultSecretName {
			looks <- h.clock.Now()
		}
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	log := logged(t)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.Run(mergeLog(ctx, log), 1)
	}()
	defer func() {
		cancel()
		<-ended
	}()
	// next returns the pause before the next look.
	last := <-looks
	next := func() time.Duration {
		for {
			require.Eventually(t, h.clock.HasWaiters, time.Minute, 100*time.Microsecond)
			select {
			case now := <-looks:
				pause := now.Sub(last)
				last = now
				return pause
			default:
				h.clock.Step(100 * time.Millisecond)
			}
		}
	}
	for _, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second, 30 * time.Second} {
		pause := next()
		assert.GreaterOrEqual(t, pause, want)
		assert.LessOrEqual(t, pause, want+want/5+100*time.Millisecond)
	}
	assert.Equal(t, 1, strings.Count(log.String(), "\nE")+strings.Count(log.String()[:1], "E"), "the same is said once: %s", log)

	h.lock.Lock()
	h.secret = secret
	h.lock.Unlock()
	next()
	assert.Less(t, next(), 1300*time.Millisecond, "after a change there may be more to do")
	next()
	for range 3 {
		pause := next()
		assert.GreaterOrEqual(t, pause, time.Minute)
		assert.LessOrEqual(t, pause, 73*time.Second)
	}
	require.NoError(t, m.Check(nil))
}

func TestOptions(t *testing.T) {
	h := newHost()
	view := &view{host: h}
	complete := h.options()
	_, err := New(view, apiServicesOf{view}, complete)
	require.NoError(t, err)

	for says, change := range map[string]func(*Options){
		"namespace is not a DNS label": func(o *Options) { o.Namespace = "" },
		`"A" of the Service`:           func(o *Options) { o.Service = "A" },
		`"a/b" of the Secret`:          func(o *Options) { o.SecretName = "a/b" },
		"no APIServices":               func(o *Options) { o.APIServices = nil },
		`"../x" of an APIService`:      func(o *Options) { o.APIServices = []string{"../x"} },
		`"*.example" is neither`:       func(o *Options) { o.Hosts = []string{"*.example"} },
		"negative":                     func(o *Options) { o.Policy.Interval = -1 },
		"must be more than 0":          func(o *Options) { o.Policy.NextCAAfter = 1 },
		"more than 0 and less than 1":  func(o *Options) { o.Policy.RenewLeafAfter = -0.1 },
		"too long for an authority":    func(o *Options) { o.Policy.LeafLifetime = 147 * 24 * time.Hour },
		"too long for a serving":       func(o *Options) { o.Policy.LeafLifetime = 8 * time.Minute },
	} {
		options := h.options()
		change(&options)
		_, err := New(view, apiServicesOf{view}, options)
		require.ErrorContains(t, err, says)
	}
}

// R15, R18: whoever prints a Manager prints no key.
func TestKeysAreNotPrinted(t *testing.T) {
	h, m := started(t)
	c, _, err := decode(h.data(), h.clock.Now())
	require.NoError(t, err)
	for _, key := range []string{caKey, leafKey} {
		body := strings.Split(string(h.data()[key]), "\n")[1]
		for _, value := range []any{m, c, *c.leaf, *m.inUse.Load(), *c.current} {
			for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
				assert.NotContains(t, fmt.Sprintf(verb, value), body)
				assert.NotContains(t, fmt.Sprintf(verb, value), strings.Trim(fmt.Sprintf("%d", []byte(body[:8])), "[]"))
			}
		}
	}
}

// What the API or a webhook says about an update may quote the Secret.
func TestErrorsQuoteNothing(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		says string
	}{
		"a webhook":     {apierrors.NewForbidden(corev1.Resource("secrets"), "x", errors.New(canary)), "it is forbidden"},
		"a bad answer":  {apierrors.NewGenericServerResponse(500, "put", corev1.Resource("secrets"), "x", canary, 0, true), "the API answered 500 InternalError"},
		"no answer":     {context.DeadlineExceeded, "context deadline exceeded"},
		"anything else": {errors.New(canary), "not understood"},
		"invalid":       {&apierrors.StatusError{ErrStatus: metav1.Status{Code: 422, Reason: metav1.StatusReasonInvalid, Message: canary}}, "the API answered 422 Invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, refused := range []string{"get", "update"} {
				h := newHost()
				m := h.replica(t, h.options(), func(verb, name string) error {
					if verb == refused && name == DefaultSecretName {
						return test.err
					}
					return nil
				})
				log := logged(t)
				err := m.RunOnce(log.context)
				require.ErrorContains(t, err, "could not "+refused+" Secret entente-system/entente-serving-cert: ")
				require.ErrorContains(t, err, test.says)
				require.Error(t, m.Check(nil))
				assert.NotContains(t, err.Error()+m.Check(nil).Error()+log.String(), canary)
			}
		})
	}
}

func TestMetrics(t *testing.T) {
	h := newHost()
	m := h.replica(t, h.options(), nil)
	registry := metrics.NewKubeRegistry()
	require.NoError(t, m.RegisterMetrics(registry.CustomRegister))
	const name = "entente_serving_certificate_expiration_timestamp_seconds"
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(""), name))
	h.steps(t, m)
	want := func(at time.Time) string {
		return fmt.Sprintf("# HELP %s [ALPHA] When the serving certificate from the Secret expires, in seconds since 1970.\n# TYPE %s gauge\n%s %g\n", name, name, name, float64(at.Unix()))
	}
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(want(m.inUse.Load().leaf.NotAfter)), name))

	// Another server in the process takes its place; others' faults are told.
	h.clock.Step(time.Hour)
	other, second := started(t)
	other.clock.Step(21 * 24 * time.Hour)
	other.steps(t, second)
	require.NoError(t, second.RegisterMetrics(registry.CustomRegister))
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(want(second.inUse.Load().leaf.NotAfter)), name))
	require.ErrorContains(t, second.RegisterMetrics(func(metrics.StableCollector) error { return errors.New("full") }), "full")
}
