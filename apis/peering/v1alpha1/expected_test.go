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
	"testing"

	"github.com/stretchr/testify/assert"
)

// P6: without an expected UUID any cluster may be peered with, else that one only.
func TestP6Expects(t *testing.T) {
	const uuid, other = "aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002"
	for name, test := range map[string]struct {
		spec       ClusterPeerSpec
		this, that bool
	}{
		"none":          {ClusterPeerSpec{}, true, true},
		"invite, none":  {ClusterPeerSpec{Invite: &InviteSpec{}}, true, true},
		"invite":        {ClusterPeerSpec{Invite: &InviteSpec{ExpectedClusterUUID: uuid}}, true, false},
		"join, none":    {ClusterPeerSpec{Join: &JoinSpec{}}, true, true},
		"join":          {ClusterPeerSpec{Join: &JoinSpec{ExpectedClusterUUID: uuid}}, true, false},
		"join, another": {ClusterPeerSpec{Join: &JoinSpec{ExpectedClusterUUID: other}}, false, true},
	} {
		assert.Equal(t, test.this, test.spec.Expects(uuid), name)
		assert.Equal(t, test.that, test.spec.Expects(other), name)
	}
}
