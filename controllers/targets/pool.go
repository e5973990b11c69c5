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

package targets

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/controllers/target"
	"entente.dev/entente/peering/client"
)

// ReleaseServiceAccount is the ServiceAccount as which Releases are applied to the cluster that
// Entente runs in: that of the namespace of the Release, never Entente itself (C4).
const ReleaseServiceAccount = "entente-release"

// Limits of requests to a cluster, unless a Cluster says otherwise.
const (
	defaultQPS     = 50
	defaultBurst   = 100
	defaultTimeout = 10 * time.Second

	// decoding is how many answers of targets are decoded at once: each may take some 60 MiB.
	decoding = 4
)

// Config is what a Pool needs from outside.
type Config struct {
	// Credentials reads what Clusters name. Required.
	Credentials Credentials
	// Host reaches the cluster that Entente runs in, as Entente; nil: there is none.
	Host *rest.Config
	// OwnNamespaces are Entente's own. What is in them is not for Clusters.
	OwnNamespaces []string
	// Allow is what kubeconfigs may ask for.
	Allow target.Allowances
	// Policy says which addresses may be dialled.
	Policy client.Policy
	// TokenAndCert has the auth types token and clientCert work.
	TokenAndCert bool
}

// Pool keeps the connections to target clusters. It is safe for concurrent use.
type Pool struct {
	config Config

	lock    sync.Mutex
	entries map[types.UID]*entry // by the UID of the Cluster
	closed  bool
	// gate is passed by those who decode what a target answered.
	gate        chan struct{}
	subscribers map[*func(cache.ObjectName)]struct{}
}

// entry is the connection of one Cluster.
type entry struct {
	name        cache.ObjectName // of the Cluster
	fingerprint [sha256.Size]byte
	// probed is what is probed by; nil: no connection could be set up.
	probed *target.Client
	// applied is what Releases are applied by; the same one but for the cluster that Entente
	// runs in.
	applied *target.Client
	// found is what the last probe that went well found by this connection, nil for none;
	// usable, whether the cluster counts as reachable; known, whether that is known.
	found         *target.Found
	usable, known bool
}

func (e *entry) close() {
	if e.probed == nil {
		return // there never was a connection
	}
	e.probed.Close()
	if e.applied != e.probed {
		e.applied.Close()
	}
}

// NewPool makes a pool without connections.
func NewPool(config Config) (*Pool, error) {
	if config.Credentials == nil {
		return nil, errors.New("could not keep connections to clusters: nothing reads their credentials")
	}
	return &Pool{config: config, entries: map[types.UID]*entry{}, subscribers: map[*func(cache.ObjectName)]struct{}{}, gate: make(chan struct{}, decoding)}, nil
}

// Supports says why a Cluster is of a kind that is not implemented; nil: it is not of one.
func (p *Pool) Supports(spec *corev1alpha1.ClusterSpec) *Problem {
	return Unsupported(spec, p.config.TokenAndCert)
}

// Connect returns the client to probe a Cluster with: the one that there is, or a new one if
// what the Cluster and its Secrets say has changed; the old one is closed then. It fails with a
// *Problem. A Cluster that is being deleted goes on with the client that it has when its
// Secrets are gone before it.
func (p *Pool) Connect(ctx context.Context, cluster *corev1alpha1.Cluster) (*target.Client, error) {
	if problem := p.Supports(&cluster.Spec); problem != nil {
		p.Forget(cluster.UID)
		return nil, problem
	}
	establish, fingerprint, err := p.plan(ctx, cluster)
	if err != nil {
		var problem *Problem
		if kept := p.keep(cluster); kept != nil && cluster.DeletionTimestamp != nil && errors.As(err, &problem) && problem.lost {
			return kept, nil
		}
		return nil, err
	}
	if kept := p.get(cluster.UID); kept != nil && kept.fingerprint == fingerprint {
		return kept.probed, nil
	}
	made, err := establish()
	if err != nil {
		return nil, &Problem{Message: "The connection cannot be set up."}
	}
	made.fingerprint, made.name = fingerprint, cache.MetaObjectToName(cluster)
	return p.put(cluster.UID, made)
}

