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
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/record"
)

const (
	// ReasonForeignSecret is the reason of the Event about a Secret that somebody else made
	// where ours is to be.
	ReasonForeignSecret = "ForeignSecret"
	// eventAction is what the controller was doing when it recorded an Event.
	eventAction = "Reconcile"

	// requestTimeout bounds one request to the host cluster.
	requestTimeout = 10 * time.Second
	// lookAgain is how long what was found is taken for what there is. There is no right to
	// watch Secrets.
	lookAgain = 5 * time.Minute
	// tryAgain is when a Secret is looked at again that somebody else changed meanwhile.
	tryAgain = time.Second
)

// errGone means that a Secret was deleted since it was read.
var errGone = errors.New("the Secret is gone")

// secrets keeps the Secrets for workloads that dial peers themselves.
type secrets struct {
	api      corev1client.SecretInterface
	recorder events.EventRecorder
	clock    clock.WithTicker

	lock sync.Mutex
	// seen are what was found or written last, by the names of Secrets.
	seen map[string]sight
}

// sight is what was found or written.
type sight struct {
	at time.Time
	// of is what it was to be: the ClusterPeer, the certificate and the trust, each of
	// which has another key with another content. The zero one is no Secret.
	of content
	// foreign is the UID of one that somebody else made.
	foreign types.UID
}

// content is all that what is in a Secret depends on.
type content struct{ peerUID, certificate, trust string }

func newSecrets(api corev1client.SecretInterface, recorder events.EventRecorder, clk clock.WithTicker) *secrets {
	return &secrets{api: api, recorder: recorder, clock: clk, seen: map[string]sight{}}
}

// show has the Secret of a ClusterPeer hold the data key in use, or not be there as long as
// there is none. It returns when it is to be looked at again.
func (s *secrets) show(ctx context.Context, peer *peeringv1alpha1.ClusterPeer, remote *record.Remote) (again time.Duration, err error) {
	if remote.Data == nil {
		return s.remove(ctx, peer.Name)
	}
	wanted := build(peer, remote)
	of := content{string(peer.UID), string(remote.Data.Certificate), string(wanted.Data[keyTrust])}
	before := s.before(wanted.Name)
	if left := s.left(before, of); left > 0 {
		return left, nil
	}
	live, err := s.get(ctx, wanted.Name)
	switch {
	case err != nil:
		return 0, err
	case live == nil:
		err = s.create(ctx, wanted)
	case !isOurs(live):
		s.warn(peer, before, live)
		return s.saw(wanted.Name, sight{of: of, foreign: live.UID}), nil
	case !canChange(live):
		if err = s.delete(ctx, live); err == nil {
			err = s.create(ctx, wanted)
		}
	default:
		if next := changed(live, wanted); next != nil {
			err = s.update(ctx, next)
		}
	}
	if isRace(err) {
		return tryAgain, nil
	}
	if err != nil {
		return 0, err
	}
	return s.saw(wanted.Name, sight{of: of}), nil
}

// remove deletes the Secret of a ClusterPeer, which may be gone, if it is ours. It returns
// when it is to be looked at again.
func (s *secrets) remove(ctx context.Context, peer string) (again time.Duration, err error) {
	name := SecretName(peer)
	if s.left(s.before(name), content{}) > 0 {
		return 0, nil // nobody but us makes one of ours
	}
	live, err := s.get(ctx, name)
	if err == nil && live != nil && isOurs(live) {
		err = s.delete(ctx, live)
	}
	if isRace(err) {
		return tryAgain, nil
	}
	if err != nil {
		return 0, err
	}
	s.saw(name, sight{})
	return 0, nil
}

// forget what was found: another replica may have changed it meanwhile.
func (s *secrets) forget() {
	s.lock.Lock()
	defer s.lock.Unlock()
	clear(s.seen)
}

// before returns what was found last.
func (s *secrets) before(name string) sight {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.seen[name]
}

// left returns for how long what was found is still taken for what there is, if it is what
// it is to be.
func (s *secrets) left(before sight, of content) time.Duration {
	if before.at.IsZero() || before.of != of {
		return 0
	}
	return max(0, lookAgain-s.clock.Since(before.at))
}

// saw notes what was found or written.
func (s *secrets) saw(name string, now sight) (again time.Duration) {
	s.lock.Lock()
	defer s.lock.Unlock()
	now.at = s.clock.Now()
	s.seen[name] = now
	// What is not to be there is not looked at for ever.
	for name, one := range s.seen {
		if one.of == (content{}) && now.at.Sub(one.at) >= lookAgain {
			delete(s.seen, name)
		}
	}
	return lookAgain
}

// warn records an Event about a Secret that is not ours, once.
func (s *secrets) warn(peer *peeringv1alpha1.ClusterPeer, before sight, live *corev1.Secret) {
	if before.foreign == live.UID && before.of.peerUID == string(peer.UID) {
		return
	}
	regarding := peeringv1alpha1.Reference("ClusterPeer", peer.Name, peer.UID)
	s.recorder.Eventf(regarding, nil, corev1.EventTypeWarning, ReasonForeignSecret, eventAction, "%s",
		"Secret "+live.Namespace+"/"+live.Name+" was not made by Entente and is left as it is: the certificate by which workloads dial the other cluster themselves is not shown.")
}

// get returns a Secret, or nil.
func (s *secrets) get(ctx context.Context, name string) (*corev1.Secret, error) {
	var live *corev1.Secret
	err := quietly(ctx, "get", name, func(ctx context.Context) (err error) {
		live, err = s.api.Get(ctx, name, metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return live, err
}

func (s *secrets) create(ctx context.Context, wanted *corev1.Secret) error {
	return quietly(ctx, "create", wanted.Name, func(ctx context.Context) error {
		_, err := s.api.Create(ctx, wanted, metav1.CreateOptions{FieldManager: FieldManager})
		return err
	})
}

// update fails if somebody else has changed or deleted the Secret since it was read.
func (s *secrets) update(ctx context.Context, next *corev1.Secret) error {
	err := quietly(ctx, "update", next.Name, func(ctx context.Context) error {
		_, err := s.api.Update(ctx, next, metav1.UpdateOptions{FieldManager: FieldManager})
		return err
	})
	if apierrors.IsNotFound(err) {
		return errGone
	}
	return err
}

// delete deletes a Secret as it was read, and no other one.
func (s *secrets) delete(ctx context.Context, live *corev1.Secret) error {
	only := metav1.NewUIDPreconditions(string(live.UID))
	only.ResourceVersion = &live.ResourceVersion
	err := quietly(ctx, "delete", live.Name, func(ctx context.Context) error {
		return s.api.Delete(ctx, live.Name, metav1.DeleteOptions{Preconditions: only})
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// isRace tells whether somebody else was quicker.
func isRace(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || errors.Is(err, errGone)
}

// quietly makes one request about a Secret. The client logs nothing of it: at high verbosity
// it logs bodies. Of an answer the error says the reason only: the rest may have been made of
// a Secret.
func quietly(ctx context.Context, verb, name string, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(klog.NewContext(ctx, logr.Discard()), requestTimeout)
	defer cancel()
	err := request(ctx)
	var network *url.Error
	switch reason := apierrors.ReasonForError(err); {
	case err == nil:
		return nil
	case reason != metav1.StatusReasonUnknown:
		err = &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Reason: reason, Message: "the API answered " + string(reason)}}
	case !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) && !errors.As(err, &network):
		err = errors.New("the answer of the API was not understood")
	}
	return fmt.Errorf("could not %s Secret %s: %w", verb, name, err)
}
