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

package peerprovider

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

func TestNewNeedsAll(t *testing.T) {
	f := newFixture(t)
	group := f.factory.Peering().V1alpha1()
	whole := Config{
		Client: f.server, ClusterPeers: group.ClusterPeers(), Providers: group.TokenExchangeProviders(), Plans: f.plans, Ledger: f.ledger,
		ClusterUUID: here, Recorder: f.recorder, Clock: f.clock,
	}
	_, err := New(whole)
	require.NoError(t, err)
	for name, take := range map[string]func(*Config){
		"client": func(c *Config) { c.Client = nil }, "peers": func(c *Config) { c.ClusterPeers = nil }, "providers": func(c *Config) { c.Providers = nil },
		"plans": func(c *Config) { c.Plans = nil }, "ledger": func(c *Config) { c.Ledger = nil }, "UUID": func(c *Config) { c.ClusterUUID = "" },
		"recorder": func(c *Config) { c.Recorder = nil }, "clock": func(c *Config) { c.Clock = nil },
	} {
		config := whole
		take(&config)
		_, err := New(config)
		assert.ErrorContains(t, err, "not complete", name)
	}
}

// G6: a peer that publishes an issuer has a provider, with what it has published, an
// audience for each capability in effect and the prefix of its users; it follows, and goes
// with the peering.
func TestG6Provider(t *testing.T) {
	f := newFixture(t)
	f.settles("west")
	assert.Nil(t, f.provider(), "nothing is published")

	issuer := protocol.Issuer{URL: "https://kubernetes.default.svc", JWKS: jwks(t)}
	f.publishes(&issuer)
	f.plans.says(withPeer("backup", "logs"), nil)
	f.settles("west")
	made := f.provider()
	require.NotNil(t, made)
	assert.Equal(t, peeringv1alpha1.TokenExchangeProviderSpec{
		Issuer:         peeringv1alpha1.PeerIssuer{URL: issuer.URL, JWKS: issuer.JWKS},
		Audiences:      []string{"peering.entente.dev:" + here + ":backup", "peering.entente.dev:" + here + ":logs"},
		UsernamePrefix: "peer:" + there + ":",
	}, made.Spec)
	assert.Equal(t, []metav1.OwnerReference{{
		APIVersion: "peering.entente.dev/v1alpha1", Kind: "ClusterPeer", Name: "west", UID: westUID, Controller: ptr.To(true),
	}}, made.OwnerReferences)
	assert.Equal(t, westUID, PeerUID(made, f.ledger.GrantKey()))

	f.plans.says(withPeer(), nil)
	f.settles("west")
	assert.Empty(t, f.provider().Spec.Audiences)
	another := protocol.Issuer{URL: "https://other.example.com", JWKS: jwks(t)}
	f.publishes(&another)
	f.settles("west")
	assert.Equal(t, peeringv1alpha1.PeerIssuer{URL: another.URL, JWKS: another.JWKS}, f.provider().Spec.Issuer)
	assert.Equal(t, made.UID, f.provider().UID)

	t.Run("it goes when nothing is published any more", func(t *testing.T) {
		f.publishes(nil)
		f.settles("west")
		assert.Nil(t, f.provider())
		assert.Equal(t, "False AwaitingIssuer", f.condition())
		f.publishes(&issuer)
		f.settles("west")
		assert.NotNil(t, f.provider())
	})
	t.Run("it goes with the peering, and so does the condition", func(t *testing.T) {
		f.plans.says(&access.Plan{Name: "west", UID: westUID}, nil)
		f.settles("west")
		assert.Nil(t, f.provider())
		assert.Empty(t, f.condition())
		f.plans.says(withPeer(), nil)
		f.settles("west")
		assert.NotNil(t, f.provider())
	})
	t.Run("S3: it goes when the ClusterPeer begins to", func(t *testing.T) {
		peer := f.clusterPeer()
		peer.DeletionTimestamp, peer.Finalizers = ptr.To(metav1.NewTime(noon)), []string{peeringv1alpha1.FinalizerDisconnect}
		f.server.puts(clusterPeers, peer)
		f.settles("west")
		assert.Nil(t, f.provider())
		peer.DeletionTimestamp = nil
		f.server.puts(clusterPeers, peer)
		f.settles("west")
		assert.NotNil(t, f.provider())
	})
	t.Run("and when it is gone", func(t *testing.T) {
		require.NoError(t, f.server.Tracker().Delete(clusterPeers, "", "west"))
		f.settles("west")
		assert.Nil(t, f.provider())
	})
}

