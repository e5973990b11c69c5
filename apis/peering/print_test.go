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

package peering_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zapcore"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/logs/datapol"
	logsjson "k8s.io/component-base/logs/json"
	"k8s.io/klog/v2/textlogger"

	"entente.dev/entente/apis/peering"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

// The secrets of these tests.
const (
	joinCanary   = "kQ7zCANARYjoinVw3x0a1b2c3d4e5f6g7h8"
	inviteCanary = "cX9yCANARYinviteTu8y8h7g6f5e4d3c2b1a"
)

func internalPeer() peering.ClusterPeer {
	return peering.ClusterPeer{
		ObjectMeta: metav1.ObjectMeta{Name: "a-peer"},
		Spec:       peering.ClusterPeerSpec{Type: peering.ClusterPeerTypeJoin, Join: &peering.JoinSpec{ConnectionString: joinCanary, ExpectedClusterUUID: "a-uuid"}},
		Status:     peering.ClusterPeerStatus{Invite: &peering.InviteStatus{ConnectionString: inviteCanary, TokenID: "a-token-id"}},
	}
}

func servedPeer() peeringv1alpha1.ClusterPeer {
	return peeringv1alpha1.ClusterPeer{
		ObjectMeta: metav1.ObjectMeta{Name: "a-peer"},
		Spec:       peeringv1alpha1.ClusterPeerSpec{Type: peeringv1alpha1.ClusterPeerTypeJoin, Join: &peeringv1alpha1.JoinSpec{ConnectionString: joinCanary, ExpectedClusterUUID: "a-uuid"}},
		Status:     peeringv1alpha1.ClusterPeerStatus{Invite: &peeringv1alpha1.InviteStatus{ConnectionString: inviteCanary, TokenID: "a-token-id"}},
	}
}

// printed has, for each type that holds a secret or holds one that does, a value
// of it with a secret, and something else that is in it.
func printed() map[string]struct {
	value  any
	holder string
} {
	in, out := internalPeer(), servedPeer()
	type row = struct {
		value  any
		holder string
	}
	return map[string]row{
		"internal JoinSpec":          {*in.Spec.Join, "a-uuid"},
		"internal *JoinSpec":         {in.Spec.Join, "a-uuid"},
		"internal InviteStatus":      {*in.Status.Invite, "a-token-id"},
		"internal *InviteStatus":     {in.Status.Invite, "a-token-id"},
		"internal ClusterPeerSpec":   {in.Spec, "a-uuid"},
		"internal *ClusterPeerSpec":  {&in.Spec, "a-uuid"},
		"internal ClusterPeerStatus": {in.Status, "a-token-id"},
		"internal *…Status":          {&in.Status, "a-token-id"},
		"internal ClusterPeer":       {in, "a-peer"},
		"internal *ClusterPeer":      {&in, "a-peer"},
		"internal ClusterPeerList":   {peering.ClusterPeerList{Items: []peering.ClusterPeer{in}}, "a-peer"},
		"internal *ClusterPeerList":  {&peering.ClusterPeerList{Items: []peering.ClusterPeer{in}}, "a-peer"},
		"served JoinSpec":            {*out.Spec.Join, "a-uuid"},
		"served *JoinSpec":           {out.Spec.Join, "a-uuid"},
		"served InviteStatus":        {*out.Status.Invite, "a-token-id"},
		"served *InviteStatus":       {out.Status.Invite, "a-token-id"},
		"served ClusterPeerSpec":     {out.Spec, "a-uuid"},
		"served *ClusterPeerSpec":    {&out.Spec, "a-uuid"},
		"served ClusterPeerStatus":   {out.Status, "a-token-id"},
		"served *…Status":            {&out.Status, "a-token-id"},
		"served ClusterPeer":         {out, "a-peer"},
		"served *ClusterPeer":        {&out, "a-peer"},
		"served ClusterPeerList":     {peeringv1alpha1.ClusterPeerList{Items: []peeringv1alpha1.ClusterPeer{out}}, "a-peer"},
		"served *ClusterPeerList":    {&peeringv1alpha1.ClusterPeerList{Items: []peeringv1alpha1.ClusterPeer{out}}, "a-peer"},
	}
}

// wrapped is a value inside of others, as an event or a queue item holds it.
func wrapped(value any) map[string]any {
	type holder struct{ Object any }
	return map[string]any{
		"alone":              value,
		"in a struct":        holder{value},
		"in a struct twice":  holder{holder{value}},
		"behind a pointer":   &holder{value},
		"in a slice":         []any{value},
		"in a map":           map[string]any{"key": value},
		"in structs, listed": []holder{{value}},
		"as an error":        fmt.Errorf("could not do it: %v", value),
	}
}

func assertNoCanary(t *testing.T, text string) {
	t.Helper()
	for _, secret := range []string{joinCanary, inviteCanary} {
		for i := 0; i+8 <= len(secret); i++ {
			piece := secret[i : i+8]
			require.NotContains(t, text, piece)
			require.NotContains(t, strings.ToLower(text), hex.EncodeToString([]byte(piece)))
		}
	}
}

