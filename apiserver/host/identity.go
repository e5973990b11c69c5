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

package host

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"entente.dev/entente/peering/connstring"
)

// Where a distribution may say which cluster this is.
const (
	identityNamespace = metav1.NamespaceSystem
	identityConfigMap = "d8-cluster-uuid"
	identityKey       = "cluster-uuid"
)

// ClusterUUID waits until the host cluster says which cluster it is, or ctx ends: the
// ConfigMap kube-system/d8-cluster-uuid if there is one, and else the UID of namespace
// kube-system. One of them that holds something else than a UUID is a fault and not
// passed over: the cluster would be another one than before.
func (h *Host) ClusterUUID(ctx context.Context) (string, error) {
	var found string
	err := h.keepTrying(ctx, "the UUID of the host cluster", func(ctx context.Context) (bool, error) {
		text, source, err := h.readIdentity(ctx)
		if err != nil {
			return false, err
		}
		if found = strings.ToLower(text); !connstring.IsUUID(found) {
			return true, fmt.Errorf("could not tell which cluster this is: %s is not a UUID; mend it, or use --cluster-uuid", source)
		}
		return true, nil
	})
	return found, err
}

// readIdentity returns the UUID of the host cluster as it stands there, and where.
func (h *Host) readIdentity(ctx context.Context) (text, source string, err error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	configMap, err := h.Client.CoreV1().ConfigMaps(identityNamespace).Get(ctx, identityConfigMap, metav1.GetOptions{})
	if err == nil {
		return configMap.Data[identityKey], fmt.Sprintf("%s of the ConfigMap %s/%s", identityKey, identityNamespace, identityConfigMap), nil
	}
	// Whoever may not see it cannot know that it is not there.
	if !apierrors.IsNotFound(err) {
		return "", "", h.unreadable(fmt.Sprintf("the ConfigMap %s/%s", identityNamespace, identityConfigMap), err)
	}
	namespace, err := h.Client.CoreV1().Namespaces().Get(ctx, identityNamespace, metav1.GetOptions{})
	if err != nil {
		return "", "", h.unreadable("the namespace "+identityNamespace, err)
	}
	return string(namespace.UID), "the UID of the namespace " + identityNamespace, nil
}

// unreadable says what of the host cluster could not be read, and what is missing if it
// may not be.
func (h *Host) unreadable(what string, err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("user %q may not get %s; the roles of the deployment allow it", h.facts.username, what)
	}
	return fmt.Errorf("could not read %s: %w", what, err)
}
