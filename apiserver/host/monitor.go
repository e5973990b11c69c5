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
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

const (
	// probeInterval is the time between two looks at the host cluster.
	probeInterval = 5 * time.Second
	// probeTimeout limits one look.
	probeTimeout = 5 * time.Second
	// failuresUntilAway is how many looks fail until the host cluster counts as away.
	failuresUntilAway = 2
	// rightsEvery is after how many looks at a host cluster that is well the right to
	// delegate is checked again.
	rightsEvery = 12
)

// Monitor watches whether the host cluster answers and lets this server ask it
// about users. It is a readiness check: without the host nobody is known, so no
// request can be answered.
type Monitor struct {
	host *Host

	lock     sync.Mutex
	fault    error // why the server is not ready, nil if it is
	failures int   // in a row
	looks    int   // since the right to delegate was last seen
}

// NewMonitor returns a monitor that is not well until Run has looked.
func (h *Host) NewMonitor() *Monitor {
	return &Monitor{host: h, fault: errors.New("the host cluster has not been asked yet"), failures: failuresUntilAway}
}

// Name is the name of the readiness check.
func (m *Monitor) Name() string { return "host-cluster" }

// Check fails with the reason while the host cluster is away or refuses to be
// asked about users.
func (m *Monitor) Check(*http.Request) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.fault
}

// Run looks at the host cluster until ctx ends.
func (m *Monitor) Run(ctx context.Context) {
	ticker := m.host.clock.NewTicker(probeInterval)
	defer ticker.Stop()
	for {
		m.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

// look asks once, and logs when the answer is another than before.
func (m *Monitor) look(ctx context.Context) {
	err := m.probe(ctx)
	if ctx.Err() != nil {
		return
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	before := m.fault
	if err == nil {
		m.failures, m.fault = 0, nil
	} else if m.failures++; m.failures >= failuresUntilAway {
		m.fault = err
	}
	log := klog.FromContext(ctx)
	switch {
	case m.fault == nil && before != nil:
		log.Info("The host cluster answers, and may be asked about users")
	case m.fault != nil && (before == nil || before.Error() != m.fault.Error()):
		log.Error(m.fault, "Not ready")
	}
}

func (m *Monitor) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if _, err := m.host.serverVersion(ctx); err != nil {
		return err
	}
	if m.looks++; m.looks < rightsEvery && m.Check(nil) == nil {
		return nil
	}
	if err := m.host.checkDelegation(ctx); err != nil {
		return err
	}
	m.looks = 0
	return nil
}

func (h *Host) serverVersion(ctx context.Context) (string, error) {
	info, err := h.Discovery.ServerVersionWithContext(ctx)
	if err != nil {
		return "", fmt.Errorf("the host cluster does not answer: %w", err)
	}
	return info.GitVersion, nil
}

// checkDelegation fails, saying what to create, if this server may not ask who a
// user is and what a user may do.
func (h *Host) checkDelegation(ctx context.Context) error {
	for _, attributes := range []authorizationv1.ResourceAttributes{
		{Group: "authentication.k8s.io", Resource: "tokenreviews", Verb: "create"},
		{Group: "authorization.k8s.io", Resource: "subjectaccessreviews", Verb: "create"},
	} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &attributes}}
		answer, err := h.urgent.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("could not ask the host cluster for the rights of this server: %w", err)
		}
		if !answer.Status.Allowed {
			return fmt.Errorf("this server may not create %s.%s in the host cluster; what is missing: kubectl create clusterrolebinding entente-apiserver-auth-delegator --clusterrole=system:auth-delegator %s",
				attributes.Resource, attributes.Group, h.subject())
		}
	}
	return nil
}

// subject is the option of kubectl that names this server in a binding.
func (h *Host) subject() string {
	if account, ok := strings.CutPrefix(h.facts.username, "system:serviceaccount:"); ok {
		return "--serviceaccount=" + account
	}
	return fmt.Sprintf("--user=%q", h.facts.username)
}
