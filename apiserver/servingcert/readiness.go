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
	"fmt"
	"net/http"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/server/healthz"
)

var _ healthz.HealthChecker = &Manager{}

// Check implements healthz.HealthChecker, for readiness: a certificate from the
// Secret is served and kube-aggregator trusts it in every APIService. A replica
// that was ready and cannot look any more stays so until its certificate expires:
// what it serves is trusted until then, and where the host's API is away nobody
// reaches it anyhow.
func (m *Manager) Check(*http.Request) error {
	if inUse := m.inUse.Load(); !inUse.provisional() && inUse.expired(m.options.Clock.Now()) {
		return fmt.Errorf("the serving certificate expired on %s", inUse.leaf.NotAfter.Format(time.RFC3339))
	}
	if fault := m.unready.Load(); fault != nil {
		return *fault
	}
	return nil
}

// judge records whether we are ready, after a look at the Secret and the
// APIServices.
func (m *Manager) judge(seen sightings, publishing map[string]error) {
	var faults, unknown []error
	inUse := m.inUse.Load()
	if inUse.provisional() {
		faults = append(faults, fmt.Errorf("%s holds no serving certificate yet: its authority is published first", m.secretName()))
	}
	for _, one := range seen {
		switch {
		case one.err != nil:
			unknown = append(unknown, one.err)
		case one.absent:
			faults = append(faults, fmt.Errorf("APIService %s does not exist: apply artifacts/deploy/apiservice.yaml", one.name))
		case one.foreign:
			faults = append(faults, fmt.Errorf("APIService %s is served by %s, not by Service %s/%s: its caBundle is left alone", one.name, one.served, m.options.Namespace, m.options.Service))
		case publishing[one.name] != nil && (inUse.provisional() || !one.holds(inUse.authority)):
			faults = append(faults, publishing[one.name])
		case !inUse.provisional() && !one.holds(inUse.authority):
			faults = append(faults, fmt.Errorf("APIService %s does not hold the authority of the certificate that is served", one.name))
		}
	}
	if len(faults) > 0 {
		m.setUnready(utilerrors.NewAggregate(append(faults, unknown...)))
		return
	}
	if len(unknown) > 0 {
		m.cannotTell(utilerrors.NewAggregate(unknown))
		return
	}
	m.unready.Store(nil)
}

// cannotTell records that readiness could not be judged: who was ready stays so.
func (m *Manager) cannotTell(err error) {
	if m.unready.Load() != nil {
		m.setUnready(err)
	}
}

func (m *Manager) setUnready(err error) { m.unready.Store(&err) }
