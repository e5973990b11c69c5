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
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"entente.dev/entente/peering/record"
	"entente.dev/entente/peering/record/recordtest"
)

// cluster is a host cluster that is not one: it gives UIDs, minds preconditions and
// finalizers, has no objects in namespaces that are going, and fails when it is told to.
type cluster struct {
	t *testing.T
	*fake.Clientset

	lock sync.Mutex
	uids int
	// terminating are namespaces that are going, absent those that are not there.
	terminating, absent map[string]bool
	// before is called with each request to write or get something, after with those that
	// went well; their errors are the answer.
	before, after func(verb string, r ref) error
	// making is called with each object that is to be made.
	making func(r ref, wanted runtime.Object)
	// log is what was done: "create Role a/entente-…".
	log []string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, Clientset: fake.NewSimpleClientset(), terminating: map[string]bool{}, absent: map[string]bool{}, making: func(ref, runtime.Object) {}}
	c.PrependReactor("*", "*", c.react)
	return c
}

func kindOf(resource string) string {
	return map[string]string{
		"roles": record.KindRole, "rolebindings": record.KindRoleBinding,
		"clusterroles": record.KindClusterRole, "clusterrolebindings": record.KindClusterRoleBinding,
	}[resource]
}

func resourceOf(kind string) string { return strings.ToLower(kind) + "s" }

