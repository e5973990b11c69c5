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
	"testing"

	"github.com/stretchr/testify/assert"

	"entente.dev/entente/peering/record"
)

// G7: each request of a workload looks its grant up, so that this makes no garbage.
func TestG7GrantIsLookedUp(t *testing.T) {
	l := &Ledger{view: newView()}
	for _, capability := range []string{"backup", "images", "logs", "metrics"} {
		l.view.content.grants.set(record.GrantID("u", capability), &record.Grant{PeerUID: "u", Capability: capability})
	}
	assert.Equal(t, "logs", l.Grant("u", "logs").Capability)
	assert.Zero(t, testing.AllocsPerRun(10_000, func() { l.Grant("u", "logs") }))
}
