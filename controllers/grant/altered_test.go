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

package grant

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
)

// alterations are what mutating admission of a host cluster may do.
func alterations() map[string]func(wanted runtime.Object) {
	widen := func(binding *rbacv1.RoleBinding) {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: "audit"})
	}
	return map[string]func(wanted runtime.Object){
		"a label": func(wanted runtime.Object) {
			wanted.(metav1.Object).GetLabels()[peeringv1alpha1.LabelManagedBy] = "platform"
		},
		"without labels": func(wanted runtime.Object) { wanted.(metav1.Object).SetLabels(nil) },
		"without proof":  func(wanted runtime.Object) { wanted.(metav1.Object).SetAnnotations(nil) },
		"a rule": func(wanted runtime.Object) {
			if role, ok := wanted.(*rbacv1.Role); ok {
				role.Rules[0].Verbs = append(role.Rules[0].Verbs, "list")
			}
		},
		"a subject": func(wanted runtime.Object) {
			if binding, ok := wanted.(*rbacv1.RoleBinding); ok {
				widen(binding)
			}
		},
		"a subject, and nothing that shows whose it is": func(wanted runtime.Object) {
			if binding, ok := wanted.(*rbacv1.RoleBinding); ok {
				widen(binding)
				binding.Labels, binding.Annotations = nil, nil
			}
		},
	}
}

// G5: what admission of the host cluster makes of an object is not left there, and it is
// not tried again and again.
func TestG5Altered(t *testing.T) {
	for name, alter := range alterations() {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.holds("west", westUID)
			f.host.making = func(_ ref, wanted runtime.Object) { alter(wanted) }
			f.plans.set(planned([]access.Capability{capability("logs", "get")}, "a"))
			for i := range 20 {
				again, err := f.once("west")
				if i < 2 {
					require.ErrorIs(t, err, errAltered)
				} else {
					require.NoError(t, err)
					assert.Equal(t, time.Second, again)
				}
				assert.Empty(t, f.grants())
				assert.Equal(t, "False ApplyFailed: "+altered.message(), f.condition("west"))
			}
			assert.LessOrEqual(t, f.host.took("create"), 2*3, "three for each of two pairs")
			f.host.did()
			f.book.wrote()
			_, err := f.once("west")
			require.NoError(t, err)
			assert.Empty(t, f.host.did())
			assert.Zero(t, f.book.wrote(), "a write would wake the controller again")

			f.clock.Step(time.Second)
			_, err = f.once("west")
			require.ErrorIs(t, err, errAltered, "it is tried again")
			f.plans.set(withoutCluster())
			f.settles("west")
			assert.Empty(t, f.host.every())
			assert.Empty(t, f.book.AllGrants())

			f.host.making = f.checkMaking
			f.plans.set(planned([]access.Capability{capability("logs", "get")}, "a"))
			f.clock.Step(maxPause)
			f.settles("west")
			assert.Equal(t, []string{"a d8-logs:reader get configmaps"}, f.grants())
			assert.Equal(t, "True Applied: 2 objects in 1 namespace for 1 capability.", f.condition("west"))
		})
	}
}

// G5: what admission made of it is listed if it cannot be deleted at once, and goes as soon
// as it can.
func TestG5AlteredStays(t *testing.T) {
	alter := alterations()["a subject, and nothing that shows whose it is"]
	for name, test := range map[string]struct {
		alter func(wanted runtime.Object)
		end   func(f *fixture)
	}{
		"not deleted": {alter, func(f *fixture) { f.host.before = nil }},
		"held": {func(wanted runtime.Object) {
			alter(wanted)
			if binding, ok := wanted.(*rbacv1.RoleBinding); ok {
				hold(binding)
			}
		}, func(f *fixture) {
			for r := range f.host.all() {
				f.host.changes(r, release)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.holds("west", westUID)
			f.host.making = func(_ ref, wanted runtime.Object) { test.alter(wanted) }
			if name == "not deleted" {
				f.host.before = func(verb string, r ref) error {
					if verb == "delete" && r.isBinding() {
						return apierrors.NewForbidden(rbacv1.Resource("rolebindings"), r.name, errors.New("no"))
					}
					return nil
				}
			}
			f.plans.set(planned([]access.Capability{capability("logs", "get")}, "a"))
			_, err := f.once("west")
			require.ErrorIs(t, err, errAltered)
			assert.True(t, isComplete(f.book.Grants(westUID)[0]), "it is listed by its UID")
			f.plans.set(withoutCluster())
			_, err = f.once("west")
			require.Error(t, err)
			assert.Contains(t, f.condition("west"), "False ApplyFailed")
			test.end(f)
			f.settles("west")
			assert.Empty(t, f.host.every())
			assert.Empty(t, f.book.AllGrants())
		})
	}
}
