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
	"k8s.io/apimachinery/pkg/util/sets"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/record"
)

// listing is an object that the ledger lists, and the capability under which it does.
type listing struct {
	capability string
	record.GrantedObject
}

// situation is all that a decision is made of.
type situation struct {
	owner  owner
	wanted []pair
	// listed is what the ledger lists for the owner.
	listed map[ref]listing
	// unknown are those that are listed and not seen, and of which the server does not say
	// how they are.
	unknown sets.Set[ref]
	// free are those that are listed as foreign, and under whose name nothing is any more.
	free map[ref]bool
	// get returns an object that is there, or nil.
	get func(ref) object
	// labelled calls each with the objects that bear the owner's name.
	labelled func(each func(r ref, live object))
	// isListed tells whether the ledger lists an object for a ClusterPeer.
	isListed func(peerUID string, r ref) bool
	key      *record.GrantKey
}

// removal is an object that is to go.
type removal struct {
	ref
	// uid is that of the object, empty if that is not known: one of that name goes if it
	// bears the right proof.
	uid string
	// listed is how the ledger has it, nil: not at all.
	listed *listing
	// wanted says that one of that name is to be.
	wanted bool
	// version is that of the object as it was seen, without finalizers: deleted as it was
	// then, it is gone. Empty if it has some, or was not seen.
	version string
}

// half is one of the two objects of a pair.
type half struct {
	ref
	// uid is that of the object that is there, as it is to be; empty: none is.
	uid string
	// foreign says that there cannot be one.
	foreign bool
}

// task is a pair that is to be made, or listed, as far as it is not.
type task struct {
	pair
	role, binding half
}

// decision is what is to be done, in this order.
type decision struct {
	remove []removal
	// foreign are listed and have another object in their place, or stand where one is to
	// be.
	foreign []listing
	make    []task
}

// state is how an object is.
type state int

const (
	missing state = iota
	right
	adoptable // right, and to be listed
	wrong     // ours and to go: it is not as it is to be, or is nowhere to be seen
	foreign
)

// unwanted returns what is ours and not to be.
func (s *situation) unwanted() []removal {
	var all []removal
	wanted := make(map[ref]bool, 2*len(s.wanted))
	for _, p := range s.wanted {
		wanted[p.role], wanted[p.binding] = true, true
	}
	for r, entry := range s.listed {
		if !wanted[r] {
			all = append(all, s.removalOf(r, entry.UID, false))
		}
	}
	s.labelled(func(r ref, live object) {
		if _, listed := s.listed[r]; !listed && !wanted[r] && s.isOrphan(r, live) {
			all = append(all, s.removalOf(r, string(live.GetUID()), false))
		}
	})
	return all
}

// unseen returns what is wanted and listed by its UID, and not seen.
func (s *situation) unseen() []ref {
	var all []ref
	for _, p := range s.wanted {
		for _, r := range []ref{p.role, p.binding} {
			if s.listed[r].UID != "" && s.get(r) == nil {
				all = append(all, r)
			}
		}
	}
	return all
}

// decide says what is to be done.
func (s *situation) decide() decision {
	d := decision{remove: s.unwanted()}
	for _, p := range s.wanted {
		s.decidePair(p, &d)
	}
	return d
}

// unblocked returns the pairs in whose way nothing foreign is any more. One of which
// something is still to go is to wait.
func (s *situation) unblocked() []task {
	var tasks []task
	for _, p := range s.wanted {
		if !s.free[p.role] && !s.free[p.binding] {
			continue
		}
		var d decision
		if s.decidePair(p, &d); len(d.remove) == 0 {
			tasks = append(tasks, d.make...)
		}
	}
	return tasks
}

// isOrphan tells whether an object was made by us and is listed nowhere: the ledger was
// restored.
func (s *situation) isOrphan(r ref, live object) bool {
	uid := live.GetAnnotations()[peeringv1alpha1.AnnotationPeerUID]
	return isProven(live, r, uid, s.key) && (uid == s.owner.uid || !s.isListed(uid, r))
}

func (s *situation) decidePair(p pair, d *decision) {
	role, roleUID := s.look(p, p.role)
	binding, bindingUID := s.look(p, p.binding)
	switch {
	case role == foreign || binding == foreign:
		s.giveUp(p.capability, p.role, role, roleUID, d)
		s.giveUp(p.capability, p.binding, binding, bindingUID, d)
		return
	case role == right && binding == right:
		return
	}
	t := task{pair: p, role: half{ref: p.role}, binding: half{ref: p.binding}}
	switch role {
	case right, adoptable:
		t.role.uid = roleUID
	case wrong:
		d.remove = append(d.remove, s.removalOf(p.role, roleUID, true))
	}
	switch {
	case binding == missing:
	case t.role.uid != "" && binding != wrong:
		t.binding.uid = bindingUID
	default:
		// Nor may it stay while its role is not there: another one could be put in the
		// place of that.
		d.remove = append(d.remove, s.removalOf(p.binding, bindingUID, true))
	}
	d.make = append(d.make, t)
}

// giveUp is for both halves of a pair of which one is foreign: that is listed as such, and
// one that is ours goes.
func (s *situation) giveUp(capability string, r ref, is state, uid string, d *decision) {
	entry, listed := s.listed[r]
	switch is {
	case foreign:
		if !listed {
			entry = listing{capability, r.granted("")}
		}
		if !entry.Foreign {
			d.foreign = append(d.foreign, entry)
		}
	case missing:
		if listed {
			d.remove = append(d.remove, s.removalOf(r, "", false))
		}
	default:
		d.remove = append(d.remove, s.removalOf(r, uid, false))
	}
}

// look says how an object of a pair is, and the UID of the one that is there, or was.
func (s *situation) look(p pair, r ref) (state, string) {
	entry, listed := s.listed[r]
	live := s.get(r)
	switch {
	case entry.Foreign && !s.free[r]:
		return foreign, ""
	case listed && entry.UID != "" && live == nil && s.unknown.Has(r):
		return right, entry.UID // to be looked at again
	case listed && entry.UID != "" && live == nil:
		return wrong, entry.UID // it may have lost its label
	case listed && entry.UID != "" && string(live.GetUID()) != entry.UID:
		return foreign, ""
	case live == nil:
		return missing, ""
	case !listed || entry.UID == "":
		if !isProven(live, r, p.owner.uid, s.key) {
			return foreign, ""
		}
		if p.matches(live, r, s.key) {
			return adoptable, string(live.GetUID())
		}
	case p.matches(live, r, s.key):
		return right, entry.UID
	}
	return wrong, string(live.GetUID())
}

func (s *situation) removalOf(r ref, uid string, wanted bool) removal {
	out := removal{ref: r, uid: uid, wanted: wanted}
	if entry, listed := s.listed[r]; listed {
		out.listed = &entry
	}
	if live := s.get(r); live != nil && string(live.GetUID()) == uid {
		out.version = freeVersion(live)
	}
	return out
}

// freeVersion returns the version of an object that no finalizer holds, or nothing.
func freeVersion(live object) string {
	if len(live.GetFinalizers()) > 0 {
		return ""
	}
	return live.GetResourceVersion()
}
