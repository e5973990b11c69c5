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

package apiserver

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/apiserver/standalone"
)

// Design, section 3: the identity of a standalone cluster is the one that the first start
// made; --cluster-uuid wins. There is no issuer.
func TestStandaloneIdentity(t *testing.T) {
	const made, given = "aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002"
	m := &standaloneMode{config: CompletedConfig{&completedConfig{}}, environment: &standalone.Environment{ClusterUUID: made}}
	assert.Equal(t, made, m.clusterUUID())
	m.config.Peering.ClusterUUID = given
	assert.Equal(t, given, m.clusterUUID())
	issuer, err := m.issuer(t.Context())
	require.NoError(t, err)
	assert.Nil(t, issuer)
}
