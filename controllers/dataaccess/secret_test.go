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

package dataaccess

import (
	"crypto/tls"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/record"
)

// shown is a fixture whose Secret is there.
func shown(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.twice()
	require.NotNil(t, f.secret())
	f.requests()
	return f
}

// isShown checks that the Secret holds the data key in use, and all it takes to dial.
func (f *fixture) isShown() {
	f.t.Helper()
	live, remote := f.secret(), f.remote()
	require.NotNil(f.t, live)
	assert.Equal(f.t, corev1.SecretTypeTLS, live.Type)
	assert.Equal(f.t, "entente", live.Labels["app.kubernetes.io/managed-by"])
	assert.Equal(f.t, "east", live.Labels["peering.entente.dev/peer"])
	assert.Equal(f.t, uid, live.Annotations["peering.entente.dev/peer-uid"])
	assert.Len(f.t, live.Data, 3)
	_, err := tls.X509KeyPair(live.Data["tls.crt"], live.Data["tls.key"])
	require.NoError(f.t, err)
	assert.Equal(f.t, remote.Data.Certificate, parse(f.t, live.Data["tls.crt"]).Raw)
	assert.Equal(f.t, remote.Trust[0], parse(f.t, live.Data["ca.crt"]).Raw)
}

// G8: the data key is in a Secret, and what changes of it or the trust follows.
func TestG8Secret(t *testing.T) {
	f := newFixture(t)
	f.once()
	assert.Nil(t, f.secret(), "this replica has not seen the key yet")
	f.once()
	f.isShown()
	f.requests()
	for range 10 {
		f.once()
	}
	assert.Empty(t, f.requests(), "nothing has changed")

	before := f.remote().Data.Certificate
	f.clock.SetTime(f.remote().Data.RenewAt())
	f.twice()
	require.NotEqual(t, before, f.remote().Data.Certificate)
	f.isShown()
	f.far.rotates()
	f.edit(func(r *record.Remote) { r.Trust = f.far.authority().Trust() })
	f.once()
	f.isShown()
	f.requests()
	f.restart()
	f.once()
	assert.Equal(t, []string{"get"}, f.requests())
	assert.Empty(t, f.events())
}

// G8: what somebody else does to it is undone, but for what is none of ours.
func TestG8SecretHeals(t *testing.T) {
	for name, change := range map[string]func(live *corev1.Secret) *corev1.Secret{
		"deleted":       func(*corev1.Secret) *corev1.Secret { return nil },
		"another key":   func(live *corev1.Secret) *corev1.Secret { live.Data["tls.key"] = []byte("x"); return live },
		"one more":      func(live *corev1.Secret) *corev1.Secret { live.Data["more"] = []byte("x"); return live },
		"another trust": func(live *corev1.Secret) *corev1.Secret { live.Data["ca.crt"] = []byte("x"); return live },
		"for another peer": func(live *corev1.Secret) *corev1.Secret {
			live.Labels[peeringv1alpha1.LabelPeer], live.Annotations[peeringv1alpha1.AnnotationPeerUID] = "west", "another"
			return live
		},
		"another type": func(live *corev1.Secret) *corev1.Secret { live.Type = corev1.SecretTypeOpaque; return live },
		"not to be changed": func(live *corev1.Secret) *corev1.Secret {
			immutable := true
			live.Immutable, live.Data = &immutable, nil
			return live
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := shown(t)
			f.isShown()
			live := f.secret()
			require.NoError(t, f.host.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("secrets"), namespace, secret))
			if live = change(live); live != nil {
				live.Labels["team"] = "a"
				f.puts(live)
			}
			f.clock.Step(lookAgain)
			f.once()
			f.isShown()
			assert.Nil(t, f.secret().Immutable)
			if name != "deleted" && name != "another type" && name != "not to be changed" {
				assert.Equal(t, "a", f.secret().Labels["team"])
			}
			assert.Empty(t, f.events())
		})
	}
}

