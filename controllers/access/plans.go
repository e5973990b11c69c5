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
	"time"

	"k8s.io/client-go/tools/cache"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

// AskAgain is after what time a plan is to be asked for again that could not be told.
const AskAgain = 2 * time.Second

// Plans says what is to be between this cluster and each of its peers. A Model does.
type Plans interface {
	// Plan returns what is to be for the peer of a ClusterPeer. It fails with ErrUnknown
	// while that cannot be told.
	Plan(peer *peeringv1alpha1.ClusterPeer) (*Plan, error)
	// Subscribe has enqueue called with the name of each ClusterPeer whose plan may have
	// changed, for another reason than that the ClusterPeer has. It returns how to end
	// that.
	Subscribe(enqueue func(object cache.ObjectName)) (cancel func())
}

var _ Plans = &Model{}
