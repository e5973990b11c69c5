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
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"entente.dev/entente/apis/generated/clientset/versioned"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/test/conformance"
	"entente.dev/entente/test/kube"
)

// What the shipped ClusterRoles grant: verbs by resource.
var (
	viewerMay          = onEachKind([]string{"get", "list", "watch"}, []string{"get"})
	operatorMay        = onEachKind([]string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}, []string{"get", "update", "patch"})
	sensitiveReaderMay = map[string][]string{"clusterpeers": {"get", "list", "watch"}, "clusterpeers/sensitive": {"get", "list", "watch"}}
	consumerMay        = map[string][]string{"clusterpeers/proxy": {"get", "create", "update", "patch", "delete"}}
)

// onEachKind are verbs on the objects of all kinds, and on their status.
func onEachKind(objects, status []string) map[string][]string {
	may := map[string][]string{}
	for _, resource := range []string{"clusterpeers", "peeringcapabilities", "projectpeers", "tokenexchangeproviders"} {
		may[resource], may[resource+"/status"] = objects, status
	}
	return may
}

// Each verb of each role for people and modules works, and nothing more.
func (s *suite) roles(t *testing.T) {
	s.sees("roles-entente-sensitive-reader")
	for role, may := range map[string]map[string][]string{
		"entente-viewer":           viewerMay,
		"entente-operator":         operatorMay,
		"entente-sensitive-reader": sensitiveReaderMay,
		"entente-consumer":         consumerMay,
	} {
		t.Run(role, func(t *testing.T) { s.role(t, role, may) })
	}
}

// Nobody gets more than sight of ClusterPeers by the roles that are given away
// freely.
func (s *suite) aggregatedRoles(t *testing.T) {
	for _, role := range []string{"view", "edit", "admin"} {
		t.Run(role, func(t *testing.T) { s.role(t, role, viewerMay) })
	}
}

// role binds somebody to a ClusterRole and has them try everything; reviews agree
// with what happens.
func (s *suite) role(t *testing.T, role string, may map[string][]string) {
	user := "roles-" + role
	s.Cluster.AddUser(t, user)
	s.Bind(t, user, role)
	s.MustKubectl(t, operator, conformance.Manifest(user, conformance.Value(user), ""), "create", "-f", "-")
	client := s.Client(t, user)
	reviews := s.Clientset(t, user).AuthorizationV1().SelfSubjectAccessReviews()
	tries := attempts(user)
	for _, resource := range []string{
		"clusterpeers", "clusterpeers/status", "clusterpeers/sensitive", "clusterpeers/proxy", "peeringcapabilities", "peeringcapabilities/status", "projectpeers", "projectpeers/status",
		"tokenexchangeproviders", "tokenexchangeproviders/status",
	} {
		for _, verb := range []string{"get", "list", "watch", "create", "update", "patch", "deletecollection", "delete", "*", "impersonate", "escalate", "bind", "pair"} {
			allowed := false
			for _, granted := range may[resource] {
				allowed = allowed || granted == verb
			}
			kind, subresource, _ := strings.Cut(resource, "/")
			review, err := reviews.Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{Group: peeringv1alpha1.SchemeGroupVersion.Group, Resource: kind, Subresource: subresource, Verb: verb},
			}}, metav1.CreateOptions{})
			require.NoError(t, err)
			assert.Equal(t, allowed, review.Status.Allowed, "may %s %s %s", role, verb, resource)

			try, found := tries[verb+" "+resource]
			if !found {
				continue // There is no such request, or RBAC has no such verb.
			}
			err = try(t.Context(), client)
			if allowed {
				assert.NoError(t, err, "%s: %s %s", role, verb, resource)
			} else {
				assert.True(t, apierrors.IsForbidden(err), "%s: %s %s: %v", role, verb, resource, err)
			}
		}
	}
	result := s.Kubectl(t, user, "", "auth", "can-i", "get", "clusterpeers", "--subresource=sensitive")
	assert.Equal(t, role == "entente-sensitive-reader", result.Code == 0, "kubectl auth can-i says %s", result.Output())
}

