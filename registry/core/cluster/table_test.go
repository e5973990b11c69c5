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

package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"entente.dev/entente/apis/core"
	"entente.dev/entente/registry/strategy/strategytest"
)

// K3: the columns, in the narrow and the wide form.
func TestK3Columns(t *testing.T) {
	narrow, wide := strategytest.Columns(t, table().Columns)
	assert.Equal(t, []string{"Name", "Mode", "Ready", "Reason", "Version", "Releases", "Last Seen", "Age"}, narrow)
	assert.Equal(t, []string{"Server", "Auth", "API Versions"}, wide)
}

// K3: what the cells hold, of an object with everything and of one with nothing. What a
// Cluster names is not shown.
func TestK3Cells(t *testing.T) {
	full := stored()
	full.CreationTimestamp = metav1.NewTime(time.Now().Add(-49 * time.Hour))
	full.Status.LastSeen = &full.CreationTimestamp
	for name, test := range map[string]struct {
		cluster *core.Cluster
		want    []any
	}{
		"everything": {full, []any{"a.cluster", "agentless", "True", "Reachable", "v1.37.2", int64(4), "2d1h", "2d1h", "https://a:6443", "kubeconfig", int64(2)}},
		"nothing":    {&core.Cluster{}, []any{"", "", "Unknown", "", "", int64(0), "", "<unknown>", "", "", int64(0)}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, strategytest.Cells(t, table(), test.cluster))
		})
	}
}
