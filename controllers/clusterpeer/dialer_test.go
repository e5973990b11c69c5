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

package clusterpeer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/record"
)

// P12, R15: what cannot be used to leave with fails, and quotes nothing.
func TestP12LeaveFails(t *testing.T) {
	dialing, err := client.New(client.Config{LeaveTimeout: time.Second})
	require.NoError(t, err)
	d := NewDialer(dialing)
	key, err := pki.NewKey()
	require.NoError(t, err)
	good := record.Remote{
		Endpoints: []string{"https://127.0.0.1:1"},
		Trust:     [][]byte{newAuthority(t, "theirs", noon).Certificate},
		Ours:      record.Credential{Key: record.NewSecret(key.PEM()), Certificate: []byte("certificate")},
	}
	var failure *client.Failure
	require.ErrorAs(t, d.Leave(t.Context(), &good), &failure, "the policy forbids the address")
	assert.Equal(t, client.DetailAddress, failure.Detail)

	for name, spoil := range map[string]func(*record.Remote){
		"key":       func(r *record.Remote) { r.Ours.Key = record.NewSecret([]byte(canary)) },
		"no key":    func(r *record.Remote) { r.Ours.Key = record.Secret{} },
		"trust":     func(r *record.Remote) { r.Trust = [][]byte{[]byte(canary)} },
		"endpoints": func(r *record.Remote) { r.Endpoints = nil },
	} {
		bad := good
		spoil(&bad)
		err := d.Leave(t.Context(), &bad)
		require.Error(t, err, name)
		assert.NotContains(t, err.Error(), canary, name)
	}
}