// attempts are requests, by what RBAC calls them. They are about one object that is
// there, and about two that the first of them makes.
func attempts(name string) map[string]func(context.Context, versioned.Interface) error {
	patch := []byte(`{"metadata":{"annotations":{"tried":"yes"}}}`)
	made := func(name string) *peeringv1alpha1.ClusterPeer {
		return &peeringv1alpha1.ClusterPeer{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"made": name}},
			Spec: peeringv1alpha1.ClusterPeerSpec{
				Type: peeringv1alpha1.ClusterPeerTypeJoin,
				Join: &peeringv1alpha1.JoinSpec{ConnectionString: conformance.Value(name)},
			},
		}
	}
	return map[string]func(context.Context, versioned.Interface) error{
		"get clusterpeers": func(ctx context.Context, client versioned.Interface) error {
			_, err := client.PeeringV1alpha1().ClusterPeers().Get(ctx, name, metav1.GetOptions{})
			return err
		},
		"list clusterpeers": func(ctx context.Context, client versioned.Interface) error {
			_, err := client.PeeringV1alpha1().ClusterPeers().List(ctx, metav1.ListOptions{})
			return err
		},
		"watch clusterpeers": func(ctx context.Context, client versioned.Interface) error {
			watch, err := client.PeeringV1alpha1().ClusterPeers().Watch(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			defer watch.Stop()
			if event, open := <-watch.ResultChan(); !open || event.Type != "ADDED" {
				return fmt.Errorf("the watch begins with %v", event.Type)
			}
			return nil
		},
		"create clusterpeers": func(ctx context.Context, client versioned.Interface) error {
			for _, other := range []string{name + "-one", name + "-many"} {
				if _, err := client.PeeringV1alpha1().ClusterPeers().Create(ctx, made(other), metav1.CreateOptions{}); err != nil {
					return err
				}
			}
			return nil
		},
		"update clusterpeers": func(ctx context.Context, client versioned.Interface) error {
			_, err := client.PeeringV1alpha1().ClusterPeers().Update(ctx, made(name), metav1.UpdateOptions{})
			return err
		},
		"patch clusterpeers": func(ctx context.Context, client versioned.Interface) error {
			_, err := client.PeeringV1alpha1().ClusterPeers().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
			return err
		},
		"delete clusterpeers": func(ctx context.Context, client versioned.Interface) error {
			return client.PeeringV1alpha1().ClusterPeers().Delete(ctx, name+"-one", metav1.DeleteOptions{})
		},
		"deletecollection clusterpeers": func(ctx context.Context, client versioned.Interface) error {
			return client.PeeringV1alpha1().ClusterPeers().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "made=" + name + "-many"})
		},
		"get clusterpeers/status": func(ctx context.Context, client versioned.Interface) error {
			return client.PeeringV1alpha1().RESTClient().Get().Resource("clusterpeers").Name(name).SubResource("status").Do(ctx).Error()
		},
		"update clusterpeers/status": func(ctx context.Context, client versioned.Interface) error {
			_, err := client.PeeringV1alpha1().ClusterPeers().UpdateStatus(ctx, made(name), metav1.UpdateOptions{})
			return err
		},
		"patch clusterpeers/status": func(ctx context.Context, client versioned.Interface) error {
			_, err := client.PeeringV1alpha1().ClusterPeers().Patch(ctx, name, types.MergePatchType, []byte(`{"status":{"peer":{"alias":"tried"}}}`), metav1.PatchOptions{}, "status")
			return err
		},
		"get clusterpeers/sensitive": func(ctx context.Context, client versioned.Interface) error {
			var peer peeringv1alpha1.ClusterPeer
			err := client.PeeringV1alpha1().RESTClient().Get().Resource("clusterpeers").Name(name).SubResource("sensitive").Do(ctx).Into(&peer)
			if err == nil && peer.Spec.Join.ConnectionString != conformance.Value(name) {
				err = errors.New("it does not show the value")
			}
			return err
		},
		"update clusterpeers/sensitive": func(ctx context.Context, client versioned.Interface) error {
			return client.PeeringV1alpha1().RESTClient().Put().Resource("clusterpeers").Name(name).SubResource("sensitive").Body(made(name)).Do(ctx).Error()
		},
		"patch clusterpeers/sensitive": func(ctx context.Context, client versioned.Interface) error {
			_, err := client.PeeringV1alpha1().ClusterPeers().Patch(ctx, name, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{}, "sensitive")
			return err
		},
	}
}

