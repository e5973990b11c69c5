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
	"fmt"
	"maps"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	rbacinformers "k8s.io/client-go/informers/rbac/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/record"
)

const (
	// byPeer finds objects by the name of the ClusterPeer that their label has.
	byPeer = "peer"
	// arrival is how long what we did ourselves may take to be shown by an informer.
	// After that the server is asked: what was changed by others meanwhile may never be.
	arrival = 20 * time.Second
)

// view is the objects of the host cluster that bear our label, as the informers show them;
// what this process itself made, found or deleted counts before it is shown.
type view struct {
	informers map[string]cache.SharedIndexInformer // by kind
	clock     clock.PassiveClock

	lock    sync.Mutex
	made    map[ref]recent
	gone    map[types.UID]time.Time // until when
	pruneAt time.Time
}

// recent is an object that was made or found, and not shown yet.
type recent struct {
	object
	until time.Time
}

// newView fails if an informer has been stopped, or was made a view of before.
func newView(objects rbacinformers.Interface, clk clock.PassiveClock) (*view, error) {
	v := &view{
		informers: map[string]cache.SharedIndexInformer{
			record.KindRole:               objects.Roles().Informer(),
			record.KindRoleBinding:        objects.RoleBindings().Informer(),
			record.KindClusterRole:        objects.ClusterRoles().Informer(),
			record.KindClusterRoleBinding: objects.ClusterRoleBindings().Informer(),
		},
		clock: clk,
		made:  map[ref]recent{},
		gone:  map[types.UID]time.Time{},
	}
	for kind, informer := range v.informers {
		if err := informer.AddIndexers(cache.Indexers{byPeer: peersOf}); err != nil {
			return nil, fmt.Errorf("could not index objects of kind %s: %w", kind, err)
		}
	}
	return v, nil
}

// peersOf is what an object is indexed by, also if it has no such label.
func peersOf(found any) ([]string, error) {
	if live, ok := found.(metav1.Object); ok {
		return []string{live.GetLabels()[peeringv1alpha1.LabelPeer]}, nil
	}
	return nil, nil
}

// peers returns the names of all ClusterPeers that objects are labelled with.
func (v *view) peers() []string {
	var all []string
	for _, informer := range v.informers {
		all = append(all, informer.GetIndexer().ListIndexFuncValues(byPeer)...)
	}
	return all
}

// get returns an object, not to be changed, or nil. One without our label is not seen.
func (v *view) get(r ref) object {
	v.lock.Lock()
	mine, made := v.made[r]
	v.lock.Unlock()
	if made && v.clock.Now().Before(mine.until) {
		return mine.object
	}
	informer, known := v.informers[r.kind]
	if !known {
		return nil
	}
	found, there, err := informer.GetIndexer().GetByKey(cache.NewObjectName(r.namespace, r.name).String())
	if err != nil || !there {
		return nil
	}
	live, ok := found.(object)
	if !ok || v.isGone(live.GetUID()) {
		return nil
	}
	return live
}

// labelled calls each with the objects that bear the name of a ClusterPeer.
func (v *view) labelled(peer string, each func(r ref, live object)) {
	for kind, informer := range v.informers {
		found, err := informer.GetIndexer().ByIndex(byPeer, peer)
		if err != nil {
			continue // there is no such index, which cannot be
		}
		for _, one := range found {
			if live, ok := one.(object); ok && !v.isGone(live.GetUID()) {
				each(ref{kind, live.GetNamespace(), live.GetName()}, live)
			}
		}
	}
}

func (v *view) isGone(uid types.UID) bool {
	v.lock.Lock()
	defer v.lock.Unlock()
	until, gone := v.gone[uid]
	return gone && v.clock.Now().Before(until)
}

// makes notes that this process made an object, or had it from the server.
func (v *view) makes(r ref, live object) {
	v.lock.Lock()
	defer v.lock.Unlock()
	v.prune()
	v.made[r] = recent{live, v.clock.Now().Add(arrival)}
}

// removes notes that this process deleted an object.
func (v *view) removes(r ref, uid string) {
	v.lock.Lock()
	defer v.lock.Unlock()
	v.prune()
	if mine, made := v.made[r]; made && string(mine.GetUID()) == uid {
		delete(v.made, r)
	}
	v.gone[types.UID(uid)] = v.clock.Now().Add(arrival)
}

// prune forgets, now and then, what is not waited for any more.
func (v *view) prune() {
	now := v.clock.Now()
	if now.Before(v.pruneAt) {
		return
	}
	v.pruneAt = now.Add(arrival)
	maps.DeleteFunc(v.made, func(_ ref, mine recent) bool { return !now.Before(mine.until) })
	maps.DeleteFunc(v.gone, func(_ types.UID, until time.Time) bool { return !now.Before(until) })
}

// shows notes that an informer shows an object, and tells whether that is news.
func (v *view) shows(kind string, live object) (news bool) {
	r := ref{kind, live.GetNamespace(), live.GetName()}
	v.lock.Lock()
	defer v.lock.Unlock()
	if live.GetDeletionTimestamp() != nil {
		delete(v.gone, live.GetUID()) // it is held by a finalizer
	}
	mine, made := v.made[r]
	if !made {
		return true
	}
	if mine.GetUID() != live.GetUID() {
		if isNewer(live, mine) {
			delete(v.made, r)
		}
		return true
	}
	delete(v.made, r)
	return live.GetResourceVersion() != mine.GetResourceVersion()
}

// isNewer tells whether an object is as it was after another one was.
func isNewer(a, b object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order > 0
}

// hides notes that an informer does not show an object any more, and tells whether that is
// news.
func (v *view) hides(kind string, live object) (news bool) {
	r := ref{kind, live.GetNamespace(), live.GetName()}
	v.lock.Lock()
	defer v.lock.Unlock()
	if mine, made := v.made[r]; made && mine.GetUID() == live.GetUID() {
		delete(v.made, r)
	}
	_, gone := v.gone[live.GetUID()]
	delete(v.gone, live.GetUID())
	return !gone
}
