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

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"entente.dev/entente/apis/core"
	"entente.dev/entente/registry/guard"
	"entente.dev/entente/registry/strategy/strategytest"
)

// What is asked beside what the Cluster names.
const (
	use     = "use core.convoy.kumodo.io:clusters default/a.cluster"
	deletes = "deletecollection core.convoy.kumodo.io:releases default/"
)

func begin(t *testing.T, r *strategytest.Rights, own ...string) guard.Judge {
	t.Helper()
	g, err := newGuard(r, own)
	require.NoError(t, err)
	return g.Begin()
}

// naming is a Cluster that names a Secret or a ConfigMap wherever it can.
func naming() *core.Cluster {
	secret := func(name string) core.SecretKeySelector { return core.SecretKeySelector{Name: name, Key: "key"} }
	configMap := func(name string) *core.ConfigMapKeySelector {
		return &core.ConfigMapKeySelector{Name: name, Key: "key"}
	}
	from, other := secret("s4"), configMap("c2")
	cluster := stored()
	cluster.Spec.Agentless.CAPublicCertRef = configMap("c1")
	cluster.Spec.Agentless.Auth = core.ClusterAuthSpec{
		Type:       core.AuthTypeToken,
		ClientCert: &core.ClientCertAuthSpec{CertRef: secret("s1"), KeyRef: secret("s2")},
		ExecPlugin: &core.ExecPluginAuthSpec{CredentialsRef: core.SecretReference{Name: "s3", Namespace: "elsewhere"}, Env: []core.EnvVar{
			{Name: "a", Value: "b"}, {Name: "c", ValueFrom: &core.EnvVarSource{SecretKeyRef: &from}}, {Name: "d", ValueFrom: &core.EnvVarSource{ConfigMapKeyRef: other}}, {Name: "e", ValueFrom: &core.EnvVarSource{}},
		}},
		Kubeconfig: &core.KubeconfigAuthSpec{SecretRef: secret("s5")},
		OIDC: &core.OIDAuthSpec{
			ClientAuth: core.OIDCClientAuthSpec{
				ClientSecret: &core.OIDCAuthClientSecretSpec{ClientSecretRef: secret("s6")}, PrivateKeyJWT: &core.OIDCAuthPrivateKeyJWTSpec{PrivateKeyRef: secret("s7")},
				TLSClientAuth: &core.OIDCAuthTLSClientAuthSpec{CertRef: secret("s8"), KeyRef: secret("s9")},
			},
			TLS: &core.TLSSpec{CAPublicCertRef: *configMap("c3")},
		},
		Token: &core.TokenAuthSpec{TokenRef: secret("s10")},
	}
	return cluster
}

// C2: who creates a Cluster needs get on each Secret and ConfigMap that it names, wherever it
// names it, in its own namespace, and on nothing else.
func TestC2Create(t *testing.T) {
	all := []string{use}
	for i := range 10 {
		all = append(all, fmt.Sprintf("get secrets default/s%d", i+1))
	}
	for i := range 3 {
		all = append(all, fmt.Sprintf("get configmaps default/c%d", i+1))
	}
	r := &strategytest.Rights{Held: all}
	assert.NoError(t, begin(t, r).Create(requestContext(""), naming()))
	assert.ElementsMatch(t, all, r.Asked)
	for i, missing := range all {
		if missing == use {
			continue
		}
		held := append(append([]string{}, all[:i]...), all[i+1:]...)
		err := begin(t, &strategytest.Rights{Held: held}).Create(requestContext(""), naming())
		require.True(t, apierrors.IsForbidden(err), "%s: %v", missing, err)
		kind, name, _ := strings.Cut(strings.TrimPrefix(missing, "get "), " default/")
		kind = map[string]string{"secrets": "Secret", "configmaps": "ConfigMap"}[kind]
		assert.EqualError(t, err, `clusters.core.convoy.kumodo.io "a.cluster" is forbidden: rule C2: this takes the verb get on `+kind+" "+name)
	}
	for _, held := range []string{"get secrets other/a", "list secrets default/a", "get secrets default/", "get configmaps default/a"} {
		assert.True(t, apierrors.IsForbidden(begin(t, &strategytest.Rights{Held: []string{use, held}}).Create(requestContext(""), stored())), held)
	}
	r = &strategytest.Rights{Held: []string{use}}
	for _, mode := range []core.ConnectionMode{core.ConnectionModeInCluster, core.ConnectionModeAgent} {
		cluster := changed(stored(), func(c *core.Cluster) { c.Spec = core.ClusterSpec{ConnectionMode: mode} })
		assert.NoError(t, begin(t, r).Create(requestContext(""), cluster))
	}
	bare := changed(stored(), func(c *core.Cluster) {
		c.Spec.Agentless.Auth = core.ClusterAuthSpec{Type: core.AuthTypeExecPlugin, ExecPlugin: &core.ExecPluginAuthSpec{Command: "a"}}
	})
	assert.NoError(t, begin(t, r).Create(requestContext(""), bare))
	assert.Equal(t, []string{use, use, use}, r.Asked, "without a name nothing else is asked")
}

