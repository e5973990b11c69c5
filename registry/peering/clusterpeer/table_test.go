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

package clusterpeer

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"entente.dev/entente/apis/peering"
)

// cells renders one ClusterPeer, by the names of the columns.
func cells(t *testing.T, peer *peering.ClusterPeer) map[string]any {
	t.Helper()
	table, err := table().ConvertToTable(t.Context(), peer, &metav1.TableOptions{})
	require.NoError(t, err)
	require.Len(t, table.Rows, 1)
	require.Len(t, table.Rows[0].Cells, len(table.ColumnDefinitions))
	out := map[string]any{}
	for i, column := range table.ColumnDefinitions {
		out[column.Name] = table.Rows[0].Cells[i]
	}
	return out
}

// K3: the columns, in the narrow and the wide form.
func TestK3Columns(t *testing.T) {
	table, err := table().ConvertToTable(t.Context(), &peering.ClusterPeerList{}, nil)
	require.NoError(t, err)
	var narrow, wide []string
	for _, column := range table.ColumnDefinitions {
		assert.NotEmpty(t, column.Description, column.Name)
		assert.Contains(t, []string{"string", "integer"}, column.Type)
		if column.Priority == 0 {
			narrow = append(narrow, column.Name)
		} else {
			wide = append(wide, column.Name)
		}
	}
	assert.Equal(t, []string{"Name", "Type", "Phase", "Ready", "Reason", "Alias", "Projects", "Last Sync", "Age"}, narrow)
	assert.Equal(t, []string{"UUID", "Endpoint", "Capabilities", "Expiry"}, wide)
	assert.Equal(t, "name", table.ColumnDefinitions[0].Format)
	assert.Empty(t, table.Rows)
}

// K3: what the cells hold, of an object with everything and of one with nothing.
func TestK3Cells(t *testing.T) {
	full := join()
	full.CreationTimestamp = metav1.NewTime(time.Now().Add(-49 * time.Hour))
	full.Status = peering.ClusterPeerStatus{
		Phase: peering.ClusterPeerPhaseActive, PairedProjectsCount: 7, EffectiveCapabilities: []string{"a", "b"},
		Conditions: []metav1.Condition{{Type: "Other", Status: "False", Reason: "Not"}, {Type: "Ready", Status: "True", Reason: "Active"}},
		Invite:     &peering.InviteStatus{ConnectionString: inviteCanary, ExpiresAt: &metav1.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))}},
		Peer: &peering.PeerStatus{
			ClusterUUID: "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0", Alias: "far", Endpoint: "https://far.example",
			LastSyncTime: &metav1.Time{Time: time.Now().Add(-5*time.Minute - time.Second)},
		},
	}
	assert.Equal(t, map[string]any{
		"Name": "a-peer", "Type": "Join", "Phase": "Active", "Ready": "True", "Reason": "Active", "Alias": "far", "Projects": int64(7), "Last Sync": "5m1s", "Age": "2d1h",
		"UUID": "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0", "Endpoint": "https://far.example", "Capabilities": "a,b", "Expiry": "2026-01-02T02:04:05Z",
	}, cells(t, full))
	nothing := map[string]any{
		"Name": "", "Type": "", "Phase": "", "Ready": "Unknown", "Reason": "", "Alias": "", "Projects": int64(0), "Last Sync": "", "Age": "<unknown>",
		"UUID": "", "Endpoint": "", "Capabilities": "", "Expiry": "",
	}
	assert.Equal(t, nothing, cells(t, &peering.ClusterPeer{}))
	assert.Equal(t, nothing, cells(t, &peering.ClusterPeer{
		Spec:   peering.ClusterPeerSpec{Join: &peering.JoinSpec{}, Invite: &peering.InviteSpec{}},
		Status: peering.ClusterPeerStatus{Invite: &peering.InviteStatus{}, Peer: &peering.PeerStatus{}, Offer: &peering.Offer{}, Access: &peering.AccessStatus{}},
	}))
}

// K3: no cell shows a sensitive value, also of an object that is not redacted.
func TestK3NeverSensitive(t *testing.T) {
	table, err := table().ConvertToTable(t.Context(), &peering.ClusterPeerList{Items: []peering.ClusterPeer{*join(), *join()}}, &metav1.TableOptions{})
	require.NoError(t, err)
	require.Len(t, table.Rows, 2)
	for _, row := range table.Rows {
		encoded, err := json.Marshal(row.Cells)
		require.NoError(t, err)
		assert.NotContains(t, string(encoded), "CANARY")
		assert.NotContains(t, string(encoded), "omitted")
	}
	encoded, err := json.Marshal(table.ColumnDefinitions)
	require.NoError(t, err)
	assert.NotContains(t, strings.ToLower(string(encoded)), "connection string of")
}

// K2: a table has what a list has, and its rows the objects.
func TestK2TableOfAList(t *testing.T) {
	remaining := int64(4)
	list := &peering.ClusterPeerList{ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: "more", RemainingItemCount: &remaining}, Items: []peering.ClusterPeer{*join()}}
	shown, err := table().ConvertToTable(t.Context(), list, &metav1.TableOptions{})
	require.NoError(t, err)
	assert.Equal(t, metav1.ListMeta{ResourceVersion: "7", Continue: "more", RemainingItemCount: &remaining}, shown.ListMeta)
	assert.Equal(t, join(), shown.Rows[0].Object.Object)

	shown, err = table().ConvertToTable(t.Context(), join(), &metav1.TableOptions{NoHeaders: true})
	require.NoError(t, err)
	assert.Empty(t, shown.ColumnDefinitions)
	assert.Equal(t, "5", shown.ResourceVersion)
}

// What is no ClusterPeer is an error and not a panic.
func TestTableOfOtherTypes(t *testing.T) {
	for _, object := range []runtime.Object{
		&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "x"}}},
		&unstructured.UnstructuredList{Items: []unstructured.Unstructured{{Object: map[string]any{}}}},
	} {
		_, err := table().ConvertToTable(t.Context(), object, nil)
		assert.Error(t, err, "%T", object)
	}
}
