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
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/klog/v2"

	"entente.dev/entente/apiserver/secrets"
)

const (
	// firstRetry and maxRetry limit the time between two looks while there is something
	// to do; it doubles with each that brought nothing.
	firstRetry = time.Second
	maxRetry   = 30 * time.Second
	// lookTimeout limits one look at the Secret and the APIServices, which the server
	// waits for once before it serves.
	lookTimeout = 10 * time.Second
	// jitter spreads the replicas.
	jitter = 0.2
)

// Manager keeps the serving certificate of one replica, and with the other replicas
// the Secret and the APIServices. It is a dynamic certificate for
// SecureServingOptions.ServerCert.GeneratedCert, which also runs it, and a check for
// readiness.
type Manager struct {
	secrets     secrets.Client
	apiServices APIServices
	options     Options

	// inUse is what is served. It is never nil.
	inUse atomic.Pointer[pair]
	// unready says why we are not ready; nil if we are.
	unready atomic.Pointer[error]

	listenersLock sync.Mutex
	listeners     []dynamiccertificates.Listener

	// looking is held during a look, and guards what follows.
	looking sync.Mutex
	// settling is the next authority that is published everywhere, since settlingSince.
	settling      *x509.Certificate
	settlingSince time.Time
}

// New returns a Manager that serves a provisional certificate until it has run.
func New(client secrets.Client, apiServices APIServices, options Options) (*Manager, error) {
	options = options.complete()
	if err := options.validate(); err != nil {
		return nil, fmt.Errorf("could not keep a serving certificate: %w", err)
	}
	provisional, err := provisionalPair(options)
	if err != nil {
		return nil, fmt.Errorf("could not make a provisional serving certificate: %w", err)
	}
	m := &Manager{secrets: secrets.Guard(client), apiServices: apiServices, options: options}
	m.inUse.Store(provisional)
	m.setUnready(fmt.Errorf("%s has not been read yet", m.secretName()))
	return m, nil
}

// RunOnce looks once at the Secret and the APIServices and does the next step. It
// waits for the API no longer than lookTimeout.
func (m *Manager) RunOnce(ctx context.Context) error {
	_, err := m.look(ctx)
	return err
}

