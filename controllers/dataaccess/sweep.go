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
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

// sweepAgain is when it is tried again to find out which Secrets there are.
const sweepAgain = time.Minute

// sweep has each ClusterPeer looked at for which there is a Secret of ours: it may have gone
// while nobody was there. It returns when that is done, or ctx ends.
func (s *secrets) sweep(ctx context.Context, enqueue func(cache.ObjectName)) {
	for failures := 0; ; failures++ {
		err := quietly(ctx, "list", "*"+suffix, func(ctx context.Context) error {
			list, err := s.api.List(ctx, metav1.ListOptions{LabelSelector: peeringv1alpha1.LabelManagedBy + "=" + peeringv1alpha1.ManagedBy})
			if err != nil {
				return err
			}
			for i := range list.Items {
				if peer, ok := peerOf(list.Items[i].Name); ok && isOurs(&list.Items[i]) {
					enqueue(cache.ObjectName{Name: peer})
				}
			}
			return nil
		})
		if err == nil || ctx.Err() != nil {
			return
		}
		if failures == 0 {
			klog.FromContext(ctx).Error(err, "Could not look for Secrets of ClusterPeers that are gone, trying again later")
		}
		timer := s.clock.NewTimer(sweepAgain)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}
