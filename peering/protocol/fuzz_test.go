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

package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// checkMessage holds what is true of any input (P11): no panic, errors of the closed set,
// and what passed is encoded, read and passes again.
func checkMessage[M any, V interface {
	*M
	Validate() error
}](t *testing.T, data []byte, limit int64,
) {
	var message M
	err := Read(bytes.NewReader(data), limit, &message)
	if err == nil {
		err = V(&message).Validate()
	}
	if err != nil {
		var fault Fault
		require.True(t, errors.As(err, &fault), "an error of no known kind")
		return
	}
	again, err := json.Marshal(message)
	require.NoError(t, err)
	var same M
	// It may have grown: what it left out is spelled out.
	require.NoError(t, Read(bytes.NewReader(again), 2*limit, &same))
	require.NoError(t, V(&same).Validate())
}

func add(f *testing.F, samples ...any) {
	f.Helper()
	for _, text := range []string{"", "null", "{}", "[]", `{"a":[[[[]]]]}`, `{"a":1,"a":1}`, "{\"\xff\":1}"} {
		f.Add([]byte(text))
	}
	for _, sample := range samples {
		f.Add([]byte(encode(f, sample)))
	}
}

func FuzzJoinRequest(f *testing.F) {
	add(f, sampleJoin(f))
	f.Fuzz(func(t *testing.T, data []byte) { checkMessage[JoinRequest](t, data, LimitJoin) })
}

func FuzzJoinResponse(f *testing.F) {
	add(f, JoinResponse{Protocol: 1, Certificate: []byte{1}, CSR: []byte{1}, Self: sampleSelf(f)})
	f.Fuzz(func(t *testing.T, data []byte) { checkMessage[JoinResponse](t, data, LimitJoin) })
}

func FuzzSyncRequest(f *testing.F) {
	add(f, SyncRequest{Protocol: 1, Wait: 15, State: sampleState(f)})
	f.Fuzz(func(t *testing.T, data []byte) { checkMessage[SyncRequest](t, data, LimitSync) })
}

func FuzzSyncResponse(f *testing.F) {
	add(f, SyncResponse{Protocol: 1, State: sampleState(f)})
	f.Fuzz(func(t *testing.T, data []byte) { checkMessage[SyncResponse](t, data, LimitSync) })
}

func FuzzRenewRequest(f *testing.F) {
	add(f, RenewRequest{Role: "data", CSR: []byte{1}})
	f.Fuzz(func(t *testing.T, data []byte) { checkMessage[RenewRequest](t, data, LimitRenew) })
}

func FuzzRenewResponse(f *testing.F) {
	add(f, RenewResponse{Certificate: []byte{1}})
	f.Fuzz(func(t *testing.T, data []byte) { checkMessage[RenewResponse](t, data, LimitRenew) })
}

func FuzzFailure(f *testing.F) {
	add(f, Failure{Reason: FailureGone})
	f.Fuzz(func(t *testing.T, data []byte) {
		if reason, err := ReadFailure(bytes.NewReader(data)); err == nil {
			require.True(t, reason.known())
		}
	})
}

// FuzzJWKS gets at the keys, which are JSON in a string of JSON.
func FuzzJWKS(f *testing.F) {
	f.Add(sampleJWKS(f, 2))
	f.Add(`{"keys":[{"kty":"RSA","n":"AQ","e":"AQAB"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := ParseJWKS(text)
		if err != nil {
			require.Equal(t, ErrJWKS, err)
			return
		}
		require.NotEmpty(t, keys)
		for _, key := range keys {
			require.True(t, key.IsPublic())
		}
	})
}
