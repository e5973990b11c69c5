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

package projectpeer

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
	assert.Equal(t, []string{"Name", "State", "Cluster", "Remote Namespaces", "Age"}, narrow)
	assert.Equal(t, []string{"Reason", "Capabilities"}, wide)
}

// K3: what the cells hold, of an object with everything and of one with nothing.
func TestK3Cells(t *testing.T) {
	full := stored()
	full.CreationTimestamp = metav1.NewTime(time.Now().Add(-49 * time.Hour))
	for name, test := range map[string]struct {
		peer *peering.ProjectPeer
		want []any
	}{
		"everything": {full, []any{"a-peer", "Paired", "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0", int64(2), "2d1h", "Active", "one,two"}},
		"nothing":    {&peering.ProjectPeer{}, []any{"", "", "", int64(0), "<unknown>", "", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			table, err := table().ConvertToTable(t.Context(), test.peer, nil)
			require.NoError(t, err)
			require.Len(t, table.Rows, 1)
			assert.Equal(t, test.want, table.Rows[0].Cells)
			assert.Len(t, table.Rows[0].Cells, len(table.ColumnDefinitions))
		})
	}
}