// C2: who changes what a connection is made of needs get on all that it names then; whatever
// else changes, nothing is asked.
func TestC2Update(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*core.Cluster)
		asked  []string
	}{
		"nothing":           {func(*core.Cluster) {}, nil},
		"the labels":        {func(c *core.Cluster) { c.Labels, c.Finalizers = nil, nil }, nil},
		"a deletion policy": {func(c *core.Cluster) { c.Spec.DeletionPolicy = &core.ClusterDeletionPolicy{PruneReleases: new(bool)} }, nil},
		"capabilities":      {func(c *core.Cluster) { c.Spec.Capabilities = &core.ClusterCapabilitiesSpec{} }, nil},
		"limits": {func(c *core.Cluster) {
			c.Spec.Agentless.ConnectionParameters = &core.ClusterConnectionParametersSpec{}
		}, nil},
		"the status":     {func(c *core.Cluster) { c.Status = core.ClusterStatus{} }, nil},
		"the name":       {func(c *core.Cluster) { c.Spec.Agentless.Auth.Kubeconfig.SecretRef.Name = "b" }, []string{"get secrets default/b"}},
		"the key":        {func(c *core.Cluster) { c.Spec.Agentless.Auth.Kubeconfig.SecretRef.Key = "b" }, []string{"get secrets default/a"}},
		"the server":     {func(c *core.Cluster) { c.Spec.Agentless.Server = "https://b" }, []string{"get secrets default/a"}},
		"the CA":         {func(c *core.Cluster) { c.Spec.Agentless.CAPublicCertRef = &core.ConfigMapKeySelector{Name: "c"} }, []string{"get configmaps default/c", "get secrets default/a"}},
		"the mode":       {func(c *core.Cluster) { c.Spec.ConnectionMode = "agent" }, []string{"get secrets default/a"}},
		"no connection":  {func(c *core.Cluster) { c.Spec = core.ClusterSpec{ConnectionMode: "inCluster"} }, nil},
		"the type alone": {func(c *core.Cluster) { c.Spec.Agentless.Auth.Type = "token" }, []string{"get secrets default/a"}},
		"another type": {func(c *core.Cluster) {
			c.Spec.Agentless.Auth = core.ClusterAuthSpec{Type: "token", Token: &core.TokenAuthSpec{TokenRef: core.SecretKeySelector{Name: "a", Key: "kubeconfig"}}}
		}, []string{"get secrets default/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &strategytest.Rights{Held: append([]string{use}, test.asked...)}
			cluster := changed(stored(), test.change)
			assert.NoError(t, begin(t, r).Update(requestContext(""), cluster, stored(), nil))
			assert.ElementsMatch(t, test.asked, slices.DeleteFunc(r.Asked, func(asked string) bool { return asked == use }))
			err := begin(t, &strategytest.Rights{Held: []string{use}}).Update(requestContext(""), cluster, stored(), nil)
			assert.Equal(t, len(test.asked) > 0, apierrors.IsForbidden(err), "%v", err)
			if len(test.asked) > 0 {
				assert.ErrorContains(t, err, "rule C2: ")
			}
		})
	}
}