// R15: no way of printing a value shows what is sensitive in it, wherever it is.
func TestR15Print(t *testing.T) {
	for name, row := range printed() {
		for where, value := range wrapped(row.value) {
			t.Run(name+" "+where, func(t *testing.T) {
				for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "% X", "%20v", "%T"} {
					assertNoCanary(t, fmt.Sprintf(format, value))
				}
				assertNoCanary(t, fmt.Sprint(value))
				assertNoCanary(t, fmt.Sprintln("a value:", value))
			})
		}
		// What is not sensitive is shown, and that there is something.
		for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
			text := fmt.Sprintf(format, row.value)
			assert.Contains(t, text, row.holder, name)
			assert.Contains(t, strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(text), "<omitted>", name)
		}
	}
}

// R6: what is not set is not shown as omitted, and nil prints.
func TestR6PrintUnset(t *testing.T) {
	for _, value := range []any{
		peering.ClusterPeer{},
		peering.ClusterPeerList{},
		peering.JoinSpec{},
		peering.InviteStatus{},
		peering.ClusterPeerSpec{},
		peering.ClusterPeerStatus{},
		peeringv1alpha1.ClusterPeer{},
		peeringv1alpha1.ClusterPeerList{},
		peeringv1alpha1.JoinSpec{},
		peeringv1alpha1.InviteStatus{},
		peeringv1alpha1.ClusterPeerSpec{},
		peeringv1alpha1.ClusterPeerStatus{},
	} {
		text := fmt.Sprintf("%v %#v", value, value)
		assert.NotContains(t, text, "omitted")
		assert.NotContains(t, text, "PANIC", "%T", value)
	}
	for _, value := range []any{(*peering.ClusterPeer)(nil), (*peering.JoinSpec)(nil), (*peeringv1alpha1.ClusterPeer)(nil), (*peeringv1alpha1.InviteStatus)(nil)} {
		assert.NotContains(t, fmt.Sprintf("%v %+v", value, value), "PANIC", "%T", value)
	}
}

// R7: printing changes nothing of what is printed, which may be shared.
func TestR7PrintChangesNothing(t *testing.T) {
	in, out := internalPeer(), servedPeer()
	list := peeringv1alpha1.ClusterPeerList{Items: []peeringv1alpha1.ClusterPeer{out}}
	_, _, _ = in.String(), out.MarshalLog(), list.String()
	assert.Equal(t, internalPeer(), in)
	assert.Equal(t, servedPeer(), out)
	assert.Equal(t, servedPeer(), list.Items[0])
}

// loggers are those of Kubernetes components.
func loggers(out *bytes.Buffer) map[string]logr.Logger {
	jsonLogger, _ := logsjson.NewJSONLogger(10, zapcore.AddSync(out), nil, nil)
	return map[string]logr.Logger{
		"text": textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(out), textlogger.Verbosity(10))),
		"JSON": jsonLogger,
	}
}

// R15: a structured log shows of a value what is not sensitive.
func TestR15Log(t *testing.T) {
	for name, row := range printed() {
		var out bytes.Buffer
		for format, logger := range loggers(&out) {
			t.Run(name+" as "+format, func(t *testing.T) {
				out.Reset()
				logger.Info("A message", "value", row.value)
				logger.WithValues("value", row.value).V(10).Info("Another message")
				logger.Error(fmt.Errorf("could not store %v", row.value), "A failure", "value", row.value)
				logger.Info(fmt.Sprintf("%+v", row.value))
				assertNoCanary(t, out.String())
				assert.Contains(t, out.String(), row.holder)
			})
		}
	}
}

// R15: so it is where the logging libraries encode what holds the value as JSON,
// which asks for no String. The served types must be what they are in JSON: a log
// call never holds one inside of something else.
func TestR15LogInside(t *testing.T) {
	for name, row := range printed() {
		if strings.HasPrefix(name, "served") {
			continue
		}
		var out bytes.Buffer
		for format, logger := range loggers(&out) {
			t.Run(name+" as "+format, func(t *testing.T) {
				out.Reset()
				for _, value := range wrapped(row.value) {
					logger.Info("A message", "value", value)
				}
				assertNoCanary(t, out.String())
			})
		}
	}
}

// R15: SensitiveField, the tag `datapolicy` and what the logging library finds by
// it, say the same.
func TestR15Datapolicy(t *testing.T) {
	for _, value := range []any{
		peering.JoinSpec{ConnectionString: "x"},
		peering.InviteStatus{ConnectionString: "x"},
		peeringv1alpha1.JoinSpec{ConnectionString: "x"},
		peeringv1alpha1.InviteStatus{ConnectionString: "x"},
	} {
		assert.Equal(t, []string{"token"}, datapol.Verify(value), "%T", value)
		assert.Equal(t, []string{"token"}, datapol.Verify([]any{value}), "%T", value)
	}
	assert.Empty(t, datapol.Verify(peering.JoinSpec{ExpectedClusterUUID: "x"}))
	assert.Empty(t, datapol.Verify(peeringv1alpha1.InviteStatus{TokenHash: "x"}))
}
