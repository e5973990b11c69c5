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

package strategytest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
)

// Columns are the names of columns, of the narrow form and of what the wide one adds. Each
// has a description.
func Columns(t *testing.T, columns []metav1.TableColumnDefinition) (narrow, wide []string) {
	t.Helper()
	for _, column := range columns {
		assert.NotEmpty(t, column.Description, column.Name)
		if column.Priority == 0 {
			narrow = append(narrow, column.Name)
		} else {
			wide = append(wide, column.Name)
		}
	}
	return narrow, wide
}

// Cells are those of one object, one a column.
func Cells(t *testing.T, convertor rest.TableConvertor, obj runtime.Object) []any {
	t.Helper()
	table, err := convertor.ConvertToTable(t.Context(), obj, nil)
	require.NoError(t, err)
	require.Len(t, table.Rows, 1)
	assert.Len(t, table.Rows[0].Cells, len(table.ColumnDefinitions))
	return table.Rows[0].Cells
}
