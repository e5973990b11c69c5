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

package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"entente.dev/entente/test/conformance"
)

// A change of condition is an Event in namespace default, and the same one again is
// a series.
func (s *suite) events(t *testing.T) {
	const name, reader = "eventful", "events-reader"
	s.Cluster.AddUser(t, reader)
	s.Bind(t, reader, "view")
	s.MustKubectl(t, operator, conformance.Manifest(name, conformance.Value(name), ""), "create", "-f", "-")
	uid := conformance.Settled(t, s, operator, name).UID

	client := s.Clientset(t, reader).EventsV1().Events(metav1.NamespaceDefault)
	event := func(reason string, check func(eventsv1.Event) error) (found eventsv1.Event) {
		t.Helper()
		eventually(t, "an Event "+reason, func(ctx context.Context) error {
			list, err := client.List(ctx, metav1.ListOptions{})
			require.NoError(t, err)
			var ours []eventsv1.Event
			for _, event := range list.Items {
				if event.Regarding.Name == name && event.Reason == reason {
					ours = append(ours, event)
				}
			}
			if len(ours) != 1 {
				return fmt.Errorf("there are %d", len(ours))
			}
			found = ours[0]
			return check(found)
		})
		return found
	}
	fine := func(eventsv1.Event) error { return nil }

	got := event("InvalidConnectionString", fine)
	assert.Equal(t, corev1.ObjectReference{APIVersion: "peering.entente.dev/v1alpha1", Kind: "ClusterPeer", Name: name, UID: uid}, got.Regarding)
	assert.Equal(t, corev1.EventTypeWarning, got.Type)
	assert.Equal(t, "Reconcile", got.Action)
	assert.Contains(t, got.Note, "spec.join.connectionString is not valid")
	assert.NotContains(t, got.Note, conformance.Canary)
	assert.Nil(t, got.Series)

	set := func(value string) {
		t.Helper()
		s.MustKubectl(t, operator, "", "patch", "cpeer", name, "--type=merge", "-p", `{"spec":{"join":{"connectionString":`+value+`}}}`)
		conformance.Settled(t, s, operator, name)
	}
	set("null")
	got = event("WaitingForConnectionString", fine)
	assert.Equal(t, corev1.EventTypeNormal, got.Type)
	set(`"` + conformance.Value("eventful-2") + `"`)
	event("InvalidConnectionString", func(event eventsv1.Event) error {
		if event.Series == nil || event.Series.Count != 2 {
			return fmt.Errorf("the series is %v", event.Series)
		}
		return nil
	})

	// As people look for them.
	for _, args := range [][]string{
		{"events", "-n", "default", "--for", "clusterpeer.peering.entente.dev/" + name},
		{"get", "events", "-n", "default", "--field-selector", "involvedObject.name=" + name},
		{"describe", "cpeer", name},
	} {
		output := s.MustKubectl(t, reader, "", args...)
		assert.Contains(t, output, "InvalidConnectionString", args)
		assert.Contains(t, output, "WaitingForConnectionString", args)
	}
}
