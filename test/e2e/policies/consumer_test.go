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
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/rules"
	"entente.dev/entente/test/install"
	"entente.dev/entente/test/kube"
)

const examples = "../../../artifacts/examples/"

// TestH1Examples is what the roles that are shipped as examples let a module do, and Entente
// for it, and that Entente may have Secrets in the namespace for access only.
func TestH1Examples(t *testing.T) {
	t.Parallel()
	p := start(t)
	t.Run("roles of a consumer", p.consumerRoles)
	t.Run("a module", p.exampleModule)
	t.Run("H4 Secrets", p.accessSecrets)
}

// token has Entente try to have a token for a ServiceAccount.
func (p *policed) token(t *testing.T, namespace, name string) error {
	t.Helper()
	_, err := p.entente.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, dry)
	return err
}

// may tells whether a ServiceAccount may do something.
func (p *policed) may(t *testing.T, namespace, name string, what authorizationv1.ResourceAttributes) bool {
	t.Helper()
	done, err := p.admin.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: "system:serviceaccount:" + namespace + ":" + name, ResourceAttributes: &what},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	return done.Status.Allowed
}

func proxied(verb, peer string) authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{Verb: verb, Group: peeringv1alpha1.GroupName, Resource: "clusterpeers", Subresource: "proxy", Name: peer}
}

func (p *policed) consumerRoles(t *testing.T) {
	p.MustKubectl(t, kube.Admin, "", "create", "namespace", "logging")
	for _, name := range []string{"collector", "other"} {
		p.MustKubectl(t, kube.Admin, "", "create", "serviceaccount", "-n", "logging", name)
	}
	assert.True(t, apierrors.IsForbidden(p.token(t, "logging", "collector")), "H1: no right to any token by itself")
	p.MustKubectl(t, kube.Admin, "", "apply", "-f", examples+"roles/consumer.yaml")
	p.eventuallyMay(t, "logging", "collector", proxied("get", "east"))
	require.NoError(t, p.token(t, "logging", "collector"))
	for namespace, name := range map[string]string{"logging": "other", install.Namespace: install.ServiceAccount, "default": "default"} {
		assert.True(t, apierrors.IsForbidden(p.token(t, namespace, name)), "H1: %s/%s", namespace, name)
	}
	secret := authorizationv1.ResourceAttributes{Verb: "get", Resource: "secrets", Namespace: install.AccessNamespace, Name: "east-access"}
	assert.True(t, p.may(t, "logging", "collector", secret))
	other := secret
	other.Name = "west-access"
	assert.False(t, p.may(t, "logging", "collector", other))
	assert.False(t, p.may(t, "logging", "other", secret))
	assert.False(t, p.may(t, "logging", "collector", proxied("get", "west")))
	assert.False(t, p.may(t, "logging", "collector", proxied("create", "east")))
	assert.False(t, p.may(t, "logging", "other", proxied("get", "east")))
}

func (p *policed) eventuallyMay(t *testing.T, namespace, name string, what authorizationv1.ResourceAttributes) {
	t.Helper()
	eventually(t, "RBAC has it", func(context.Context) error {
		if !p.may(t, namespace, name, what) {
			return errors.New("it has not")
		}
		return nil
	})
}

// The roles of the module are enough for it, and what it says to both clusters is valid.
func (p *policed) exampleModule(t *testing.T) {
	versions := map[string]string{}
	for _, file := range []string{"near.yaml", "far.yaml"} {
		content, err := os.ReadFile(examples + "module/" + file)
		require.NoError(t, err)
		var others []string
		for _, document := range strings.Split(string(content), "\n---\n") {
			var capability peeringv1alpha1.PeeringCapability
			if !strings.Contains(document, "\nkind: PeeringCapability\n") {
				others = append(others, document)
				continue
			}
			require.NoError(t, yaml.UnmarshalStrict([]byte(document), &capability), file)
			verdict := rules.Judge(&capability.Spec, everything{})
			assert.Equal(t, metav1.ConditionTrue, verdict.Status, "%s: %s", file, verdict.Message)
			assert.Equal(t, file == "far.yaml", len(capability.Spec.Rules) > 0, "one way")
			assert.Equal(t, []peeringv1alpha1.Consumer{{Kind: peeringv1alpha1.ConsumerKindServiceAccount, Namespace: "follower", Name: "agent"}}, capability.Spec.Consumers)
			versions[capability.Name+" "+capability.Spec.Version] += file
		}
		if len(others) > 0 {
			p.MustKubectl(t, kube.Admin, strings.Join(others, "\n---\n"), "apply", "-f", "-")
		}
	}
	assert.Len(t, versions, 1, "they are one capability: %v", versions)
	p.eventuallyMay(t, "follower", "agent", proxied("get", "east"))
	require.NoError(t, p.token(t, "follower", "agent"))
	assert.True(t, apierrors.IsForbidden(p.token(t, "follower", "default")), "H1")
}

// H4: Secrets can be made in one namespace, and are in reach by name in another one.
func (p *policed) accessSecrets(t *testing.T) {
	made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "east-access"}}
	ctx := t.Context()
	access := p.entente.CoreV1().Secrets(install.AccessNamespace)
	live, err := access.Create(ctx, made, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = access.Get(ctx, made.Name, metav1.GetOptions{})
	require.NoError(t, err)
	_, err = access.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	_, err = access.Update(ctx, live, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, access.Delete(ctx, made.Name, metav1.DeleteOptions{}))
	_, err = access.Watch(ctx, metav1.ListOptions{})
	assert.True(t, apierrors.IsForbidden(err))
	for _, namespace := range []string{install.Namespace, "default", namespace} {
		secrets := p.entente.CoreV1().Secrets(namespace)
		_, err := secrets.Create(ctx, made, dry)
		assert.True(t, apierrors.IsForbidden(err), namespace)
		_, err = secrets.List(ctx, metav1.ListOptions{})
		assert.True(t, apierrors.IsForbidden(err), namespace)
		_, err = secrets.Get(ctx, made.Name, metav1.GetOptions{})
		assert.True(t, apierrors.IsForbidden(err), namespace)
		assert.True(t, apierrors.IsForbidden(secrets.Delete(ctx, made.Name, metav1.DeleteOptions{})), namespace)
	}
}
