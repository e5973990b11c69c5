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

package release

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"entente.dev/entente/apis/core"
	"entente.dev/entente/registry/guard"
	"entente.dev/entente/registry/strategy/strategytest"
)

const use = "use core.convoy.kumodo.io:clusters default/a.cluster"

func begin(t *testing.T, r *strategytest.Rights) guard.Judge {
	t.Helper()
	g, err := newGuard(r)
	require.NoError(t, err)
	return g.Begin()
}

// C4: who creates a Release needs the verb use on its Cluster, and no other right is as good.
func TestC4Create(t *testing.T) {
	r := &strategytest.Rights{Held: []string{use}}
	assert.NoError(t, begin(t, r).Create(requestContext(""), stored()))
	assert.Equal(t, []string{use}, r.Asked)
	for _, held := range []string{"", "get core.convoy.kumodo.io:clusters default/a.cluster", "use clusters default/a.cluster", "use core.convoy.kumodo.io:clusters other/a.cluster", "use core.convoy.kumodo.io:clusters default/a.release"} {
		err := begin(t, &strategytest.Rights{Held: []string{held}}).Create(requestContext(""), stored())
		assert.True(t, apierrors.IsForbidden(err), "%s: %v", held, err)
		assert.EqualError(t, err, `releases.core.convoy.kumodo.io "a.release" is forbidden: rule C4: this takes the verb use on Cluster a.cluster`)
	}
}

// C4: who changes the spec needs it as well; the metadata and the status decide nothing.
func TestC4Update(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*core.Release)
		asks   bool
	}{
		"nothing":             {func(*core.Release) {}, false},
		"labels":              {func(r *core.Release) { r.Labels, r.Annotations = nil, nil }, false},
		"finalizers":          {func(r *core.Release) { r.Finalizers = nil }, false},
		"owners":              {func(r *core.Release) { r.OwnerReferences = nil }, false},
		"the status":          {func(r *core.Release) { r.Status = core.ReleaseStatus{} }, false},
		"objects":             {func(r *core.Release) { r.Spec.Resources = r.Spec.Resources[:1] }, true},
		"no objects":          {func(r *core.Release) { r.Spec.Resources = nil }, true},
		"mutations":           {func(r *core.Release) { r.Spec.Mutations = nil }, true},
		"the deletion policy": {func(r *core.Release) { r.Spec.DeletionPolicy = core.ReleaseDeletionPolicyOrphan }, true},
	} {
		t.Run(name, func(t *testing.T) {
			r, release := &strategytest.Rights{Held: []string{use}}, changed(stored(), test.change)
			assert.NoError(t, begin(t, r).Update(requestContext(""), release, stored(), nil))
			assert.Equal(t, test.asks, len(r.Asked) == 1, "%v", r.Asked)
			err := begin(t, &strategytest.Rights{}).Update(requestContext(""), release, stored(), nil)
			assert.Equal(t, test.asks, apierrors.IsForbidden(err), "%v", err)
		})
	}
}

// C4: what cannot be checked is not done, and what went wrong is not said; nobody is nobody, and
// another kind is nothing that the guard lets pass.
func TestC4WithoutAnAnswer(t *testing.T) {
	err := begin(t, &strategytest.Rights{Err: assert.AnError}).Create(requestContext(""), stored())
	require.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
	assert.EqualError(t, err, "rule C4: whether you may use this Cluster could not be checked; try again later")
	judge := begin(t, &strategytest.Rights{Held: []string{use}})
	assert.True(t, apierrors.IsInternalError(judge.Create(requestContext(""), &metav1.Status{})))
	assert.True(t, apierrors.IsInternalError(judge.Update(requestContext(""), &metav1.Status{}, stored(), nil)))
	assert.True(t, apierrors.IsServiceUnavailable(judge.Create(context.Background(), stored())))
}
