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

const (
	// FinalizerDisconnect keeps a ClusterPeer that is being deleted until its access is
	// gone and the other cluster was told, if it can be reached (P12). Every ClusterPeer
	// has it from its creation on.
	FinalizerDisconnect = GroupName + "/disconnect"

	// AnnotationRenew asks for a new connection string in place of the one whose ID is
	// the annotation's value, status.invite.tokenID. Another value asks for nothing (P5).
	AnnotationRenew = GroupName + "/renew"
)