// C4: who creates a Cluster, or changes what becomes of its Releases, needs the verb use on it,
// and no other right is as good: they may be there before the Cluster is.
func TestC4TakesUse(t *testing.T) {
	const refused = `clusters.core.convoy.kumodo.io "a.cluster" is forbidden: rule C4: this takes the verb use on Cluster a.cluster`
	get := "get secrets default/a"
	r := &strategytest.Rights{Held: []string{use, get}}
	assert.NoError(t, begin(t, r).Create(requestContext(""), stored()))
	assert.Equal(t, []string{use, get}, r.Asked)
	for _, held := range []string{"", deletes, "update core.convoy.kumodo.io:clusters default/a.cluster", "use clusters default/a.cluster", "use core.convoy.kumodo.io:clusters other/a.cluster", "use core.convoy.kumodo.io:clusters default/b"} {
		err := begin(t, &strategytest.Rights{Held: []string{held, get}}).Create(requestContext(""), stored())
		assert.True(t, apierrors.IsForbidden(err), "%s: %v", held, err)
		assert.EqualError(t, err, refused, held)
	}
	for name, test := range map[string]struct {
		change func(*core.Cluster)
		asks   bool
	}{
		"nothing":           {func(*core.Cluster) {}, false},
		"the labels":        {func(c *core.Cluster) { c.Labels, c.Annotations, c.Finalizers, c.OwnerReferences = nil, nil, nil, nil }, false},
		"the status":        {func(c *core.Cluster) { c.Status = core.ClusterStatus{} }, false},
		"capabilities":      {func(c *core.Cluster) { c.Spec.Capabilities = &core.ClusterCapabilitiesSpec{} }, false},
		"a deletion policy": {func(c *core.Cluster) { c.Spec.DeletionPolicy = &core.ClusterDeletionPolicy{PruneReleases: yes()} }, false},
		"a value":           {func(c *core.Cluster) { c.Spec.Metadata["region"] = "other" }, true},
		"a key more":        {func(c *core.Cluster) { c.Spec.Metadata["a"] = "" }, true},
		"no metadata":       {func(c *core.Cluster) { c.Spec.Metadata = nil }, true},
		"the mode":          {func(c *core.Cluster) { c.Spec.ConnectionMode = core.ConnectionModeInCluster }, true},
		"no connection":     {func(c *core.Cluster) { c.Spec.Agentless = nil }, true},
		"the server":        {func(c *core.Cluster) { c.Spec.Agentless.Server = "https://b" }, true},
		"a key of a Secret": {func(c *core.Cluster) { c.Spec.Agentless.Auth.Kubeconfig.SecretRef.Key = "b" }, true},
		"the CA":            {func(c *core.Cluster) { c.Spec.Agentless.CAPublicCertRef = &core.ConfigMapKeySelector{} }, true},
		"limits": {func(c *core.Cluster) {
			c.Spec.Agentless.ConnectionParameters = &core.ClusterConnectionParametersSpec{}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := changed(stored(), test.change)
			r := &strategytest.Rights{Held: []string{use, get, deletes}}
			assert.NoError(t, begin(t, r).Update(requestContext(""), cluster, stored(), nil))
			assert.Equal(t, test.asks, slices.Contains(r.Asked, use), "%v", r.Asked)
			err := begin(t, &strategytest.Rights{Held: []string{get, deletes}}).Update(requestContext(""), cluster, stored(), nil)
			if !test.asks {
				assert.NoError(t, err)
				return
			}
			assert.True(t, apierrors.IsForbidden(err), "%v", err)
			assert.EqualError(t, err, refused)
		})
	}
	empty := changed(stored(), func(c *core.Cluster) { c.Spec.Metadata = map[string]string{} })
	none := changed(stored(), func(c *core.Cluster) { c.Spec.Metadata = nil })
	assert.NoError(t, begin(t, &strategytest.Rights{}).Update(requestContext(""), empty, none, nil), "what is empty and what is not there are the same")
}

// C1: who has Releases deleted with a Cluster needs to be able to delete all of the namespace.
// Who leaves that as it is, or takes it back, does not.
func TestC1TakesDeletecollection(t *testing.T) {
	const refused = `clusters.core.convoy.kumodo.io "a.cluster" is forbidden: rule C1: this takes the verb deletecollection on the Releases of the namespace: pruneReleases deletes them`
	get := "get secrets default/a"
	policy := func(prune *bool) *core.Cluster {
		return changed(stored(), func(c *core.Cluster) { c.Spec.DeletionPolicy = &core.ClusterDeletionPolicy{PruneReleases: prune} })
	}
	no := new(bool)
	for name, test := range map[string]struct {
		to, from *core.Cluster // from is nil on a create
		asks     bool
	}{
		"created without":         {stored(), nil, false},
		"created with no":         {policy(no), nil, false},
		"created with half of it": {policy(nil), nil, false},
		"created with yes":        {policy(yes()), nil, true},
		"yes":                     {policy(yes()), stored(), true},
		"yes for no":              {policy(yes()), policy(no), true},
		"yes for half of it":      {policy(yes()), policy(nil), true},
		"yes as before":           {policy(yes()), policy(yes()), false},
		"no for yes":              {policy(no), policy(yes()), false},
		"nothing for yes":         {stored(), policy(yes()), false},
		"no":                      {policy(no), stored(), false},
		"yes, of one that goes":   {policy(yes()), changed(stored(), func(c *core.Cluster) { c.DeletionTimestamp = &metav1.Time{} }), true},
	} {
		t.Run(name, func(t *testing.T) {
			write := func(r *strategytest.Rights) error {
				if test.from == nil {
					return begin(t, r).Create(requestContext(""), test.to)
				}
				return begin(t, r).Update(requestContext(""), test.to, test.from, nil)
			}
			r := &strategytest.Rights{Held: []string{use, get, deletes}}
			assert.NoError(t, write(r))
			assert.Equal(t, test.asks, slices.Contains(r.Asked, deletes), "%v", r.Asked)
			for _, held := range []string{"", "delete core.convoy.kumodo.io:releases default/", "deletecollection core.convoy.kumodo.io:releases other/", "deletecollection core.convoy.kumodo.io:clusters default/"} {
				err := write(&strategytest.Rights{Held: []string{use, get, held}})
				if !test.asks {
					assert.NoError(t, err)
					continue
				}
				assert.True(t, apierrors.IsForbidden(err), "%v", err)
				assert.EqualError(t, err, refused, held)
			}
		})
	}
}

