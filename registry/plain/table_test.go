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

package plain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/apis/example"
)

func pods() Table[*example.Pod] {
	return Table[*example.Pod]{
		Columns: []metav1.TableColumnDefinition{NameColumn(), {Name: "Node", Type: "string"}, AgeColumn()},
		Row: func(pod *example.Pod, name, age string) []any {
			return []any{name, pod.Spec.NodeName, age}
		},
	}
}

// K2, K3: a table has what a list has, a row an object, and in it the object.
func TestK3TableOfAList(t *testing.T) {
	remaining := int64(4)
	about := metav1.ListMeta{ResourceVersion: "7", Continue: "more", RemainingItemCount: &remaining}
	pod := example.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", CreationTimestamp: metav1.NewTime(time.Now().Add(-49 * time.Hour))}, Spec: example.PodSpec{NodeName: "n"}}
	list := &example.PodList{ListMeta: about, Items: []example.Pod{pod, {}}}
	for name, options := range map[string]runtime.Object{"without options": nil, "with options": &metav1.TableOptions{}, "without headers": &metav1.TableOptions{NoHeaders: true}} {
		t.Run(name, func(t *testing.T) {
			table, err := pods().ConvertToTable(t.Context(), list, options)
			require.NoError(t, err)
			assert.Equal(t, about, table.ListMeta)
			if name == "without headers" {
				assert.Empty(t, table.ColumnDefinitions)
			} else {
				assert.Equal(t, pods().Columns, table.ColumnDefinitions)
			}
			require.Len(t, table.Rows, 2)
			assert.Equal(t, []any{"a", "n", "2d1h"}, table.Rows[0].Cells)
			assert.Equal(t, []any{"", "", "<unknown>"}, table.Rows[1].Cells)
			assert.Equal(t, &pod, table.Rows[0].Object.Object)
		})
	}
}

// K2: a table of one object has its version.
func TestTableOfAnObject(t *testing.T) {
	table, err := pods().ConvertToTable(t.Context(), &example.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "5"}}, nil)
	require.NoError(t, err)
	assert.Equal(t, "5", table.ResourceVersion)
	require.Len(t, table.Rows, 1)
	assert.Equal(t, "a", table.Rows[0].Cells[0])
}

// What is of another type is an error and not a panic.
func TestTableOfOtherTypes(t *testing.T) {
	for _, object := range []runtime.Object{&example.ReplicaSet{}, &metav1.PartialObjectMetadataList{Items: []metav1.PartialObjectMetadata{{}}}} {
		_, err := pods().ConvertToTable(t.Context(), object, nil)
		assert.ErrorContains(t, err, "not a *example.Pod", "%T", object)
	}
}

// The columns that every kind has are described, and the name is marked as one.
func TestColumns(t *testing.T) {
	for _, column := range []metav1.TableColumnDefinition{NameColumn(), AgeColumn()} {
		assert.NotEmpty(t, column.Description, column.Name)
		assert.Zero(t, column.Priority, column.Name)
	}
	assert.Equal(t, "name", NameColumn().Format)
}
