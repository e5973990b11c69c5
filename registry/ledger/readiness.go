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

package ledger

import (
	"errors"
	"fmt"
	"net/http"

	"k8s.io/apiserver/pkg/server/healthz"

	"entente.dev/entente/peering/record"
)

// Readiness is the check that fails while the ledger is not fresh. It belongs to the
// readiness of the server, not to its liveness.
func (l *Ledger) Readiness() healthz.HealthChecker {
	return healthz.NamedCheck("ledger", func(*http.Request) error {
		err := l.Fresh()
		if errors.Is(err, record.ErrRestored) {
			return fmt.Errorf("%w; if that was on purpose, start with --accept-restored-store: all open invites die and all peers are suspended", err)
		}
		return err
	})
}
