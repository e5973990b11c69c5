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
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"entente.dev/entente/controllers/access"
	"entente.dev/entente/peering/record"
)

// G5: an answer that can mean either is looked into.
func TestG5ConflictOfAnother(t *testing.T) {
	f, plan := granted(t)
	f.plans.set(withoutCluster())
	contested := wantedBy(plan, self)[1].role
	f.host.before = func(verb string, r ref) error {
		if verb == "delete" && r == contested {
			return apierrors.NewConflict(rbacv1.Resource("roles"), r.name, errors.New("somebody else writes it"))
		}
		return nil
	}
	_, err := f.once("west")
	require.Error(t, err)
	assert.Len(t, f.book.Grants(westUID)[0].Objects, 1, "what is still there is still listed")
	f.host.before = nil
	f.settles("west")
	assert.Empty(t, f.host.every())
}

// A grant that a later version listed is not taken for nothing.
func TestG5UnknownKind(t *testing.T) {
	f, _ := granted(t)
	require.NoError(t, f.book.Memory.Update(t.Context(), func(tx record.Tx) error {
		return record.ChangeGrant(tx, record.GrantChange{
			PeerUID: westUID, PeerName: "west", Capability: "other",
			Put: []record.GrantedObject{{Kind: "Webhook", Name: "entente-1", UID: "uid"}},
		})
	}))
	f.plans.set(withoutCluster())
	_, err := f.once("west")
	require.ErrorContains(t, err, "Webhook")
	assert.Empty(t, f.host.every())
	assert.Len(t, f.book.AllGrants(), 1)
	assert.Equal(t, "False ApplyFailed: "+other.message(), f.condition("west"))
}

// Nothing can be made in a namespace that is going, and that is no error, and no loop.
func TestG5NamespaceGoing(t *testing.T) {
	for name, going := range map[string]func(h *cluster){
		"terminating": func(h *cluster) { h.terminating["b"] = true },
		"gone":        func(h *cluster) { h.absent["b"] = true },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.holds("west", westUID)
			f.plans.set(planned([]access.Capability{capability("logs", "get")}, "a", "b", "c"))
			going(f.host)
			again, err := f.once("west")
			require.NoError(t, err)
			assert.Equal(t, lookAgain, again)
			assert.Equal(t, []string{"a d8-logs:reader get configmaps", "c d8-logs:reader get configmaps"}, f.grants())
			assert.Equal(t, "True Applied: 4 objects in 2 namespaces for 1 capability.", f.condition("west"))
			f.book.wrote()
			_, err = f.once("west")
			require.NoError(t, err)
			assert.Zero(t, f.book.wrote(), "a write would wake the controller again")

			f.host.terminating, f.host.absent = nil, nil
			f.clock.Step(lookAgain)
			f.settles("west")
			assert.Len(t, f.grants(), 3)
		})
	}
}

func TestTroubles(t *testing.T) {
	roles := rbacv1.Resource("roles")
	for _, test := range []struct {
		err  error
		want trouble
	}{
		{apierrors.NewForbidden(roles, "x", errors.New("no")), forbidden},
		{apierrors.NewUnauthorized("no"), forbidden},
		{apierrors.NewInvalid(rbacv1.SchemeGroupVersion.WithKind("Role").GroupKind(), "x", nil), forbidden},
		{apierrors.NewServerTimeout(roles, "create", 1), timedOut},
		{apierrors.NewTimeoutError("late", 1), timedOut},
		{fmt.Errorf("could not: %w", context.DeadlineExceeded), timedOut},
		{&url.Error{Op: "Get", Err: context.DeadlineExceeded}, timedOut},
		{apierrors.NewServiceUnavailable("away"), unavailable},
		{apierrors.NewTooManyRequests("slow down", 1), unavailable},
		{apierrors.NewInternalError(errors.New("ouch")), unavailable},
		{&url.Error{Op: "Get", Err: errors.New("connection refused")}, unavailable},
		{errHeld, held},
		{errContested, disturbed},
		{errAltered, altered},
		{apierrors.NewGenericServerResponse(http.StatusTeapot, "get", roles, "x", "", 0, false), other},
		{errors.New("CANARY"), other},
	} {
		got := troubleOf(test.err)
		assert.Equal(t, test.want, got, test.err)
		assert.NotEmpty(t, got.message())
		assert.NotContains(t, got.message(), "CANARY", "R15")
	}
	var all []string
	for is := other; is <= unavailable; is++ {
		assert.NotContains(t, all, is.message())
		all = append(all, is.message())
	}
}
