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
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/test/conformance"
)

// developer is somebody with namespaces and ConfigMaps, and nothing of ours.
const developer = "garbage-developer"

// The host's garbage collector knows our kinds as its own, and namespaces go as if
// we were not there.
func (s *suite) garbage(t *testing.T) {
	const namespace, owner, other = "garbage", "garbage-owner", "garbage-other"
	s.AddUser(t, developer, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces", "configmaps"}, Verbs: []string{"get", "list", "watch", "create", "delete"}})
	client := s.Clientset(t, developer)
	s.MustKubectl(t, developer, "", "create", "namespace", namespace)
	owned(t, client, namespace, "of-owner", s.peerReference(t, owner))
	owned(t, client, namespace, "of-other", s.peerReference(t, other))
	// Of two owners one is enough.
	owned(t, client, namespace, "of-both", s.peerReference(t, owner), s.peerReference(t, other))
	// Of no owner that is there, none is enough.
	owned(t, client, namespace, "of-nobody", metav1.OwnerReference{APIVersion: peeringv1alpha1.SchemeGroupVersion.String(), Kind: "ClusterPeer", Name: other, UID: "00000000-0000-0000-0000-000000000000"})

	gone(t, client, namespace, "of-nobody")
	s.MustKubectl(t, operator, "", "delete", "cpeer", owner)
	gone(t, client, namespace, "of-owner")
	stays(t, client, namespace, "of-other", "of-both")
	// Held by what it owns, for who wants to wait.
	s.MustKubectl(t, operator, "", "delete", "cpeer", other, "--cascade=foreground", "--timeout=2m")
	for _, name := range []string{"of-other", "of-both"} {
		gone(t, client, namespace, name)
	}
	// A chain of unrelated objects, and the namespace of one.
	collected(t, s.Cluster, developer, "garbage-unrelated")
	s.MustKubectl(t, developer, "", "delete", "namespace", namespace, "--timeout=2m")
}

// While Entente is down, as Kubernetes allows: the deletion of any namespace waits,
// after all that is in it has gone, and garbage is collected, but nothing that a
// ClusterPeer owns: nobody can know whether that is there.
func (s *suite) garbageWhileDown(t *testing.T) {
	const namespace, deleted, owner = "down", "down-deleted", "down-owner"
	client := s.Clientset(t, developer)
	for _, name := range []string{namespace, deleted} {
		s.MustKubectl(t, developer, "", "create", "namespace", name)
	}
	reference := s.peerReference(t, owner)
	owned(t, client, namespace, "of-owner", reference)
	owned(t, client, deleted, "content")

	require.NoError(t, s.entente.Stop())
	eventually(t, "discovery is stale", func(context.Context) error {
		body := s.get(t, viewer, "/apis", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList").body
		_, rest, _ := strings.Cut(body, `"name":"peering.entente.dev"`)
		return contains(rest, `"freshness":"Stale"`)
	})
	s.refused(t, "the server is currently unable to handle the request", viewer, "get", "cpeer")

	nobody := reference
	nobody.Name, nobody.UID = "down-nobody", "00000000-0000-0000-0000-000000000000"
	owned(t, client, namespace, "of-nobody", nobody)
	parent := owned(t, client, namespace, "parent")
	owned(t, client, namespace, "child", metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "parent", UID: parent})
	s.MustKubectl(t, developer, "", "delete", "configmap", "parent", "-n", namespace)
	gone(t, client, namespace, "child")

	s.MustKubectl(t, developer, "", "delete", "namespace", deleted, "--wait=false")
	gone(t, client, deleted, "content")
	eventually(t, "the deletion of the namespace says what it waits for", func(ctx context.Context) error {
		namespace, err := client.CoreV1().Namespaces().Get(ctx, deleted, metav1.GetOptions{})
		require.NoError(t, err)
		for _, condition := range namespace.Status.Conditions {
			if condition.Type == corev1.NamespaceDeletionDiscoveryFailure && condition.Status == corev1.ConditionTrue {
				return contains(condition.Message, "peering.entente.dev/v1alpha1")
			}
		}
		return fmt.Errorf("the conditions are %v", namespace.Status.Conditions)
	})
	stays(t, client, namespace, "of-owner", "of-nobody")

	s.entente.Run(t)
	s.entente.WaitServed(t)
	eventually(t, "the namespace is gone", func(ctx context.Context) error {
		_, err := client.CoreV1().Namespaces().Get(ctx, deleted, metav1.GetOptions{})
		return isGone(err)
	})
	gone(t, client, namespace, "of-nobody")
	stays(t, client, namespace, "of-owner")
	assert.Equal(t, "<omitted>", s.MustKubectl(t, viewer, "", "get", "cpeer", owner, "-o", "jsonpath={.spec.join.connectionString}"))
	s.MustKubectl(t, operator, "", "delete", "cpeer", owner)
	gone(t, client, namespace, "of-owner")
}

// peerReference makes a ClusterPeer and refers to it as an owner.
func (s *suite) peerReference(t *testing.T, name string) metav1.OwnerReference {
	t.Helper()
	peers := s.Client(t, operator).PeeringV1alpha1().ClusterPeers()
	peer, err := peers.Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		s.MustKubectl(t, operator, conformance.Manifest(name, conformance.Value(name), ""), "create", "-f", "-")
		peer, err = peers.Get(t.Context(), name, metav1.GetOptions{})
	}
	require.NoError(t, err)
	block := true
	return metav1.OwnerReference{APIVersion: peeringv1alpha1.SchemeGroupVersion.String(), Kind: "ClusterPeer", Name: name, UID: peer.UID, BlockOwnerDeletion: &block}
}

// owned makes a ConfigMap with these owners.
func owned(t *testing.T, client kubernetes.Interface, namespace, name string, owners ...metav1.OwnerReference) types.UID {
	t.Helper()
	made, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return made.UID
}

func gone(t *testing.T, client kubernetes.Interface, namespace, name string) {
	t.Helper()
	eventually(t, name+" is collected", func(ctx context.Context) error {
		_, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
		return isGone(err)
	})
}

func isGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("it is there: %w", err)
}

func stays(t *testing.T, client kubernetes.Interface, namespace string, names ...string) {
	t.Helper()
	for _, name := range names {
		got, err := client.CoreV1().ConfigMaps(namespace).Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		assert.Nil(t, got.DeletionTimestamp, name)
	}
}
