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
	"fmt"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	rbacinformers "k8s.io/client-go/informers/rbac/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"entente.dev/entente/apis/generated/clientset/versioned"
	informers "entente.dev/entente/apis/generated/informers/externalversions/peering/v1alpha1"
	listers "entente.dev/entente/apis/generated/listers/peering/v1alpha1"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/controllers/loop"
	"entente.dev/entente/peering/record"
)

const (
	// Name is the name of the controller in logs and metrics.
	Name = "grant"
	// FieldManager is the name under which the controller owns fields of a status, and the
	// objects that it makes.
	FieldManager = "entente-grant-controller"

	// workers is how many ClusterPeers are looked at at once. Each has parallel requests to
	// the host cluster under way.
	workers = 2
	// requestTimeout bounds one request, and writeTimeout one write to the ledger, so that
	// a hung server does not hold a worker for ever.
	requestTimeout = 10 * time.Second
	writeTimeout   = 10 * time.Second
	// unknownAgain is when a ClusterPeer is looked at again of which it is not known yet
	// what it is to be granted.
	unknownAgain = 5 * time.Second
	// lookAgain is when one is looked at again after something was made, or could not be
	// because of what others have there: no informer shows that it is gone.
	lookAgain = 30 * time.Second
	// most is how many pairs are made for one ClusterPeer before it is asked anew what is
	// to be: a plan that was withdrawn meanwhile is not carried out to its end.
	most = 2 * batch
)

// Config is what the controller needs from outside. All of it is required, but for what
// says otherwise.
type Config struct {
	// Client writes statuses.
	Client versioned.Interface
	// Informer tells which ClusterPeers there are. It is started by its owner.
	Informer informers.ClusterPeerInformer
	// Plans says what is to be.
	Plans access.Plans
	// Ledger lists what there is.
	Ledger record.Ledger
	// Host makes and deletes objects of the host cluster, many at a time.
	Host rbacclient.RbacV1Interface
	// Objects are the objects of the host cluster that Selector selects. Their informers
	// are started by their owner, after New.
	Objects rbacinformers.Interface
	// Self is Entente in the host cluster, as a binding names it. It is who may act there as
	// those to whom something is granted (H2).
	Self rbacv1.Subject
	// Constrained says that the host cluster can constrain what is done as somebody else. It
	// may be false.
	Constrained bool
	// Recorder records Events of ClusterPeers.
	Recorder events.EventRecorder
	// Clock tells the time and times retries.
	Clock clock.WithTicker
}

// Controller makes what is granted be so in the host cluster.
type Controller struct {
	client   versioned.Interface
	lister   listers.ClusterPeerLister
	plans    access.Plans
	ledger   record.Ledger
	host     rbacclient.RbacV1Interface
	as       impersonator
	view     *view
	recorder events.EventRecorder
	clock    clock.WithTicker
	bell     bell
	strays   strays
	pace     *pace
	said     said
	loop     loop.Loop
}

// New makes the controller and starts nothing. It fails if the config is not complete, or
// the informers of Objects have been stopped.
func New(config Config) (*Controller, error) {
	if config.Client == nil || config.Informer == nil || config.Plans == nil || config.Ledger == nil ||
		config.Host == nil || config.Objects == nil || config.Self.Kind == "" || config.Self.Name == "" || config.Recorder == nil || config.Clock == nil {
		return nil, fmt.Errorf("could not make controller %s: its config is not complete", Name)
	}
	seen, err := newView(config.Objects, config.Clock)
	if err != nil {
		return nil, fmt.Errorf("could not make controller %s: %w", Name, err)
	}
	c := &Controller{
		client:   config.Client,
		lister:   config.Informer.Lister(),
		plans:    config.Plans,
		ledger:   config.Ledger,
		host:     config.Host,
		as:       impersonator{self: config.Self, constrained: config.Constrained},
		view:     seen,
		recorder: config.Recorder,
		clock:    config.Clock,
		pace:     newPace(config.Clock),
	}
	c.loop = loop.Loop{
		Name:      Name,
		Informer:  config.Informer.Informer(),
		Subscribe: c.subscribe,
		Workers:   workers,
		Clock:     config.Clock,
		Sync:      c.sync,
	}
	return c, nil
}