// G6: what others change in a provider of ours is put right; what they add to its metadata
// stays. A proof that is copied, and everything else with it, gains nothing.
func TestG6ProviderIsKeptTrue(t *testing.T) {
	for name, change := range map[string]func(*peeringv1alpha1.TokenExchangeProvider){
		"prefix":   func(p *peeringv1alpha1.TokenExchangeProvider) { p.Spec.UsernamePrefix = "system:" },
		"keys":     func(p *peeringv1alpha1.TokenExchangeProvider) { p.Spec.Issuer.JWKS = "{}" },
		"URL":      func(p *peeringv1alpha1.TokenExchangeProvider) { p.Spec.Issuer.URL = "https://evil.example.com" },
		"audience": func(p *peeringv1alpha1.TokenExchangeProvider) { p.Spec.Audiences = append(p.Spec.Audiences, "another") },
		"owner":    func(p *peeringv1alpha1.TokenExchangeProvider) { p.OwnerReferences = nil },
		"another owner": func(p *peeringv1alpha1.TokenExchangeProvider) {
			p.OwnerReferences[0].UID = "another"
		},
		"label":                    func(p *peeringv1alpha1.TokenExchangeProvider) { p.Labels = nil },
		"replaced, with its proof": func(p *peeringv1alpha1.TokenExchangeProvider) { p.UID, p.Spec = "another", foreignProvider().Spec },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.publishes(&protocol.Issuer{URL: "https://kubernetes.default.svc", JWKS: jwks(t)})
			f.plans.says(withPeer("logs"), nil)
			f.settles("west")
			made := f.provider()
			f.change(func(p *peeringv1alpha1.TokenExchangeProvider) {
				change(p)
				p.Annotations["example.com/added"] = "x"
			})
			f.settles("west")
			mended := f.provider()
			assert.Equal(t, made.Spec, mended.Spec)
			assert.Equal(t, made.OwnerReferences, mended.OwnerReferences)
			assert.Equal(t, made.Labels, mended.Labels)
			assert.Equal(t, "x", mended.Annotations["example.com/added"])
		})
	}
}

// G6: an object under the name of a provider that we did not make is never touched, and
// makes the ClusterPeer not ready; when it is gone ours is made.
func TestG6ForeignProvider(t *testing.T) {
	for name, dress := range map[string]func(f *fixture, p *peeringv1alpha1.TokenExchangeProvider){
		"bare": func(*fixture, *peeringv1alpha1.TokenExchangeProvider) {},
		"with our label and owner": func(f *fixture, p *peeringv1alpha1.TokenExchangeProvider) {
			p.Labels = map[string]string{peeringv1alpha1.LabelManagedBy: peeringv1alpha1.ManagedBy}
			p.OwnerReferences = []metav1.OwnerReference{wanted{peer: f.clusterPeer()}.owner()}
			p.Annotations = map[string]string{peeringv1alpha1.AnnotationPeerUID: westUID}
		},
		"with the proof of another provider": func(f *fixture, p *peeringv1alpha1.TokenExchangeProvider) {
			key, err := f.ensureKey(t.Context())
			require.NoError(t, err)
			p.Annotations = map[string]string{peeringv1alpha1.AnnotationPeerUID: westUID, AnnotationProof: key.Proof(westUID, provenObject("peer-north"))}
		},
		"with the proof of an object of another kind": func(f *fixture, p *peeringv1alpha1.TokenExchangeProvider) {
			key, err := f.ensureKey(t.Context())
			require.NoError(t, err)
			p.Annotations = map[string]string{peeringv1alpha1.AnnotationPeerUID: westUID, AnnotationProof: key.Proof(westUID, record.GrantedObject{Kind: record.KindClusterRole, Name: "peer-west"})}
		},
		"for another ClusterPeer, with the proof for this one": func(f *fixture, p *peeringv1alpha1.TokenExchangeProvider) {
			key, err := f.ensureKey(t.Context())
			require.NoError(t, err)
			p.Annotations = map[string]string{peeringv1alpha1.AnnotationPeerUID: "another", AnnotationProof: key.Proof(westUID, provenObject("peer-west"))}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			theirs := foreignProvider()
			dress(f, theirs)
			f.server.puts(providers, theirs)
			f.publishes(&protocol.Issuer{URL: "https://kubernetes.default.svc", JWKS: jwks(t)})
			check := func() {
				f.settles("west")
				assert.Equal(t, theirs, f.provider())
				assert.Equal(t, "False ForeignProvider", f.condition())
				reason, message := f.Fault(westUID)
				assert.Equal(t, "ForeignProvider", reason)
				assert.Equal(t, f.message(), message)
			}
			check()
			f.judges(metav1.ConditionTrue, "InUse", "it says")
			theirs = f.provider()
			check()
			f.restart()
			reason, _ := f.Fault(westUID)
			assert.Equal(t, "ForeignProvider", reason, "it does not seem well for a moment")
			check()

			// Nor is it touched when the peering ends.
			f.plans.says(&access.Plan{Name: "west", UID: westUID}, nil)
			f.settles("west")
			assert.Equal(t, theirs, f.provider())
			reason, _ = f.Fault(westUID)
			assert.Empty(t, reason)
			require.NoError(t, f.server.Tracker().Delete(clusterPeers, "", "west"))
			f.settles("west")
			assert.Equal(t, theirs, f.provider())
		})
	}
	t.Run("gone", func(t *testing.T) {
		f := newFixture(t)
		f.server.puts(providers, foreignProvider())
		f.publishes(&protocol.Issuer{URL: "https://kubernetes.default.svc", JWKS: jwks(t)})
		f.settles("west")
		require.NoError(t, f.server.Tracker().Delete(providers, "", "peer-west"))
		f.settles("west")
		assert.Equal(t, westUID, PeerUID(f.provider(), f.ledger.GrantKey()))
		assert.Equal(t, "False ProviderPending", f.condition())
		reason, _ := f.Fault(westUID)
		assert.Empty(t, reason)
	})
}

