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

package client_test

import (
	"crypto"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/record"
)

// P2: a peer is dialled with the one certificate that is for that, and its own key.
func TestP2TargetOf(t *testing.T) {
	control, err := pki.NewKey()
	require.NoError(t, err)
	data, err := pki.NewKey()
	require.NoError(t, err)
	remote := &record.Remote{
		Endpoints: []string{"https://a.example.com", "https://b.example.com"}, Trust: [][]byte{[]byte("a CA")},
		Ours: record.Credential{Key: record.NewSecret(control.PEM()), Certificate: []byte("for control")},
		Data: &record.Credential{Key: record.NewSecret(data.PEM()), Certificate: []byte("for data")},
	}
	for _, test := range []struct {
		as  *record.Credential
		key *pki.Key
	}{{&remote.Ours, control}, {remote.Data, data}} {
		target, err := client.TargetOf(remote, test.as)
		require.NoError(t, err)
		assert.Equal(t, remote.Endpoints, target.Endpoints)
		assert.Equal(t, remote.Trust, target.Trust)
		assert.Equal(t, [][]byte{test.as.Certificate}, target.Certificate.Certificate)
		signer, ok := target.Certificate.PrivateKey.(crypto.Signer)
		require.True(t, ok)
		assert.Equal(t, test.key.Public(), signer.Public())
	}
	_, err = client.TargetOf(remote, &record.Credential{Key: record.NewSecret([]byte("planted"))})
	require.ErrorContains(t, err, "could not use our key")
	assert.NotContains(t, err.Error(), "planted")
}