// plan reads how a Cluster is connected to now. It returns how to do that, and what tells it
// from another way.
func (p *Pool) plan(ctx context.Context, cluster *corev1alpha1.Cluster) (func() (*entry, error), [sha256.Size]byte, error) {
	if cluster.Spec.ConnectionMode == corev1alpha1.ConnectionModeInCluster {
		if p.config.Host == nil {
			return nil, [sha256.Size]byte{}, &Problem{Message: "spec.connectionMode: Entente runs in no cluster."}
		}
		return func() (*entry, error) { return p.within(cluster.Namespace) }, sha256.Sum256([]byte("host\x00" + cluster.Namespace)), nil
	}
	access, err := p.access(ctx, cluster)
	if err != nil {
		return nil, [sha256.Size]byte{}, err
	}
	config := p.limits(cluster.Spec.Agentless)
	secret := access.Fingerprint()
	hash := sha256.New()
	hash.Write(secret[:])
	// Fixed sizes: nothing can be taken for something else.
	if err := binary.Write(hash, binary.BigEndian, []int64{int64(config.QPS), int64(config.Burst), int64(config.Timeout)}); err != nil {
		return nil, [sha256.Size]byte{}, fmt.Errorf("could not tell a connection from another: %w", err)
	}
	return func() (*entry, error) {
		made, err := target.New(access, config)
		if err != nil {
			return nil, err
		}
		return &entry{probed: made, applied: made}, nil
	}, [sha256.Size]byte(hash.Sum(nil)), nil
}

// limits are those of requests to a cluster. With a kubeconfig those of the Cluster are not
// used (C1).
func (p *Pool) limits(agentless *corev1alpha1.ClusterAgentlessModeSpec) target.Config {
	config := target.Config{Policy: p.config.Policy, Gate: p.gate, QPS: defaultQPS, Burst: defaultBurst, Timeout: defaultTimeout}
	parameters := agentless.ConnectionParameters
	if agentless.Auth.Type == corev1alpha1.AuthTypeKubeconfig || parameters == nil {
		return config
	}
	if parameters.QPS != nil && *parameters.QPS > 0 {
		config.QPS = float32(*parameters.QPS)
	}
	if parameters.Burst != nil && *parameters.Burst > 0 {
		config.Burst = int(*parameters.Burst)
	}
	if parameters.Timeout != nil && parameters.Timeout.Duration > 0 {
		config.Timeout = parameters.Timeout.Duration
	}
	return config
}

// within connects to the cluster that Entente runs in: as Entente to probe, and as the
// ServiceAccount of a namespace to apply.
func (p *Pool) within(namespace string) (*entry, error) {
	probed, err := target.Own(p.config.Host, "")
	if err != nil {
		return nil, err
	}
	applied, err := target.Own(p.config.Host, serviceaccount.MakeUsername(namespace, ReleaseServiceAccount))
	if err != nil {
		probed.Close()
		return nil, err
	}
	return &entry{probed: probed, applied: applied}, nil
}

// keep returns the client of a Cluster, nil if there is none; then it takes down that there is
// not.
func (p *Pool) keep(cluster *corev1alpha1.Cluster) *target.Client {
	p.lock.Lock()
	defer p.lock.Unlock()
	e := p.entries[cluster.UID]
	if e == nil && !p.closed {
		e = &entry{name: cache.MetaObjectToName(cluster)}
		p.entries[cluster.UID] = e
	}
	if e == nil {
		return nil
	}
	return e.probed
}

func (p *Pool) get(uid types.UID) *entry {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.entries[uid]
}

// put takes a connection in, unless another caller has put in the same one meanwhile, and
// returns the client to probe with. What is not wanted is closed, outside of the lock.
func (p *Pool) put(uid types.UID, made *entry) (*target.Client, error) {
	p.lock.Lock()
	old, kept, closed := p.entries[uid], made, p.closed
	switch {
	case closed:
		old = made
	case old != nil && old.fingerprint == made.fingerprint:
		old, kept = made, old
	default:
		p.entries[uid] = made
	}
	p.lock.Unlock()
	if old != nil {
		old.close()
	}
	if closed {
		return nil, &Problem{Message: "Entente is stopping."}
	}
	return kept.probed, nil
}

