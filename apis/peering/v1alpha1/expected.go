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

// ExpectedClusterUUID returns the UUID of the only cluster that may be peered with; empty:
// any may.
func (in *ClusterPeerSpec) ExpectedClusterUUID() string {
	switch {
	case in.Invite != nil:
		return in.Invite.ExpectedClusterUUID
	case in.Join != nil:
		return in.Join.ExpectedClusterUUID
	}
	return ""
}

// Expects tells whether the cluster with a UUID may be peered with.
func (in *ClusterPeerSpec) Expects(clusterUUID string) bool {
	expected := in.ExpectedClusterUUID()
	return expected == "" || expected == clusterUUID
}
