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
	"net/url"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/sets"

	"entente.dev/entente/controllers/loop"
)

var (
	// errHeld means that an object was deleted and is still there.
	errHeld = errors.New("the object is held by a finalizer")
	// errContested means that an object cannot be made because there is one, which cannot
	// be read or deleted because there is none, and so on.
	errContested = errors.New("somebody else makes and deletes the object")
	// errAltered means that an object was made, and is not as it was to be.
	errAltered = errors.New("admission of the host cluster changes what is made")
)

// trouble is what keeps objects from being made or deleted; of several the highest counts.
type trouble int

const (
	other trouble = iota + 1
	disturbed
	altered
	held
	forbidden
	unrecorded
	timedOut
	unavailable
)

// message is a closed set of sentences: nothing of an answer is in it (R15).
func (t trouble) message() string {
	switch t {
	case disturbed:
		return "Somebody else deletes or changes objects of Entente again and again: they are made again after a while."
	case altered:
		return "Admission of the host cluster changes what is made: such objects are deleted again."
	case held:
		return "Objects that are to go are held by finalizers, and count until those are taken off."
	case forbidden:
		return "The host cluster does not let Entente write some of the objects: it lacks the right, or an admission policy refuses them."
	case unrecorded:
		return "What is granted cannot be recorded in the ledger."
	case timedOut:
		return "The host cluster does not answer in time."
	case unavailable:
		return "The host cluster cannot be reached, or is overloaded."
	default:
		return "The host cluster refuses some of the objects."
	}
}

// troubleOf tells what an answer of the host cluster means.
func troubleOf(err error) trouble {
	switch {
	case errors.Is(err, errHeld):
		return held
	case errors.Is(err, errContested):
		return disturbed
	case errors.Is(err, errAltered):
		return altered
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err), apierrors.IsInvalid(err):
		return forbidden
	case apierrors.IsTimeout(err), apierrors.IsServerTimeout(err), errors.Is(err, context.DeadlineExceeded), utilnet.IsTimeout(err):
		return timedOut
	case apierrors.IsServiceUnavailable(err), apierrors.IsTooManyRequests(err), apierrors.IsInternalError(err), isDisconnected(err):
		return unavailable
	default:
		return other
	}
}

// isDisconnected tells whether there was no answer at all.
func isDisconnected(err error) bool { return errors.As(err, new(*url.Error)) }

// isNoNamespace tells whether an object could not be made because its namespace is going
// or gone: nothing is to be in it, and it is not worth an error.
func isNoNamespace(err error) bool {
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return true
	}
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "namespaces"
}

// progress is what has come of a round. It may be used by many at once.
type progress struct {
	// stop ends the round, when it makes no sense to go on.
	stop context.CancelFunc

	lock sync.Mutex
	// worst is the trouble there was, and err what failed first.
	worst trouble
	err   error
	// failed are where something is still there that is to go, and held what of that is
	// held by finalizers.
	failed map[place]bool
	held   sets.Set[ref]
	// foreign are those that were found to be foreign now.
	foreign map[ref]bool
	// skipped says that a namespace was going.
	skipped bool
	// paused is when the first of the pairs that have to wait may be made, 0: none has to.
	paused time.Duration
	// left says that there is more to be made, by the plan as it is then.
	left    bool
	tried   int
	made    int
	removed int
}

// place is where objects of a capability are: in a namespace or, if that is empty, in the
// whole cluster. What is still there that is to go keeps others of that place from being
// made, and of no other: who holds an object in one namespace has no say in the next.
//
// What lets Entente act as others is a place of its own.
type place struct {
	capability, namespace string
	impersonation         bool
}

// placeOf returns where an object of a capability is.
func placeOf(capability string, r ref) place {
	return place{capability, r.namespace, r.isImpersonation()}
}

func newProgress(stop context.CancelFunc) *progress {
	return &progress{stop: stop, failed: map[place]bool{}, held: sets.New[ref](), foreign: map[ref]bool{}}
}

// fails notes a failure; one that all others would have too ends the round.
func (p *progress) fails(is trouble, err error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.err != nil && errors.Is(err, context.Canceled) {
		return // because of the one before it
	}
	if p.err == nil {
		p.err = err
	}
	p.worst = max(p.worst, is)
	if is >= unrecorded {
		p.stop()
	}
}

// stays notes that something of a capability is still there that is to go.
func (p *progress) stays(in place) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.failed[in] = true
}

// holds notes that an object is held by finalizers.
func (p *progress) holds(r ref) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.held.Insert(r)
}

// waits notes that a pair is not made for that long, and what there is to say of it.
func (p *progress) waits(pause time.Duration, why trouble) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.paused = loop.Earliest(p.paused, pause)
	p.worst = max(p.worst, why)
}

// mayMake tells whether a pair may be made: nothing is left in its place that is to go, and
// no half of it was found to be foreign, which is seen to in the next round.
func (p *progress) mayMake(wanted pair) bool {
	p.lock.Lock()
	defer p.lock.Unlock()
	return !p.failed[wanted.place()] && !p.foreign[wanted.role] && !p.foreign[wanted.binding]
}

// isOver tells whether it makes no sense to go on.
func (p *progress) isOver() bool {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.worst >= unrecorded
}

// message says what the trouble is. Some of the objects that are held are named.
func (p *progress) message() string {
	if p.worst == held && len(p.held) > 0 {
		return "Objects that are to go are held by finalizers, and count until those are taken off: " + some(p.held) + "."
	}
	return p.worst.message()
}

func (p *progress) finds(foreign ref) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.foreign[foreign] = true
}

func (p *progress) skips() {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.skipped = true
}

func (p *progress) count(made, removed int) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.made += made
	p.removed += removed
}
