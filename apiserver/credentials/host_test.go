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

package credentials

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"entente.dev/entente/controllers/targets"
)

func hosted() *fake.Clientset {
	meta := metav1.ObjectMeta{Namespace: "team", Name: "east"}
	return fake.NewClientset(
		&corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"kubeconfig": []byte(canary), "empty": nil}},
		&corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"ca": "text"}, BinaryData: map[string][]byte{"binary": {0xff}}},
	)
}

// readers reads of the host by what kind of object it is of.
func readers(host *Host) map[string]func(context.Context, string, string, string) ([]byte, error) {
	return map[string]func(context.Context, string, string, string) ([]byte, error){"secrets": host.Secret, "configmaps": host.ConfigMap}
}

// C2: one key of one object is read, with get and nothing else.
func TestC2HostReads(t *testing.T) {
	client := hosted()
	host := NewHost(client.CoreV1())
	for _, test := range []struct {
		read      func(context.Context, string, string, string) ([]byte, error)
		key, want string
	}{
		{host.Secret, "kubeconfig", canary},
		{host.Secret, "empty", ""},
		{host.ConfigMap, "ca", "text"},
		{host.ConfigMap, "binary", "\xff"},
	} {
		content, err := test.read(t.Context(), "team", "east", test.key)
		require.NoError(t, err, test.key)
		assert.Equal(t, test.want, string(content), test.key)
	}
	assert.Len(t, client.Actions(), 4)
	for _, action := range client.Actions() {
		assert.Equal(t, "get", action.GetVerb())
		assert.Equal(t, "team", action.GetNamespace())
	}
}

// C1: it is said what is missing.
func TestC1HostAbsent(t *testing.T) {
	for resource, read := range readers(NewHost(hosted().CoreV1())) {
		for _, test := range []struct {
			namespace, name, key string
			want                 error
		}{
			{"other", "east", "kubeconfig", targets.ErrAbsent},
			{"team", "west", "kubeconfig", targets.ErrAbsent},
			{"team", "east", "nothing", targets.ErrNoKey},
			{"team", "east", "", targets.ErrNoKey},
		} {
			content, err := read(t.Context(), test.namespace, test.name, test.key)
			assert.Empty(t, content)
			require.ErrorIs(t, err, test.want, resource)
			assert.NotContains(t, err.Error(), canary)
		}
	}
}

// R15: nothing of what the host cluster says gets out.
func TestR15HostErrors(t *testing.T) {
	group := schema.GroupResource{Resource: canary}
	for name, test := range map[string]struct{ err, want error }{
		"forbidden":       {apierrors.NewForbidden(group, canary, errors.New(canary)), targets.ErrForbidden},
		"not found":       {apierrors.NewNotFound(group, canary), targets.ErrAbsent},
		"unauthorized":    {apierrors.NewUnauthorized(canary), errAway},
		"invalid":         {apierrors.NewInvalid(schema.GroupKind{Kind: canary}, canary, nil), errAway},
		"internal":        {apierrors.NewInternalError(errors.New(canary)), errAway},
		"unavailable":     {apierrors.NewServiceUnavailable(canary), errAway},
		"not understood":  {errors.New(canary), errAway},
		"not in time":     {context.DeadlineExceeded, errAway},
		"wrapped":         {errors.Join(errors.New(canary), context.Canceled), errAway},
		"a webhook's 404": {apierrors.NewGenericServerResponse(404, "get", group, canary, canary, 0, true), targets.ErrAbsent},
	} {
		client := hosted()
		client.PrependReactor("get", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, test.err })
		for resource, read := range readers(NewHost(client.CoreV1())) {
			content, err := read(t.Context(), "team", "east", "kubeconfig")
			assert.Empty(t, content)
			require.ErrorIs(t, err, test.want, "%s %s", resource, name)
			assert.NotContains(t, err.Error(), canary, "%s %s", resource, name)
		}
	}
}

// C3: a host cluster that hangs is given up with the probe, and that is said.
func TestC3HostHangs(t *testing.T) {
	client := hosted()
	ctx, cancel := context.WithCancel(t.Context())
	client.PrependReactor("get", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		cancel() // as if it were over by now
		return true, nil, ctx.Err()
	})
	for resource, read := range readers(NewHost(client.CoreV1())) {
		_, err := read(ctx, "team", "east", "kubeconfig")
		require.ErrorIs(t, err, errAway, resource)
		assert.ErrorContains(t, err, "in time", resource)
	}
}
