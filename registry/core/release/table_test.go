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

package release

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
	assert.Equal(t, []string{"Name", "Cluster", "Ready", "Reason", "Objects", "Age"}, narrow)
	assert.Equal(t, []string{"Address"}, wide)
}

// K3: what the cells hold, of an object with everything and of one with nothing. What is in the
// objects of a Release is not shown.
func TestK3Cells(t *testing.T) {
	full := stored()
	full.CreationTimestamp = metav1.NewTime(time.Now().Add(-49 * time.Hour))
	assert.Equal(t, []any{"a.release", "a.cluster", "True", "Applied", int64(2), "2d1h", "https://a:6443"}, strategytest.Cells(t, table(), full))
	assert.Equal(t, []any{"", "", "Unknown", "", int64(0), "<unknown>", ""}, strategytest.Cells(t, table(), &core.Release{}))
}