// Run looks again and again until ctx ends. The number of workers means nothing
// here.
func (m *Manager) Run(ctx context.Context, _ int) {
	defer utilruntime.HandleCrashWithContext(ctx)
	logger := klog.FromContext(ctx)
	var said string
	retry := newRetry()
	for {
		found, err := m.look(ctx)
		if ctx.Err() != nil {
			return
		}
		switch {
		case err == nil:
			said = ""
		case err.Error() != said:
			said = err.Error()
			logger.Error(err, "Could not keep the serving certificate, trying again")
		default:
			logger.V(2).Info("Could not keep the serving certificate, trying again", "err", err)
		}
		if found != waiting {
			retry = newRetry()
		}
		delay := wait.Jitter(m.options.Policy.Interval, jitter)
		if found != well {
			delay = min(delay, retry())
		}
		timer := m.options.Clock.NewTimer(delay)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

func newRetry() wait.DelayFunc {
	return wait.Backoff{Duration: firstRetry, Factor: 2, Jitter: jitter, Cap: maxRetry, Steps: 10}.DelayFunc()
}

// outcome is what a look found.
type outcome int

const (
	// waiting means that something is missing, or was until now. (Who publishes again and
	// again, because somebody else does so too, is waiting.)
	waiting outcome = iota
	// moved means that the Secret was written; more follows.
	moved
	// well means that all is as it should be.
	well
)

// look looks at the APIServices and then at the Secret (in this order, see the
// package comment), does what comes next and publishes the result.
func (m *Manager) look(ctx context.Context) (outcome, error) {
	m.looking.Lock()
	defer m.looking.Unlock()
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()

	seen := m.see(ctx)
	secret, err := m.readSecret(ctx)
	if err != nil {
		m.cannotTell(err)
		return waiting, err
	}
	now := m.options.Clock.Now()
	c, faults, err := decode(secret.Data, now)
	if err != nil {
		err = fmt.Errorf("could not use %s: %w", m.secretName(), err)
		m.cannotTell(err)
		return waiting, err
	}
	s := situation{
		content: c, faults: faults, seen: seen, inUse: m.inUse.Load(), nextSettled: m.settled(c, seen, now),
		names: m.options.names(), policy: m.options.Policy, now: now,
	}
	var errs []error
	written := false
	d := decide(s)
	if d.action != nothing {
		if c, err = carryOut(d, s); err == nil {
			written, err = m.writeSecret(ctx, secret, c)
		}
		switch {
		case err != nil && (d.rescue || apierrors.IsConflict(err)):
			// What we know must not be published: the Secret says something else by now, or
			// lacks an authority that is in use.
			m.cannotTell(err)
			return waiting, err
		case err != nil:
			errs = append(errs, err)
		default:
			s.content = c
		}
	}
	if written {
		klog.FromContext(ctx).Info("Changed the Secret of the serving certificate", "secret", klog.KRef(m.options.Namespace, m.options.SecretName), "change", string(d.action), "why", d.reason())
	}
	if s.takesLeaf() {
		if err := m.serve(s.content.leaf, s.content.current.Certificate); err != nil {
			return waiting, err
		}
	}
	published, failures := m.publish(ctx, s)
	for _, one := range seen {
		if err := failures[one.name]; err != nil {
			errs = append(errs, err)
		}
		if one.err != nil {
			errs = append(errs, one.err)
		}
	}
	m.judge(seen, failures)
	if unready := m.unready.Load(); unready != nil && len(errs) == 0 && !written && !published {
		errs = append(errs, *unready)
	}
	switch {
	case written:
		return moved, utilerrors.NewAggregate(errs)
	case len(errs) > 0 || published || s.content.leaf == nil:
		return waiting, utilerrors.NewAggregate(errs)
	}
	return well, nil
}

// settled tells whether the next authority has been seen everywhere for long enough.
func (m *Manager) settled(c content, seen sightings, now time.Time) bool {
	if c.next == nil || !seen.everywhere(c.next.Certificate) {
		m.settling = nil
		return false
	}
	if m.settling == nil || !m.settling.Equal(c.next.Certificate) {
		m.settling, m.settlingSince = c.next.Certificate, now
	}
	return now.Sub(m.settlingSince) >= m.options.Policy.Settle
}

// see looks at the APIServices.
func (m *Manager) see(ctx context.Context) sightings {
	var seen sightings
	for _, name := range m.options.APIServices {
		one := sighting{name: name}
		found, err := m.apiServices.Get(ctx, name)
		switch {
		case apierrors.IsNotFound(err):
			one.absent = true
		case err != nil:
			one.err = fmt.Errorf("could not get APIService %s: %w", name, err)
		case found.Service == "":
			one.foreign, one.served = true, "the kube-apiserver itself"
		case found.Namespace != m.options.Namespace || found.Service != m.options.Service:
			one.foreign, one.served = true, "Service "+found.Namespace+"/"+found.Service
		}
		one.APIService = found
		seen = append(seen, one)
	}
	return seen
}

// publish puts the bundle of the Secret's content into the APIServices that have
// another one, and notes in seen that they have it.
func (m *Manager) publish(ctx context.Context, s situation) (changed bool, failures map[string]error) {
	failures = map[string]error{}
	if len(s.content.trusted()) == 0 {
		return false, failures
	}
	bundle, err := s.content.bundle()
	for i := range s.seen {
		one := &s.seen[i]
		if !one.ours() || (err == nil && bytes.Equal(one.CABundle, bundle) && !one.InsecureSkipTLSVerify) {
			continue
		}
		fault := err
		if fault == nil {
			fault = m.apiServices.Publish(ctx, one.name, one.ResourceVersion, bundle)
		}
		if fault != nil {
			failures[one.name] = fmt.Errorf("could not publish the authorities in APIService %s: %w", one.name, fault)
			continue
		}
		changed = true
		one.CABundle, one.InsecureSkipTLSVerify = bundle, false
		klog.FromContext(ctx).Info("Published the authorities of the serving certificate", "apiService", one.name, "authorities", len(s.content.trusted()))
	}
	return changed, failures
}
