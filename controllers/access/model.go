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

package access

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"

	informers "entente.dev/entente/apis/generated/informers/externalversions/peering/v1alpha1"
	listers "entente.dev/entente/apis/generated/listers/peering/v1alpha1"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/rules"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// ErrUnknown means that it is not known yet what is to be. Whoever gets it leaves all as
// it is, and asks again in a few seconds.
var ErrUnknown = errors.New("it is not known yet what the host cluster and the ledger hold")

// Projects tells what projects this cluster has.
type Projects interface {
	// Current returns what is known, nil if nothing is yet.
	Current() ProjectSet
	// Subscribe has changed called after that changed. It returns how to end that.
	Subscribe(changed func()) (cancel func())
}

// ProjectSet is the projects of this cluster at one moment (G4).
type ProjectSet interface {
	// Labelled returns the projects of labelled namespaces, in order of their names.
	Labelled() []Project
	// Get returns a project by name, however it is declared.
	Get(name string) (Project, bool)
}

// Config is what the model needs from outside. What is not said to be optional is
// required.
type Config struct {
	// ClusterPeers and Capabilities tell which there are. They are started by their
	// owner, after New.
	ClusterPeers informers.ClusterPeerInformer
	Capabilities informers.PeeringCapabilityInformer
	// Ledger tells what the peers offer, and whether there is a peering.
	Ledger record.Reader
	// Resources and Projects are those of the host cluster. Both or neither: without a
	// host cluster no capability is valid, and there is no project.
	Resources rules.Source
	Projects  Projects
}

// Model makes plans.
type Model struct {
	config       Config
	capabilities listers.PeeringCapabilityLister
	clusterPeers cache.Indexer

	lock     sync.Mutex
	verdicts map[string]verdict // by name of the PeeringCapability
}

// verdict is what a PeeringCapability was found to be. It counts for one generation of it
// and for one state of the host cluster.
type verdict struct {
	uid        types.UID
	generation int64
	resources  rules.Resources
	rules.Verdict
}

// byCapability finds ClusterPeers by the capabilities that they name.
const byCapability = "capability"

// New makes the model. It fails if the config is not complete, or the informer of
// ClusterPeers has been stopped.
func New(config Config) (*Model, error) {
	if config.ClusterPeers == nil || config.Capabilities == nil || config.Ledger == nil || (config.Resources == nil) != (config.Projects == nil) {
		return nil, errors.New("could not make the model of access: its config is not complete")
	}
	informer := config.ClusterPeers.Informer()
	err := informer.AddIndexers(cache.Indexers{byCapability: func(object any) ([]string, error) {
		if peer, ok := object.(*peeringv1alpha1.ClusterPeer); ok {
			return peer.Spec.Capabilities, nil
		}
		return nil, nil
	}})
	if err != nil {
		return nil, fmt.Errorf("could not make the model of access: %w", err)
	}
	config.Capabilities.Informer() // so that it is started
	return &Model{
		config:       config,
		capabilities: config.Capabilities.Lister(),
		clusterPeers: informer.GetIndexer(),
		verdicts:     map[string]verdict{},
	}, nil
}

// Plan returns what is to be between this cluster and the peer of a ClusterPeer. It fails
// with ErrUnknown.
func (m *Model) Plan(peer *peeringv1alpha1.ClusterPeer) (*Plan, error) {
	plan := &Plan{Name: peer.Name, UID: string(peer.UID)}
	if peer.DeletionTimestamp != nil {
		return plan, nil // from that moment on (S3)
	}
	if m.config.Ledger.Fresh() != nil {
		return nil, ErrUnknown
	}
	rec := m.config.Ledger.Peer(plan.UID)
	access := rec.GivesAccess() && peer.Spec.Expects(rec.Remote.ClusterUUID)
	resources, projects, known := m.host()
	switch {
	case !known && access:
		return nil, ErrUnknown
	case !known:
		// What ended needs no host cluster to be taken back.
		plan.OfferUnknown = true
		return plan, nil
	}
	if err := m.offer(plan, peer, resources, projects); err != nil {
		return nil, err
	}
	if access {
		plan.ClusterUUID, plan.Unreachable = rec.Remote.ClusterUUID, !rec.Remote.Unreachable.IsZero()
		plan.match(&rec.Offer.Body, &rec.Remote.Offer.Body)
	}
	plan.sort()
	return plan, nil
}

