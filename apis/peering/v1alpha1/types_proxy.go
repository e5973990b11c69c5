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

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ClusterPeerProxyOptions is what a request to clusterpeers/NAME/proxy is of in discovery,
// in OpenAPI and for admission. There are no options: whatever is in such a request is for
// the peer.
//
// It is a kind of its own because of clients that look into OpenAPI for what a kind takes:
// a patch of the proxy is no patch of a ClusterPeer.
type ClusterPeerProxyOptions struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:",inline"`
}