func (c *cluster) react(action clienttesting.Action) (bool, runtime.Object, error) {
	r := ref{kind: kindOf(action.GetResource().Resource), namespace: action.GetNamespace()}
	var do func() (runtime.Object, error)
	switch action := action.(type) {
	case clienttesting.CreateActionImpl:
		live := action.Object.DeepCopyObject()
		described, err := meta.Accessor(live)
		require.NoError(c.t, err)
		r.name = described.GetName()
		do = func() (runtime.Object, error) {
			c.making(r, live)
			return c.create(r, live, described)
		}
	case clienttesting.GetActionImpl:
		r.name = action.Name
		do = func() (runtime.Object, error) {
			return c.Tracker().Get(action.GetResource(), r.namespace, r.name)
		}
	case clienttesting.DeleteActionImpl:
		r.name = action.Name
		do = func() (runtime.Object, error) { return nil, c.delete(r, action.DeleteOptions) }
	default:
		return false, nil, nil
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.log = append(c.log, action.GetVerb()+" "+r.String())
	if c.before != nil {
		if err := c.before(action.GetVerb(), r); err != nil {
			return true, nil, err
		}
	}
	found, err := do()
	if err == nil && c.after != nil {
		err = c.after(action.GetVerb(), r)
	}
	return true, found, err
}

func (c *cluster) create(r ref, live runtime.Object, described metav1.Object) (runtime.Object, error) {
	resource := rbacv1.SchemeGroupVersion.WithResource(resourceOf(r.kind))
	switch {
	case c.absent[r.namespace]:
		return nil, apierrors.NewNotFound(corev1.Resource("namespaces"), r.namespace)
	case c.terminating[r.namespace]:
		err := apierrors.NewForbidden(resource.GroupResource(), r.name, errors.New("it is being terminated"))
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
		return nil, err
	}
	c.uids++
	described.SetUID(types.UID("uid-" + strconv.Itoa(c.uids)))
	described.SetResourceVersion(strconv.Itoa(c.uids))
	return live, c.Tracker().Create(resource, live, r.namespace)
}

func (c *cluster) delete(r ref, options metav1.DeleteOptions) error {
	resource := rbacv1.SchemeGroupVersion.WithResource(resourceOf(r.kind))
	live, err := c.Tracker().Get(resource, r.namespace, r.name)
	if err != nil {
		return err
	}
	described, err := meta.Accessor(live)
	require.NoError(c.t, err)
	if options.Preconditions == nil || options.Preconditions.UID == nil {
		c.t.Errorf("%s is deleted whichever it is", r)
		return nil
	}
	version := options.Preconditions.ResourceVersion
	if *options.Preconditions.UID != described.GetUID() || version != nil && *version != described.GetResourceVersion() {
		return apierrors.NewConflict(resource.GroupResource(), r.name, errors.New("precondition failed"))
	}
	if policy := options.PropagationPolicy; policy != nil && *policy == metav1.DeletePropagationBackground {
		described.SetFinalizers(slices.DeleteFunc(described.GetFinalizers(), func(finalizer string) bool {
			return finalizer == metav1.FinalizerDeleteDependents || finalizer == metav1.FinalizerOrphanDependents
		}))
	}
	if len(described.GetFinalizers()) > 0 {
		if described.GetDeletionTimestamp() != nil {
			return nil
		}
		now := metav1.Now()
		described.SetDeletionTimestamp(&now)
		c.uids++
		described.SetResourceVersion(strconv.Itoa(c.uids))
		return c.Tracker().Update(resource, live, r.namespace)
	}
	return c.Tracker().Delete(resource, r.namespace, r.name)
}

// all returns every object there is but those that let Entente act as others.
func (c *cluster) all() map[ref]object {
	found := c.every()
	maps.DeleteFunc(found, func(r ref, _ object) bool { return r.isImpersonation() })
	return found
}

// every returns every object there is.
func (c *cluster) every() map[ref]object {
	c.t.Helper()
	found := map[ref]object{}
	for _, kind := range []string{record.KindRole, record.KindRoleBinding, record.KindClusterRole, record.KindClusterRoleBinding} {
		resource := rbacv1.SchemeGroupVersion.WithResource(resourceOf(kind))
		list, err := c.Tracker().List(resource, rbacv1.SchemeGroupVersion.WithKind(kind), "")
		require.NoError(c.t, err)
		items, err := meta.ExtractList(list)
		require.NoError(c.t, err)
		for _, item := range items {
			live, ok := item.(object)
			require.True(c.t, ok)
			found[ref{kind, live.GetNamespace(), live.GetName()}] = live
		}
	}
	return found
}

// puts makes an object as somebody else would, whatever is there.
func (c *cluster) puts(live object) {
	c.t.Helper()
	kind := strings.TrimPrefix(fmt.Sprintf("%T", live), "*v1.")
	resource := rbacv1.SchemeGroupVersion.WithResource(resourceOf(kind))
	c.lock.Lock()
	defer c.lock.Unlock()
	c.uids++
	live.SetUID(types.UID("uid-" + strconv.Itoa(c.uids)))
	live.SetResourceVersion(strconv.Itoa(c.uids))
	_ = c.Tracker().Delete(resource, live.GetNamespace(), live.GetName())
	require.NoError(c.t, c.Tracker().Create(resource, live.(runtime.Object), live.GetNamespace()))
}

// changes changes an object as somebody else would.
func (c *cluster) changes(r ref, change func(live object)) {
	c.t.Helper()
	c.lock.Lock()
	defer c.lock.Unlock()
	c.alter(r, change)
}

// alter is changes for who is called with a request.
func (c *cluster) alter(r ref, change func(live object)) {
	c.t.Helper()
	live := c.every()[r]
	require.NotNil(c.t, live, r)
	change(live)
	c.uids++
	live.SetResourceVersion(strconv.Itoa(c.uids))
	require.NoError(c.t, c.Tracker().Update(rbacv1.SchemeGroupVersion.WithResource(resourceOf(r.kind)), live.(runtime.Object), r.namespace))
}

// loses deletes an object as somebody else would.
func (c *cluster) loses(r ref) {
	c.t.Helper()
	require.NoError(c.t, c.Tracker().Delete(rbacv1.SchemeGroupVersion.WithResource(resourceOf(r.kind)), r.namespace, r.name))
}

// took returns how often something was done since the last call of did.
func (c *cluster) took(verb string) (times int) {
	c.lock.Lock()
	defer c.lock.Unlock()
	for _, line := range c.log {
		if strings.HasPrefix(line, verb+" ") {
			times++
		}
	}
	return times
}

// did returns what was done since the last call.
func (c *cluster) did() []string {
	c.lock.Lock()
	defer c.lock.Unlock()
	log := c.log
	c.log = nil
	return log
}

// ledger fails when it is told to, and counts writes.
type ledger struct {
	*recordtest.Memory

	lock          sync.Mutex
	writes        int
	before, after func() error
}

func (l *ledger) Update(ctx context.Context, change func(record.Tx) error) error {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.writes++
	if l.before != nil {
		if err := l.before(); err != nil {
			return err
		}
	}
	if err := l.Memory.Update(ctx, change); err != nil {
		return err
	}
	if l.after != nil {
		return l.after()
	}
	return nil
}

func (l *ledger) wrote() int {
	l.lock.Lock()
	defer l.lock.Unlock()
	n := l.writes
	l.writes = 0
	return n
}