// host returns what the host cluster has, nil without one. known is false while that cannot
// be told.
func (m *Model) host() (resources rules.Resources, projects ProjectSet, known bool) {
	if !m.config.Capabilities.Informer().HasSynced() {
		return nil, nil, false
	}
	if m.config.Resources == nil {
		return nil, nil, true
	}
	resources, projects = m.config.Resources.Current(), m.config.Projects.Current()
	return resources, projects, resources != nil && projects != nil
}

// offer fills in what the other cluster is to be offered.
func (m *Model) offer(plan *Plan, peer *peeringv1alpha1.ClusterPeer, resources rules.Resources, projects ProjectSet) error {
	for _, name := range slices.Sorted(slices.Values(peer.Spec.Capabilities)) {
		object, err := m.capabilities.Get(name)
		switch {
		case apierrors.IsNotFound(err):
			plan.Ineffective = append(plan.Ineffective, Ineffective{name, NotFound})
			continue
		case err != nil:
			return fmt.Errorf("could not get a PeeringCapability: %w", err)
		}
		found := m.judge(object, resources)
		if found.Status != metav1.ConditionTrue || object.DeletionTimestamp != nil {
			plan.Ineffective = append(plan.Ineffective, Ineffective{name, NotValid})
			continue
		}
		plan.Offered = append(plan.Offered, Capability{
			Name: name, Version: object.Spec.Version, Scope: found.Scope, Consumers: object.Spec.Consumers,
			Namespaced: found.Namespaced, Cluster: found.Cluster,
		})
	}
	switch {
	case projects == nil:
	case len(peer.Spec.Projects) == 0:
		plan.Projects = projects.Labelled()
	default:
		for _, name := range slices.Sorted(slices.Values(peer.Spec.Projects)) {
			if project, found := projects.Get(name); found {
				plan.Projects = append(plan.Projects, project)
			}
		}
	}
	return nil
}

// judge remembers the last verdict on each: plans are made much more often than
// capabilities change.
func (m *Model) judge(object *peeringv1alpha1.PeeringCapability, resources rules.Resources) rules.Verdict {
	m.lock.Lock()
	defer m.lock.Unlock()
	last, known := m.verdicts[object.Name]
	if known && last.uid == object.UID && last.generation == object.Generation && last.resources == resources {
		return last.Verdict
	}
	found := rules.Judge(&object.Spec, resources)
	m.verdicts[object.Name] = verdict{object.UID, object.Generation, resources, found}
	return found
}

// match fills in what both clusters offer. ours is what the other cluster has been offered:
// if what it is to be offered is more, and goes beyond the limits, it never will be.
func (p *Plan) match(ours, theirs *protocol.Offer) {
	said, versions := versionsOf(ours), versionsOf(theirs)
	for _, capability := range p.Offered {
		version, offered := versions[capability.Name]
		switch {
		case said[capability.Name] != capability.Version:
			// It is about to be offered, or the owner is told why not.
		case !offered:
			p.Ineffective = append(p.Ineffective, Ineffective{capability.Name, NotOffered})
		case !compatible(capability.Version, version):
			p.Ineffective = append(p.Ineffective, Ineffective{capability.Name, VersionMismatch})
		default:
			p.Effective = append(p.Effective, capability)
		}
	}
	told, remote := namespacesOf(ours), namespacesOf(theirs)
	for _, project := range p.Projects {
		_, offered := told[project.Name]
		namespaces, both := remote[project.Name]
		if offered && both {
			local := sets.New(told[project.Name]...).Intersection(sets.New(project.Namespaces...))
			p.Paired = append(p.Paired, Pair{Name: project.Name, Local: sets.List(local), Remote: namespaces})
		}
	}
}

// versionsOf returns the versions of the capabilities in an offer, by their names.
func versionsOf(offer *protocol.Offer) map[string]string {
	versions := make(map[string]string, len(offer.Capabilities))
	for _, capability := range offer.Capabilities {
		versions[capability.Name] = capability.Version
	}
	return versions
}

// namespacesOf returns the namespaces of the projects in an offer, by their names.
func namespacesOf(offer *protocol.Offer) map[string][]string {
	namespaces := make(map[string][]string, len(offer.Projects))
	for _, project := range offer.Projects {
		namespaces[project.Name] = project.Namespaces
	}
	return namespaces
}