// Note takes down how a probe by a client went, nil if Connect failed: what it found, nil for
// nothing; and whether the cluster counts as reachable, which one failure does not change. It
// does nothing if the client has been replaced meanwhile. The connection of one that does not
// count as reachable stays: what is being deleted may need it.
func (p *Pool) Note(uid types.UID, probed *target.Client, found *target.Found, usable bool) {
	p.lock.Lock()
	e := p.entries[uid]
	if e == nil || probed != nil && e.probed != probed {
		p.lock.Unlock()
		return
	}
	changed := !e.known || found != nil && (e.found == nil || e.found.UID != found.UID)
	if found != nil {
		e.found = found
	}
	usable = usable && e.found != nil
	changed = changed || e.usable != usable
	e.usable, e.known = usable, true
	subscribers := slices.Collect(maps.Keys(p.subscribers))
	p.lock.Unlock()
	if changed {
		for _, told := range subscribers {
			(*told)(e.name)
		}
	}
}

// Subscribe has changed called, quickly, with the name of each Cluster of which a probe says
// something else than the one before: that it can be used or not, or that it is another
// cluster. It returns how to end that.
func (p *Pool) Subscribe(changed func(cluster cache.ObjectName)) (cancel func()) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.subscribers[&changed] = struct{}{}
	return func() {
		p.lock.Lock()
		defer p.lock.Unlock()
		delete(p.subscribers, &changed)
	}
}

// Ready is a cluster that can be used.
type Ready struct {
	// Client is what Releases are applied by.
	Client *target.Client
	// probed is what the cluster is probed by.
	probed *target.Client
	// pool and cluster say where it is looked up again.
	pool    *Pool
	cluster types.UID
	// UID is that of its namespace kube-system, by which it is known; empty: it may not be
	// read.
	UID string
}

// Holds tells whether the last probe still says the same. It asks nobody.
func (r Ready) Holds() bool {
	now, usable, _ := r.pool.Ready(r.cluster)
	return usable && now == r
}

// IsStill asks the cluster whether it is still the one that it was when it was probed. Between
// two probes another one may have come to answer under its address. It fails if it does not
// say.
func (r Ready) IsStill(ctx context.Context) (bool, error) {
	found, err := r.probed.Objects(corev1.SchemeGroupVersion.WithResource("namespaces"), "").Get(ctx, metav1.NamespaceSystem)
	if err != nil {
		return false, fmt.Errorf("could not ask which cluster it is: %w", err)
	}
	return r.UID != "" && string(found.GetUID()) == r.UID, nil
}

// Ready returns how the cluster of a Cluster can be used, if it is usable; and whether that is
// known, as it is once it was probed.
func (p *Pool) Ready(uid types.UID) (_ Ready, usable, known bool) {
	p.lock.Lock()
	defer p.lock.Unlock()
	e := p.entries[uid]
	if e == nil || !e.usable {
		return Ready{}, false, e != nil && e.known
	}
	return Ready{Client: e.applied, probed: e.probed, pool: p, cluster: uid, UID: e.found.UID}, true, true
}

// Forget closes the connection of a Cluster that is gone.
func (p *Pool) Forget(uid types.UID) {
	p.lock.Lock()
	old := p.entries[uid]
	delete(p.entries, uid)
	p.lock.Unlock()
	if old != nil {
		old.close()
	}
}

// Open has connections made again after Close. A new pool is open.
func (p *Pool) Open() {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.closed = false
}

// Close closes all connections. Those that are made later are closed at once, until Open.
func (p *Pool) Close() {
	p.lock.Lock()
	entries := p.entries
	p.entries, p.closed = map[types.UID]*entry{}, true
	p.lock.Unlock()
	for _, e := range entries {
		e.close()
	}
}