// documented is the block of a page in docs/, in a language, that has this text in it.
func documented(t *testing.T, page, language, text string) string {
	t.Helper()
	content, err := os.ReadFile("../../docs/" + page)
	require.NoError(t, err)
	for _, block := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(content), -1) {
		if strings.Contains(block[1], text) {
			return block[1]
		}
	}
	require.Fail(t, "docs/"+page+" has no such example", text)
	return ""
}

// R1: resourceNames on clusterpeers/sensitive work as elsewhere in Kubernetes.
func (s *suite) resourceNames(t *testing.T) {
	const (
		reader  = "names-reader"  // by the role that the documentation shows
		watcher = "names-watcher" // reads all, and the value of one
		narrow  = "names-narrow"  // lists and watches one
	)
	for _, name := range []string{"east", "west"} {
		s.MustKubectl(t, operator, conformance.Manifest(name, conformance.Value(name), "set: names"), "create", "-f", "-")
	}
	s.sees(reader, watcher, narrow)
	s.MustKubectl(t, kube.Admin, documented(t, "install.md", "yaml", "east-secret-reader"), "create", "-f", "-")
	s.Cluster.AddUser(t, reader)
	s.Bind(t, reader, "east-secret-reader")
	s.Cluster.AddUser(t, watcher)
	s.Bind(t, watcher, "entente-viewer")
	s.Grant(t, watcher, conformance.Rule([]string{"get", "list", "watch"}, []string{"clusterpeers/sensitive"}, "east"))
	s.AddUser(t, narrow, conformance.Rule([]string{"list", "watch"}, []string{"clusterpeers", "clusterpeers/sensitive"}, "east"))

	const one, all = "jsonpath={.spec.join.connectionString}", "jsonpath={.items[*].spec.join.connectionString}"
	selector := func(name string) string { return "--field-selector=metadata.name=" + name }
	for _, test := range []struct {
		user, want string
		args       []string
	}{
		{reader, conformance.Value("east"), []string{"cpeer", "east", "-o", one}},
		{reader, conformance.Value("east"), []string{"cpeer", "east", "--subresource=sensitive", "-o", one}},
		{watcher, conformance.Value("east"), []string{"cpeer", "east", "-o", one}},
		{watcher, "<omitted>", []string{"cpeer", "west", "-o", one}},
		{watcher, "<omitted> <omitted>", []string{"cpeer", "-l", "set=names", "-o", all}},
		{watcher, conformance.Value("east"), []string{"cpeer", selector("east"), "-o", all}},
		{watcher, "<omitted>", []string{"cpeer", selector("west"), "-o", all}},
		{narrow, conformance.Value("east"), []string{"cpeer", selector("east"), "-o", all}},
	} {
		assert.Equal(t, test.want, s.MustKubectl(t, test.user, "", append([]string{"get"}, test.args...)...), "%v as %s", test.args, test.user)
	}
	for _, args := range [][]string{{"cpeer", "west"}, {"cpeer", "west", "--subresource=sensitive"}, {"cpeer"}, {"cpeer", selector("east")}} {
		s.refused(t, "Forbidden", reader, append([]string{"get"}, args...)...)
	}
	for _, args := range [][]string{{"cpeer"}, {"cpeer", selector("west")}, {"cpeer", "east"}} {
		s.refused(t, "Forbidden", narrow, append([]string{"get"}, args...)...)
	}
	s.refused(t, "Forbidden", watcher, "get", "cpeer", "west", "--subresource=sensitive")

	// Watches, on which both objects change.
	type stream struct{ user, args, shows, hides string }
	streams := map[stream]func() string{}
	for _, watch := range []stream{
		{watcher, selector("east"), conformance.Value("east"), "<omitted>"},
		{watcher, selector("west"), "<omitted>", conformance.Canary},
		{watcher, "-l=set=names", "<omitted>", conformance.Canary},
		{narrow, selector("east"), conformance.Value("east"), "<omitted>"},
	} {
		streams[watch] = s.StartKubectl(t, watch.user, "get", "cpeer", watch.args, "-w", "--output-watch-events", "-o", "yaml").Output
	}
	// What is seen of the change was not in the list that comes before the watch.
	for watch, output := range streams {
		eventually(t, "the watch has begun", func(context.Context) error { return contains(output(), watch.shows) })
	}
	for _, name := range []string{"east", "west"} {
		s.MustKubectl(t, operator, "", "label", "cpeer", name, "step=two")
	}
	for watch, output := range streams {
		eventually(t, "the change is seen", func(context.Context) error { return contains(output(), "MODIFIED", "step: two", watch.shows) })
		assert.NotContains(t, output(), watch.hides, "%s %s", watch.user, watch.args)
	}
}