// Run works until ctx ends, and returns when the work in flight has ended. It fails if an
// informer has been stopped. It may be called again after it returned.
func (c *Controller) Run(ctx context.Context) error {
	cancel, synced, err := c.view.watch(ctx, c.bell.ring)
	defer cancel()
	if err != nil {
		return err
	}
	if !cache.WaitFor(ctx, Name, synced...) {
		return nil // ctx ended
	}
	return c.loop.Run(ctx)
}

// subscribe has a ClusterPeer looked at when its plan changes, what the ledger lists for
// it, or an object that bears its name; and at the start each that has something, since it
// may be gone.
func (c *Controller) subscribe(enqueue func(cache.ObjectName)) (cancel func()) {
	silence := c.bell.answer(func(name string) { enqueue(cache.ObjectName{Name: name}) })
	cancels := []func(){
		silence,
		c.plans.Subscribe(enqueue),
		c.ledger.Subscribe(func(uid string) {
			if grants := c.ledger.Grants(uid); len(grants) > 0 {
				c.strays.suspect(grants[0].PeerName, uid)
				c.bell.ring(grants[0].PeerName)
			}
		}),
	}
	for _, grant := range c.ledger.AllGrants() {
		c.bell.ring(grant.PeerName)
	}
	for _, name := range c.view.peers() {
		c.bell.ring(name)
	}
	return func() {
		for _, cancel := range cancels {
			cancel()
		}
	}
}

// sync brings what the peer of one ClusterPeer is granted to where it should be.
func (c *Controller) sync(ctx context.Context, object cache.ObjectName) (again time.Duration, err error) {
	if !c.knows() {
		return unknownAgain, nil
	}
	peer, err := c.lister.Get(object.Name)
	if err != nil && !apierrors.IsNotFound(err) {
		return 0, fmt.Errorf("could not get the ClusterPeer: %w", err)
	}
	if apierrors.IsNotFound(err) {
		peer = nil
	}
	again, strayed := c.withdrawStrays(ctx, object.Name, peer)
	var next time.Duration
	switch {
	case peer == nil:
		c.said.forgets(object.Name)
		err = c.bring(ctx, owner{name: object.Name}, nil, true).err
	case peer.DeletionTimestamp != nil:
		err = c.end(ctx, peer)
	default:
		next, err = c.syncPeer(ctx, peer)
	}
	return loop.Earliest(again, next), errors.Join(strayed, err)
}

// knows tells whether it is known what is ours.
func (c *Controller) knows() bool { return c.ledger.Fresh() == nil }

// end is sync for a ClusterPeer that is being deleted: from that moment on nothing is
// granted (S3), whatever else is known. It stays until that is so, and says what it waits
// for.
func (c *Controller) end(ctx context.Context, peer *peeringv1alpha1.ClusterPeer) error {
	o := owner{peer.Name, string(peer.UID)}
	p := c.bring(ctx, o, nil, true)
	return errors.Join(p.err, c.say(ctx, peer, false, p, c.foreignTo(o)))
}

// syncPeer is sync for a ClusterPeer that is there, and to stay.
func (c *Controller) syncPeer(ctx context.Context, peer *peeringv1alpha1.ClusterPeer) (again time.Duration, err error) {
	plan, err := c.plans.Plan(peer)
	if errors.Is(err, access.ErrUnknown) {
		klog.FromContext(ctx).V(4).Info("It is not known yet what the peer is to be granted")
		return unknownAgain, nil
	}
	if err != nil {
		return 0, fmt.Errorf("could not tell what the peer is to be granted: %w", err)
	}
	o := owner{peer.Name, string(peer.UID)}
	before := c.foreignTo(o)
	p := c.bring(ctx, o, wantedBy(plan, c.as), true)
	foreign := c.foreignTo(o)
	c.announce(peer, foreign.Difference(before))
	if p.made > 0 || p.skipped || len(foreign) > 0 {
		again = lookAgain
	}
	if p.left && !p.isOver() {
		c.bell.ring(peer.Name)
	}
	return loop.Earliest(again, p.paused), errors.Join(p.err, c.say(ctx, peer, plan.ClusterUUID != "", p, foreign))
}
