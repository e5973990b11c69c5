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

package conditions

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	noon  = metav1.NewTime(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
	later = metav1.NewTime(noon.Add(time.Hour))
)

// K2: the time of a transition stays while the status does, whatever else changes.
func TestK2Since(t *testing.T) {
	now := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Well", LastTransitionTime: later}
	for name, test := range map[string]struct {
		before *metav1.Condition
		want   metav1.Time
	}{
		"the first":      {nil, later},
		"another status": {&metav1.Condition{Status: metav1.ConditionFalse, Reason: "Well", LastTransitionTime: noon}, later},
		"another reason": {&metav1.Condition{Status: metav1.ConditionTrue, Reason: "Better", LastTransitionTime: noon}, noon},
		"without a time": {&metav1.Condition{Status: metav1.ConditionTrue}, later},
	} {
		got := Since(now, test.before)
		assert.Equal(t, test.want, got.LastTransitionTime, name)
		assert.Equal(t, "Well", got.Reason, name)
	}
}

// K2: a condition takes the place of the one of its type, and the others stay as they are.
func TestK2Set(t *testing.T) {
	other := metav1.Condition{Type: "Other", Status: metav1.ConditionTrue, LastTransitionTime: noon}
	all := []metav1.Condition{other}
	Set(&all, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Well", LastTransitionTime: noon})
	Set(&all, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Better", LastTransitionTime: later})
	assert.Equal(t, []metav1.Condition{other, {Type: "Ready", Status: metav1.ConditionTrue, Reason: "Better", LastTransitionTime: noon}}, all)
}

// What was set before stays, what is empty is not set, and what does not fit is said.
func TestFill(t *testing.T) {
	type applied struct {
		Phase, Name *string
		Count       *int64
	}
	phase := "Ready"
	got := applied{Phase: &phase}
	require.NoError(t, Fill(&got, struct {
		Name  string `json:",omitempty"`
		Count int64  `json:",omitempty"`
	}{Count: 3}))
	count := int64(3)
	assert.Equal(t, applied{Phase: &phase, Count: &count}, got)
	assert.Error(t, Fill(&got, struct{ Count string }{"three"}))
}

// Nothing of a condition is lost on the way to the server.
func TestApply(t *testing.T) {
	condition := metav1.Condition{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Well", Message: "All is well.", ObservedGeneration: 3, LastTransitionTime: noon,
	}
	data, err := json.Marshal(Apply(condition))
	require.NoError(t, err)
	want, err := json.Marshal(condition)
	require.NoError(t, err)
	assert.JSONEq(t, string(want), string(data))
}

// What is cut is cut between characters.
func TestShorten(t *testing.T) {
	assert.Equal(t, "short", Shorten("short"))
	assert.Equal(t, strings.Repeat("a", 1024), Shorten(strings.Repeat("a", 1024)))
	assert.Equal(t, strings.Repeat("a", 1021)+"...", Shorten(strings.Repeat("a", 1025)))
	assert.Equal(t, "a"+strings.Repeat("é", 510)+"...", Shorten("a"+strings.Repeat("é", 600)))
	assert.Equal(t, strings.Repeat("é", 510)+"...", Shorten(strings.Repeat("é", 600)))
}