// C2: no Secret of Entente's is used, whoever may read it. Other Clusters may be there.
func TestC2OwnNamespaces(t *testing.T) {
	r := &strategytest.Rights{Held: []string{use, "get secrets default/a", "get secrets default/b"}}
	renamed := changed(stored(), func(c *core.Cluster) { c.Spec.Agentless.Auth.Kubeconfig.SecretRef.Name = "b" })
	for _, err := range []error{
		begin(t, r, "entente", "default").Create(requestContext(""), stored()),
		begin(t, r, "entente", "default").Update(requestContext(""), renamed, stored(), nil),
	} {
		assert.EqualError(t, err, `clusters.core.convoy.kumodo.io "a.cluster" is forbidden: rule C2: no Cluster of this namespace may name a Secret`)
	}
	assert.Equal(t, []string{use, use}, r.Asked)
	assert.NoError(t, begin(t, r, "default").Create(requestContext(""), changed(stored(), func(c *core.Cluster) { c.Spec = core.ClusterSpec{ConnectionMode: "inCluster"} })))
	assert.NoError(t, begin(t, r, "default").Update(requestContext(""), changed(stored(), func(c *core.Cluster) { c.Finalizers = nil }), stored(), nil), "one that is there already can go")
	assert.NoError(t, begin(t, r, "entente").Create(requestContext(""), stored()))
}

// C2: what cannot be checked is not done, and what went wrong is not said; questions are
// bounded; nobody is nobody.
func TestC2WithoutAnAnswer(t *testing.T) {
	r := &strategytest.Rights{Err: assert.AnError}
	err := begin(t, r).Create(requestContext(""), stored())
	require.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
	assert.EqualError(t, err, "rule C1, C2, C4: whether you may write this Cluster so could not be checked; try again later")
	assert.True(t, apierrors.IsServiceUnavailable(begin(t, &strategytest.Rights{}).Create(context.Background(), stored())))

	cluster := naming()
	r = &strategytest.Rights{Held: []string{use}}
	for i := range guard.MaxQuestions + 1 {
		name := fmt.Sprint("n", i)
		cluster.Spec.Agentless.Auth.ExecPlugin.Env = append(cluster.Spec.Agentless.Auth.ExecPlugin.Env, core.EnvVar{Name: name, ValueFrom: &core.EnvVarSource{SecretKeyRef: &core.SecretKeySelector{Name: name}}})
		r.Held = append(r.Held, "get secrets default/"+name)
	}
	cluster.Spec.Agentless.CAPublicCertRef = nil
	cluster.Spec.Agentless.Auth = core.ClusterAuthSpec{ExecPlugin: &core.ExecPluginAuthSpec{Env: cluster.Spec.Agentless.Auth.ExecPlugin.Env[4:]}}
	err = begin(t, r).Create(requestContext(""), cluster)
	assert.True(t, apierrors.IsForbidden(err), "%v", err)
	assert.ErrorContains(t, err, "rule C2: this names too many Secrets and ConfigMaps")
	assert.Len(t, r.Asked, guard.MaxQuestions)
}

// A kind that is not its own is nothing that the guard lets pass.
func TestC2OtherKinds(t *testing.T) {
	judge := begin(t, &strategytest.Rights{})
	assert.True(t, apierrors.IsInternalError(judge.Create(requestContext(""), &metav1.Status{})))
	assert.True(t, apierrors.IsInternalError(judge.Update(requestContext(""), &metav1.Status{}, stored(), nil)))
	assert.True(t, apierrors.IsInternalError(judge.Update(requestContext(""), stored(), &metav1.Status{}, nil)))
}