// A ClusterPeer that was deleted and made anew has nothing of what the old one had.
func TestG6ClusterPeerMadeAnew(t *testing.T) {
	f := newFixture(t)
	f.publishes(&protocol.Issuer{URL: "https://kubernetes.default.svc", JWKS: jwks(t)})
	f.settles("west")
	f.judges(metav1.ConditionTrue, "InUse", "")
	before := f.provider()
	f.change(func(p *peeringv1alpha1.TokenExchangeProvider) {
		p.Annotations[peeringv1alpha1.AnnotationPeerUID] = "old"
		p.Annotations[AnnotationProof] = f.ledger.GrantKey().Proof("old", provenObject("peer-west"))
	})
	_, err := f.once("west")
	require.NoError(t, err)
	assert.Equal(t, "False ProviderDeleting", f.condition())
	f.settles("west")
	assert.NotEqual(t, before.UID, f.provider().UID)
	assert.Equal(t, "False ProviderPending", f.condition())
}

// While it is not known what is to be, nothing goes and nothing comes.
func TestUnknown(t *testing.T) {
	for name, lose := range map[string]func(*fixture){
		"the plan":   func(f *fixture) { f.plans.says(nil, access.ErrUnknown) },
		"the ledger": func(f *fixture) { f.ledger.SetFresh(record.ErrStale) },
		"the peer is another one meanwhile": func(f *fixture) {
			plan := withPeer()
			plan.ClusterUUID = here
			f.plans.says(plan, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.publishes(&protocol.Issuer{URL: "https://kubernetes.default.svc", JWKS: jwks(t)})
			f.settles("west")
			f.publishes(nil)
			lose(f)
			again, err := f.once("west")
			require.NoError(t, err)
			assert.Equal(t, access.AskAgain, again)
			assert.Empty(t, f.writes())
			assert.NotNil(t, f.provider())
		})
	}
	f := newFixture(t)
	broken := errors.New("broken")
	f.plans.says(nil, broken)
	_, err := f.once("west")
	require.ErrorIs(t, err, broken)
}

