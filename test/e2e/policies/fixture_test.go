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

package policies

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"entente.dev/entente/test/install"
	"entente.dev/entente/test/kube"
)

// namespace is one that may be part of a project.
const namespace = "tenant"

// policed is a control plane with all that is shipped but the process.
type policed struct {
	*kube.Cluster
	// who is Entente's ServiceAccount as a user.
	who string
	// entente is what Entente writes by, admin what an administrator does.
	entente, admin kubernetes.Interface
}

func start(t *testing.T) *policed {
	t.Helper()
	cluster := kube.Start(t)
	installed, err := install.New(t.Context(), cluster.ControlPlane, install.Options{Binary: "never-run"})
	require.NoError(t, err)
	p := &policed{
		Cluster: cluster, who: installed.User,
		entente: cluster.Clientset(t, installed.User), admin: cluster.Clientset(t, kube.Admin),
	}
	// Nobody serves it, and no namespace goes while it is there.
	p.MustKubectl(t, kube.Admin, "", "delete", "apiservice", "v1alpha1.peering.entente.dev")
	p.MustKubectl(t, kube.Admin, "", "create", "namespace", namespace)
	eventually(t, "the policies apply", func(ctx context.Context) error {
		_, err := p.entente.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}, dry)
		if err := refusedByPolicy(err, foreignName); err != nil {
			return err
		}
		p.AddUser(t, "probe")
		p.Grant(t, "probe", rule("", "namespaces", "patch"))
		return refusedByPolicy(relabel(ctx, p.Clientset(t, "probe"), namespace, "probe"), takesPair)
	})
	return p
}

// eventually waits until there is nothing to complain about.
func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	require.NoErrorf(t, err, "did not happen: %s: %v", what, last)
}

// dry is how nothing is left to the next case.
var dry = metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}

// refusedByPolicy says why an error is not a refusal of a shipped policy with this text.
func refusedByPolicy(err error, text string) error {
	switch {
	case err == nil:
		return errors.New("it was allowed")
	case !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err):
		return fmt.Errorf("it failed otherwise: %w", err)
	case !strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'entente-") || !strings.Contains(err.Error(), text):
		return fmt.Errorf("it was not refused because of %q: %w", text, err)
	}
	return nil
}

// judged is that an error is as it should be: none, or a refusal of a policy with a text.
func judged(t *testing.T, refusal string, err error, what string) {
	t.Helper()
	if refusal == "" {
		assert.NoError(t, err, what)
		return
	}
	assert.NoError(t, refusedByPolicy(err, refusal), what)
}

// hashed is the name of an object of a grant.
func hashed(text string) string {
	hash := sha256.Sum256([]byte(text))
	return "entente-" + hex.EncodeToString(hash[:])
}

// asOthers is the name of an object that lets Entente act as others.
func asOthers(text string) string {
	return strings.Replace(hashed(text), "entente-", "entente-impersonate-", 1)
}

const (
	aPeer = "peer:0f0e8a4c-2b1d-4c55-9f0a-6f5f7f6d0c11"
	// aConsumer is a ServiceAccount of another cluster.
	aConsumer = aPeer + ":system:serviceaccount:module:controller"
)

var aRule = rule("", "configmaps", "get", "list", "watch")

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

func named(rule rbacv1.PolicyRule, names ...string) rbacv1.PolicyRule {
	rule.ResourceNames = names
	return rule
}

func urls(url string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{NonResourceURLs: []string{url}, Verbs: verbs}
}

func user(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
}

func ref(kind, name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
}