// G8: one that somebody else made stays as it is, and that is said once.
func TestG8ForeignSecret(t *testing.T) {
	labelled := metav1.ObjectMeta{Name: secret, Labels: map[string]string{peeringv1alpha1.LabelManagedBy: peeringv1alpha1.ManagedBy}}
	annotated := metav1.ObjectMeta{Name: secret, Annotations: map[string]string{peeringv1alpha1.AnnotationPeerUID: uid}}
	others := metav1.ObjectMeta{Name: secret, Labels: map[string]string{peeringv1alpha1.LabelManagedBy: "helm"}, Annotations: map[string]string{peeringv1alpha1.AnnotationPeerUID: uid}}
	for name, meta := range map[string]metav1.ObjectMeta{"nothing": {Name: secret}, "labelled only": labelled, "annotated only": annotated, "managed by others": others} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			theirs := &corev1.Secret{ObjectMeta: meta, Type: corev1.SecretTypeTLS, Data: map[string][]byte{"tls.key": []byte("theirs")}}
			f.puts(theirs)
			for range 10 {
				f.once()
				f.clock.Step(lookAgain)
			}
			assert.Equal(t, theirs.Data, f.secret().Data)
			events := f.events()
			require.Len(t, events, 1)
			assert.Contains(t, events[0], "Warning ForeignSecret Secret entente-access/east-access was not made by Entente")

			f.shows()
			f.once()
			assert.Equal(t, theirs.Data, f.secret().Data, "nor does it go")

			f.shows(clusterPeer("east", uid))
			require.NoError(t, f.host.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("secrets"), namespace, secret))
			f.clock.Step(lookAgain)
			f.once()
			f.isShown()
		})
	}
}

// G8, P12: it goes with the access, and with the ClusterPeer.
func TestG8SecretGoes(t *testing.T) {
	for name, end := range map[string]func(f *fixture){
		"no access": func(f *fixture) { f.edit(func(r *record.Remote) { r.Fault = record.PeerSuspended }) },
		"being deleted": func(f *fixture) {
			peer := clusterPeer("east", uid)
			peer.DeletionTimestamp = &metav1.Time{Time: noon}
			f.shows(peer)
		},
		"gone":                          func(f *fixture) { f.shows() },
		"another one, with nothing yet": func(f *fixture) { f.shows(clusterPeer("east", "22222222-0000-4000-8000-000000000001")) },
		"paired anew, and no key yet": func(f *fixture) {
			f.edit(func(r *record.Remote) { r.Data = nil })
			f.far.fails(&client.Failure{Kind: client.Unreachable})
		},
	} {
		for _, restarted := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				f := shown(t)
				end(f)
				if restarted {
					f.restart()
				}
				f.once()
				assert.Nil(t, f.secret())
				f.requests()
				for range 10 {
					f.once()
				}
				assert.Empty(t, f.requests())
			})
		}
	}
}

// G8: who was quicker is not overwritten, and it is tried again; what the host cluster
// refuses is an error that quotes nothing.
func TestG8SecretRefused(t *testing.T) {
	const canary = "canary"
	quoting := &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Message: "it holds " + canary}}
	for verb, prepare := range map[string]func(f *fixture){
		"get":    func(f *fixture) { f.clock.Step(lookAgain) },
		"create": func(f *fixture) { f.forgetSecret() },
		"update": func(f *fixture) { f.edit(func(r *record.Remote) { r.Trust = append(r.Trust, r.Trust[0]) }) },
		"delete": func(f *fixture) { f.shows() },
	} {
		for failure, isError := range map[error]bool{
			quoting:                                  true,
			errors.New("could not decode " + canary): true,
			apierrors.NewTimeoutError("of "+canary, 1):                                    true,
			apierrors.NewConflict(corev1.Resource("secrets"), secret, errors.New(canary)): false,
		} {
			t.Run(verb, func(t *testing.T) {
				f := shown(t)
				prepare(f)
				f.host.PrependReactor(verb, "secrets", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, failure })
				again, err := f.sync(t.Context(), cache.ObjectName{Name: "east"})
				if isError || verb == "get" { // there is no race for that
					require.ErrorContains(t, err, "could not "+verb+" Secret east-access: ")
					assert.NotContains(t, err.Error(), canary)
				} else {
					require.NoError(t, err)
					assert.LessOrEqual(t, again, tryAgain)
				}
				f.host.ReactionChain = f.host.ReactionChain[1:]
				f.once()
				if verb == "delete" {
					assert.Nil(t, f.secret())
				} else {
					assert.NotNil(t, f.secret())
				}
			})
		}
	}
	// A namespace that is not there is no race.
	f := newFixture(t)
	f.once()
	f.host.PrependReactor("create", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewNotFound(corev1.Resource("namespaces"), namespace)
	})
	_, err := f.sync(t.Context(), cache.ObjectName{Name: "east"})
	require.Error(t, err)
}

func (f *fixture) forgetSecret() {
	f.t.Helper()
	require.NoError(f.t, f.host.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("secrets"), namespace, secret))
	f.clock.Step(lookAgain)
}
