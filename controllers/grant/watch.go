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
	"fmt"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

// watch has ring called with the name of the ClusterPeer that an object bears, or bore,
// when that is shown to have changed. It returns how to end that, and what tells when all
// objects were shown. It fails if an informer has been stopped.
func (v *view) watch(ctx context.Context, ring func(peer string)) (cancel func(), synced []cache.DoneChecker, err error) {
	var cancels []func()
	cancel = func() {
		for _, cancel := range cancels {
			cancel()
		}
	}
	logger := klog.FromContext(ctx)
	for kind, informer := range v.informers {
		handler, err := informer.AddEventHandlerWithOptions(v.handler(ctx, kind, ring), cache.HandlerOptions{Logger: &logger})
		if err != nil {
			return cancel, nil, fmt.Errorf("could not watch objects of kind %s: %w", kind, err)
		}
		cancels = append(cancels, func() {
			// Fails only for a handler of another informer.
			_ = informer.RemoveEventHandler(handler)
		})
		synced = append(synced, handler.HasSyncedChecker())
	}
	return cancel, synced, nil
}

func (v *view) handler(ctx context.Context, kind string, ring func(peer string)) cache.ResourceEventHandler {
	ringFor := func(live object) { ring(live.GetLabels()[peeringv1alpha1.LabelPeer]) }
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(found any) {
			if live, ok := found.(object); ok && v.shows(kind, live) {
				ringFor(live)
			}
		},
		UpdateFunc: func(before, found any) {
			old, _ := before.(object)
			live, ok := found.(object)
			if ok && v.shows(kind, live) && old != nil {
				ringFor(old)
				ringFor(live)
			}
		},
		DeleteFunc: func(found any) {
			if last, ok := found.(cache.DeletedFinalStateUnknown); ok {
				found = last.Obj
			}
			live, ok := found.(object)
			if !ok {
				utilruntime.HandleErrorWithContext(ctx, nil, "Could not tell which object is gone", "type", fmt.Sprintf("%T", found))
				return
			}
			if v.hides(kind, live) {
				ringFor(live)
			}
		},
	}
}
