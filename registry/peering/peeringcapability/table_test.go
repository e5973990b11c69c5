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

package peeringcapability

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"entente.dev/entente/apis/peering"
)

// K3: the columns, in the narrow and the wide form.
func TestK3Columns(t *testing.T) {
	var narrow, wide []string
	for _, column := range table().Columns {
		assert.NotEmpty(t, column.Description, column.Name)
		if column.Priority == 0 {
			narrow = append(narrow, column.Name)
		} else {
			wide = append(wide, column.Name)
		}
	}
	assert.Equal(t, []string{"Name", "Version", "Valid", "Reason", "Rules", "Age"}, narrow)
	assert.Equal(t, []string{"Consumers"}, wide)
}

// K3: what the cells hold, of an object with everything, of one that was not judged yet,
// and of one with nothing.
func TestK3Cells(t *testing.T) {
	full := stored()
	full.CreationTimestamp = metav1.NewTime(time.Now().Add(-49 * time.Hour))
	full.Status.Conditions = append([]metav1.Condition{{Type: "Other", Status: "True", Reason: "Not"}}, full.Status.Conditions...)
	for name, test := range map[string]struct {
		capability *peering.PeeringCapability
		want       []any
	}{
		"everything": {full, []any{"a-capability", "1.2.3", "False", "ForbiddenRule", int64(2), "2d1h", int64(1)}},
		"not judged": {changed(full, func(c *peering.PeeringCapability) { c.Status = peering.PeeringCapabilityStatus{} }), []any{"a-capability", "1.2.3", "Unknown", "", int64(2), "2d1h", int64(1)}},
		"nothing":    {&peering.PeeringCapability{}, []any{"", "", "Unknown", "", int64(0), "<unknown>", int64(0)}},
	} {
		t.Run(name, func(t *testing.T) {
			table, err := table().ConvertToTable(t.Context(), test.capability, nil)
			require.NoError(t, err)
			require.Len(t, table.Rows, 1)
			assert.Equal(t, test.want, table.Rows[0].Cells)
			assert.Len(t, table.Rows[0].Cells, len(table.ColumnDefinitions))
		})
	}
}