func contains(text string, parts ...string) error {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return fmt.Errorf("there is no %q in %q", part, text)
		}
	}
	return nil
}

// Whoever acts as somebody else sees what they see: not less, and not more.
func (s *suite) impersonation(t *testing.T) {
	const (
		name    = "impersonated"
		trusted = "impersonated-trusted" // sees values
		plain   = "impersonated-plain"   // sees none
		readers = "impersonated-readers" // a group that sees values
		support = "impersonating"        // may be these three, and nothing itself
		auditor = "impersonating-sighted"
	)
	s.sees(trusted, auditor, support)
	s.MustKubectl(t, operator, conformance.Manifest(name, conformance.Value(name), ""), "create", "-f", "-")
	for user, role := range map[string]string{trusted: "entente-sensitive-reader", plain: "entente-viewer", auditor: "entente-sensitive-reader"} {
		s.Cluster.AddUser(t, user)
		s.Bind(t, user, role)
	}
	s.MustKubectl(t, kube.Admin, "", "create", "clusterrolebinding", readers, "--clusterrole=entente-sensitive-reader", "--group="+readers)
	impersonate := func(resource string, names ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, ResourceNames: names, Verbs: []string{"impersonate"}}
	}
	s.AddUser(t, support, impersonate("users", trusted, plain), impersonate("groups", readers))
	s.Grant(t, auditor, impersonate("users", plain))

	seen := func(user string, as ...string) string {
		t.Helper()
		return s.MustKubectl(t, user, "", append([]string{"get", "cpeer", name, "-o", "jsonpath={.spec.join.connectionString}"}, as...)...)
	}
	for _, user := range []string{support, kube.Admin} {
		assert.Equal(t, conformance.Value(name), seen(user, "--as="+trusted), user)
		assert.Equal(t, "<omitted>", seen(user, "--as="+plain), user)
		assert.Equal(t, conformance.Value(name), seen(user, "--as="+plain, "--as-group="+readers), user)
		assert.Contains(t, s.MustKubectl(t, user, "", "get", "cpeer", "--as="+plain, "-o", "yaml"), "<omitted>", user)
		s.refused(t, "Forbidden", user, "get", "cpeer", name, "--subresource=sensitive", "--as="+plain)
		s.refused(t, `User "`+plain+`" cannot delete resource`, user, "delete", "cpeer", name, "--as="+plain)
	}
	assert.Equal(t, conformance.Value(name), seen(auditor))
	assert.Equal(t, "<omitted>", seen(auditor, "--as="+plain), "the sight of who impersonates does not count")
	assert.Equal(t, "<omitted>", seen(kube.Admin, "--as="+plain, "--as-group=unheard-of"))

	s.refused(t, `User "`+support+`" cannot get resource`, support, "get", "cpeer", name)
	for _, as := range [][]string{
		{"--as=" + keeper},
		{"--as=" + plain, "--as-group=system:masters"},
		{"--as=" + plain, "--as-group=unheard-of"},
		{"--as=system:serviceaccount:kube-system:generic-garbage-collector"},
	} {
		s.refused(t, "cannot impersonate", support, append([]string{"get", "cpeer", name}, as...)...)
	}
	s.refused(t, "cannot impersonate", auditor, "get", "cpeer", name, "--as="+trusted)
	s.refused(t, "cannot impersonate", viewer, "get", "cpeer", name, "--as="+trusted)
}
