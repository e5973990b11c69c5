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

package projects

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"entente.dev/entente/controllers/access"
	"entente.dev/entente/controllers/signal"
)

const (
	// Name is the name of the model in logs.
	Name = "projects"
	// DefaultLabel is the key of the label that names the project of a namespace, if no
	// other is configured.
	DefaultLabel = "peering.entente.dev/project"
	// ReasonProjectConflict is the reason of the Event about a namespace that two Project
	// objects claim.
	ReasonProjectConflict = "ProjectConflict"

	// eventAction is what the model was doing when it recorded an Event.
	eventAction = "Divide"
	// settle is how long changes are collected before they are looked at together.
	settle = 100 * time.Millisecond
)

// Config is what the model needs from outside. All of it is required.
type Config struct {
	// Namespaces tells which namespaces the host cluster has. It is started by its owner.
	Namespaces coreinformers.NamespaceInformer
	// Dynamic reads Project objects, if Resources says that there are any.
	Dynamic   dynamic.Interface
	Resources Resources
	// Label is the key of the label.
	Label string
	// OwnNamespaces are those of Entente. They never belong to a project.
	OwnNamespaces []string
	// Recorder records Events about namespaces.
	Recorder events.EventRecorder
	// Clock times how long changes are collected.
	Clock clock.WithTicker
}

// Model knows the projects of this cluster.
type Model struct {
	division   division
	namespaces corelisters.NamespaceLister
	informer   cache.SharedIndexInformer
	source     *source
	recorder   events.EventRecorder
	clock      clock.WithTicker
	dirty      chan struct{} // holds one value if something is to be looked at
	signal     signal.Signal

	lock    sync.Mutex
	current *Snapshot // nil before all was read

	// disputed are the namespaces that two Project objects claim, and that was told. Used
	// by Run only.
	disputed map[types.UID]bool
}

// New makes the model and starts nothing. It fails if the config is not complete, or the
// label has no valid key.
func New(config Config) (*Model, error) {
	if config.Namespaces == nil || config.Dynamic == nil || config.Resources == nil ||
		len(config.OwnNamespaces) == 0 || config.Recorder == nil || config.Clock == nil {
		return nil, errors.New("could not make the model of projects: its config is not complete")
	}
	if faults := validation.IsQualifiedName(config.Label); len(faults) > 0 {
		return nil, fmt.Errorf("could not make the model of projects: the key of a label is like %s, and this one is not: %s", DefaultLabel, faults[0])
	}
	m := &Model{
		division:   division{label: config.Label, own: config.OwnNamespaces},
		namespaces: config.Namespaces.Lister(),
		informer:   config.Namespaces.Informer(),
		recorder:   config.Recorder,
		clock:      config.Clock,
		dirty:      make(chan struct{}, 1),
		disputed:   map[types.UID]bool{},
	}
	m.source = &source{client: config.Dynamic, resources: config.Resources, changed: m.stir}
	return m, nil
}

// Current returns what is known: nil until the namespaces were read, and the Project
// objects if the host cluster has them.
func (m *Model) Current() access.ProjectSet {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.current == nil {
		return nil
	}
	return m.current
}

// Subscribe has changed called after Current has become another one. It returns how to end
// that.
func (m *Model) Subscribe(changed func()) (cancel func()) { return m.signal.Subscribe(changed) }

// Run keeps the model true until ctx ends. It fails if the informer has been stopped. It
// may be called again after it returned.
func (m *Model) Run(ctx context.Context) error {
	logger := klog.FromContext(ctx)
	handler, err := m.informer.AddEventHandlerWithOptions(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { m.stir() },
		UpdateFunc: func(any, any) { m.stir() },
		DeleteFunc: func(any) { m.stir() },
	}, cache.HandlerOptions{Logger: &logger})
	if err != nil {
		return fmt.Errorf("could not watch namespaces: %w", err)
	}
	defer func() {
		// Fails only for a handler of another informer.
		_ = m.informer.RemoveEventHandler(handler)
	}()
	// What is begun here ends with this, however this ends.
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	defer func() { cancel(); following.Wait() }()
	following.Go(func() { m.source.run(ctx) })
	if !cache.WaitFor(ctx, Name, handler.HasSyncedChecker()) {
		return nil // ctx ended
	}
	m.stir()
	for m.await(ctx) {
		m.look(ctx)
	}
	return nil
}

// stir has everything looked at again.
func (m *Model) stir() { poke(m.dirty) }

// await waits for a change, and for what comes with it; false: ctx ended.
func (m *Model) await(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-m.dirty:
	}
	timer := m.clock.NewTimer(settle)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
	}
	select {
	case <-m.dirty: // is looked at now
	default:
	}
	return true
}

// look divides the namespaces anew.
func (m *Model) look(ctx context.Context) {
	claims, known := m.source.claims()
	if !known {
		return // it tells when they are
	}
	// Fails never: it reads from memory, and takes all.
	namespaces, _ := m.namespaces.List(labels.Everything())
	snapshot, conflicts := m.division.divide(namespaces, claims)
	m.tell(conflicts)
	if m.keep(snapshot) {
		klog.FromContext(ctx).V(2).Info("Projects changed", "labelled", len(snapshot.labelled), "all", len(snapshot.all))
		m.signal.Send()
	}
}

// keep keeps what was found, and tells whether it is something else than before.
func (m *Model) keep(snapshot *Snapshot) (changed bool) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if reflect.DeepEqual(m.current, snapshot) {
		return false
	}
	m.current = snapshot
	return true
}

// tell records an Event for each conflict that was not there before.
func (m *Model) tell(conflicts []conflict) {
	disputed := make(map[types.UID]bool, len(conflicts))
	for _, conflict := range conflicts {
		disputed[conflict.namespace.UID] = true
		if !m.disputed[conflict.namespace.UID] {
			m.recorder.Eventf(reference(conflict.namespace), nil, corev1.EventTypeWarning, ReasonProjectConflict, eventAction,
				"The Projects %s and %s both claim this namespace, so it belongs to neither (G4).", conflict.a, conflict.b)
		}
	}
	m.disputed = disputed
}

// reference names a namespace in an Event. Without a resourceVersion, so that the same
// Event about it again is a series and not another Event.
func reference(namespace *corev1.Namespace) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: namespace.Name, UID: namespace.UID}
}
