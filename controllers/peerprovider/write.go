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
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/record"
)

// provide makes the provider of a ClusterPeer, or puts it right.
func (c *Controller) provide(ctx context.Context, w wanted) (finding, error) {
	key := c.ledger.GrantKey()
	live, err := c.providers.Get(w.name())
	if apierrors.IsNotFound(err) {
		if key, err = c.ensureKey(ctx); err != nil {
			return finding{}, err
		}
		live, err = c.create(ctx, w.build(key))
	}
	if err != nil {
		return c.failed(w.name(), err)
	}
	switch uid := PeerUID(live, key); {
	case uid == "":
		return foreign(w.name()), nil
	case live.DeletionTimestamp != nil:
		return deleting(w.name()), nil
	case uid != string(w.peer.UID):
		// It was made for another ClusterPeer of that name, and goes as that went.
		return deleting(w.name()), c.remove(ctx, live)
	case !w.matches(live):
		if live, err = c.update(ctx, w.mend(live)); err != nil {
			return c.failed(w.name(), err)
		}
	}
	return judged(live), nil
}

// ensureKey returns the key for the proof of what is to be made.
func (c *Controller) ensureKey(ctx context.Context) (*record.GrantKey, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return record.EnsureGrantKey(ctx, c.ledger, rand.Reader)
}

// create makes a provider. If there is one that was not seen yet it returns that.
func (c *Controller) create(ctx context.Context, provider *peeringv1alpha1.TokenExchangeProvider) (*peeringv1alpha1.TokenExchangeProvider, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	made, err := c.client.PeeringV1alpha1().TokenExchangeProviders().Create(ctx, provider, metav1.CreateOptions{FieldManager: FieldManager})
	if apierrors.IsAlreadyExists(err) {
		return c.client.PeeringV1alpha1().TokenExchangeProviders().Get(ctx, provider.Name, metav1.GetOptions{})
	}
	if err == nil {
		klog.FromContext(ctx).V(2).Info("Made TokenExchangeProvider", "name", provider.Name)
	}
	return made, err
}

// update writes the provider over that version of it.
func (c *Controller) update(ctx context.Context, mended *peeringv1alpha1.TokenExchangeProvider) (*peeringv1alpha1.TokenExchangeProvider, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	written, err := c.client.PeeringV1alpha1().TokenExchangeProviders().Update(ctx, mended, metav1.UpdateOptions{FieldManager: FieldManager})
	if err == nil {
		klog.FromContext(ctx).V(2).Info("Changed TokenExchangeProvider", "name", mended.Name)
	}
	return written, err
}

// withdraw deletes the provider of a ClusterPeer, if there is one and it is ours.
func (c *Controller) withdraw(ctx context.Context, clusterPeer string) error {
	live, err := c.providers.Get(peeringv1alpha1.ProviderName(clusterPeer))
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("could not get the TokenExchangeProvider: %w", err)
	}
	if live.DeletionTimestamp != nil || PeerUID(live, c.ledger.GrantKey()) == "" {
		return nil
	}
	return c.remove(ctx, live)
}

// remove deletes a provider, and no other of its name.
func (c *Controller) remove(ctx context.Context, live *peeringv1alpha1.TokenExchangeProvider) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := c.client.PeeringV1alpha1().TokenExchangeProviders().Delete(ctx, live.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(live.UID))})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // the informer is about to tell
	}
	if err != nil {
		return fmt.Errorf("could not delete the TokenExchangeProvider: %w", err)
	}
	klog.FromContext(ctx).V(2).Info("Deleted TokenExchangeProvider", "name", live.Name)
	return nil
}

// failed says what a failed request means. Of what is no answer of the API nothing can be
// said: it is returned, to be tried again.
func (c *Controller) failed(name string, err error) (finding, error) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return finding{}, fmt.Errorf("could not write the TokenExchangeProvider: %w", err)
	}
	switch code := int(status.Status().Code); {
	case code == http.StatusConflict:
		return pending(name), nil // changed meanwhile, as the informer is about to tell
	case code == http.StatusNotFound:
		return deleting(name), nil
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code < 400, code >= 500:
		return finding{}, fmt.Errorf("could not write the TokenExchangeProvider: %w", err)
	default:
		return rejected(name, apierrors.ReasonForError(err)), nil
	}
}