// What our own API refuses is said and tried again after a while; what is no answer is
// tried again like every failure, and nothing is said.
func TestG6ProviderRejected(t *testing.T) {
	resource := providers.GroupResource()
	secret := "a-piece-of-a-body"
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"forbidden":       {apierrors.NewForbidden(resource, "peer-west", errors.New(secret)), "Forbidden"},
		"invalid":         {apierrors.NewInvalid(peeringv1alpha1.SchemeGroupVersion.WithKind(kind).GroupKind(), secret, nil), "Invalid"},
		"bad request":     {apierrors.NewBadRequest(secret), "BadRequest"},
		"unauthorized":    {apierrors.NewUnauthorized(secret), "Unauthorized"},
		"too large":       {apierrors.NewRequestEntityTooLargeError(secret), "RequestEntityTooLarge"},
		"without reason":  {&apierrors.StatusError{ErrStatus: metav1.Status{Code: 400}}, "it does not say why"},
		"timeout":         {apierrors.NewTimeoutError("", 1), ""},
		"request timeout": {&apierrors.StatusError{ErrStatus: metav1.Status{Code: 408}}, ""},
		"too many":        {apierrors.NewTooManyRequests("", 1), ""},
		"internal":        {apierrors.NewInternalError(errors.New("x")), ""},
		"unavailable":     {apierrors.NewServiceUnavailable("x"), ""},
		"no answer":       {errors.New("connection refused"), ""},
		"over":            {context.DeadlineExceeded, ""},
		"without a code":  {&apierrors.StatusError{}, ""},
		"conflict":        {conflict(providers, "peer-west"), "pending"},
		"gone, or unmade": {apierrors.NewNotFound(resource, "peer-west"), "deleting"},
	} {
		for _, verb := range []string{"create", "update"} {
			t.Run(name+" on "+verb, func(t *testing.T) {
				f := newFixture(t)
				f.publishes(&protocol.Issuer{URL: "https://kubernetes.default.svc", JWKS: jwks(t)})
				if verb == "update" {
					f.settles("west")
					f.plans.says(withPeer("logs"), nil)
				}
				before := f.condition()
				undo := f.refuses(verb, providers.Resource, test.err)
				again, err := f.once("west")
				reason, message := f.Fault(westUID)
				switch test.want {
				case "":
					require.Error(t, err)
					assert.Equal(t, before, f.condition())
					assert.Empty(t, reason)
				case "pending", "deleting":
					require.NoError(t, err)
					assert.Empty(t, reason)
				default:
					require.NoError(t, err)
					assert.Equal(t, rejectedFor, again)
					assert.Equal(t, "False ProviderRejected", f.condition())
					assert.Contains(t, f.message(), "("+test.want+")")
					assert.NotContains(t, f.message(), secret)
					assert.Equal(t, "ProviderRejected", reason)
					assert.Equal(t, f.message(), message)
				}
				undo()
				f.settles("west")
				assert.Equal(t, "False ProviderPending", f.condition())
				reason, _ = f.Fault(westUID)
				assert.Empty(t, reason)
			})
		}
	}
}

// An object that was made meanwhile, and that no informer shows yet, is looked at.
func TestMadeMeanwhile(t *testing.T) {
	f := newFixture(t)
	f.publishes(&protocol.Issuer{URL: "https://kubernetes.default.svc", JWKS: jwks(t)})
	f.shown()
	f.refuses("create", providers.Resource, apierrors.NewAlreadyExists(providers.GroupResource(), "peer-west"))
	f.stop() // the informers stay as they are
	f.server.puts(providers, foreignProvider())
	_, err := f.sync(t.Context(), cache.ObjectName{Name: "west"})
	require.NoError(t, err)
	assert.Equal(t, "False ForeignProvider", f.condition())
	assert.Equal(t, types.UID("foreign"), f.provider().UID)
}

// It looks when a plan changes and when somebody touches a provider.
func TestRun(t *testing.T) {
	before := goleak.IgnoreCurrent()
	f := newFixture(t)
	f.publishes(&protocol.Issuer{URL: "https://kubernetes.default.svc", JWKS: jwks(t)})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	eventually := func(so func() bool) {
		t.Helper()
		require.Eventually(t, so, patience, time.Millisecond)
	}
	eventually(func() bool { return f.condition() == "False ProviderPending" })
	f.judges(metav1.ConditionTrue, "InUse", "")
	eventually(func() bool { return f.condition() == "True ProviderReady" })
	require.NoError(t, f.server.Tracker().Delete(providers, "", "peer-west"))
	eventually(func() bool { return f.condition() == "False ProviderPending" && f.provider() != nil })
	f.plans.says(withPeer("logs"), nil)
	eventually(func() bool { return len(f.provider().Spec.Audiences) == 1 })

	// One that is left of a ClusterPeer that is gone.
	stray := wanted{peer: &peeringv1alpha1.ClusterPeer{ObjectMeta: metav1.ObjectMeta{Name: "stray", UID: "s"}}}.build(f.ledger.GrantKey())
	f.server.puts(providers, stray)
	eventually(func() bool {
		_, err := f.server.Tracker().Get(providers, "", "peer-stray")
		return apierrors.IsNotFound(err)
	})
	cancel()
	require.NoError(t, <-ended)
	f.stop()
	goleak.VerifyNone(t, before)
}
