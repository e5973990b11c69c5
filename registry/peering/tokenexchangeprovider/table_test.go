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

package tokenexchangeprovider

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
	assert.Equal(t, []string{"Name", "Ready", "Reason", "Issuer", "Prefix", "Age"}, narrow)
	assert.Equal(t, []string{"Audiences"}, wide)
}

// K3: what the cells hold, of an object with everything, of one that was not judged yet,
// and of one with nothing.
func TestK3Cells(t *testing.T) {
	full := stored()
	full.CreationTimestamp = metav1.NewTime(time.Now().Add(-49 * time.Hour))
	full.Status.Conditions = append([]metav1.Condition{{Type: "Other", Status: "True", Reason: "Not"}}, full.Status.Conditions...)
	for name, test := range map[string]struct {
		provider *peering.TokenExchangeProvider
		want     []any
	}{
		"everything": {full, []any{"peer-east", "False", "PrefixConflict", "https://east.example", "peer:" + uuid + ":", "2d1h", int64(2)}},
		"not judged": {changed(full, func(p *peering.TokenExchangeProvider) { p.Status = peering.TokenExchangeProviderStatus{} }), []any{"peer-east", "Unknown", "", "https://east.example", "peer:" + uuid + ":", "2d1h", int64(2)}},
		"nothing":    {&peering.TokenExchangeProvider{}, []any{"", "Unknown", "", "", "", "<unknown>", int64(0)}},
	} {
		t.Run(name, func(t *testing.T) {
			table, err := table().ConvertToTable(t.Context(), test.provider, nil)
			require.NoError(t, err)
			require.Len(t, table.Rows, 1)
			assert.Equal(t, test.want, table.Rows[0].Cells)
			assert.Len(t, table.Rows[0].Cells, len(table.ColumnDefinitions))
		})
	}
}
