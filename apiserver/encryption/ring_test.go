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

package encryption

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apiserver/pkg/storage/value"
)

func newRing(t testing.TB) Ring {
	t.Helper()
	ring, err := NewRing()
	require.NoError(t, err)
	return ring
}

func withNewKey(t testing.TB, ring Ring) Ring {
	t.Helper()
	ring, err := ring.WithNewKey()
	require.NoError(t, err)
	return ring
}

// R17: the first key encrypts, each decrypts; what an old one encrypted is stale.
func TestRingRotates(t *testing.T) {
	old := newRing(t)
	both := withNewKey(t, old)
	require.Equal(t, 2, both.Len())
	where := value.DefaultContext("/registry/a")
	encrypt := func(ring Ring) []byte {
		tr, err := ring.transformer()
		require.NoError(t, err)
		out, err := tr.TransformToStorage(t.Context(), []byte("hello"), where)
		require.NoError(t, err)
		return out
	}
	decrypt := func(ring Ring, data []byte, where string) (string, bool, error) {
		tr, err := ring.transformer()
		require.NoError(t, err)
		out, stale, err := tr.TransformFromStorage(t.Context(), data, value.DefaultContext(where))
		return string(out), stale, err
	}
	plain, stale, err := decrypt(both, encrypt(old), string(where))
	require.NoError(t, err)
	assert.Equal(t, "hello", plain)
	assert.True(t, stale, "what an old key encrypted is to be encrypted anew")

	plain, stale, err = decrypt(both, encrypt(both), string(where))
	require.NoError(t, err)
	assert.Equal(t, "hello", plain)
	assert.False(t, stale)

	_, _, err = decrypt(both.FirstOnly(), encrypt(old), string(where))
	assert.ErrorContains(t, err, "a generated key that is not there")
	_, _, err = decrypt(old, encrypt(both), string(where))
	assert.Error(t, err, "an old ring does not read what the new key encrypted")

	_, _, err = decrypt(old, encrypt(old), "/registry/b")
	assert.Error(t, err, "a value can be moved to the place of another")
	damaged := encrypt(old)
	damaged[len(damaged)-1] ^= 1
	_, _, err = decrypt(old, damaged, string(where))
	assert.Error(t, err, "a value can be changed")
}

func TestRingKeepsItsForm(t *testing.T) {
	ring := withNewKey(t, newRing(t))
	data, err := ring.Encode()
	require.NoError(t, err)
	again, err := DecodeRing(data)
	require.NoError(t, err)
	assert.Equal(t, ring.keys, again.keys)
}

// R15: neither printing nor an error shows a key.
func TestRingIsNotShown(t *testing.T) {
	ring := newRing(t)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, shown := range []string{fmt.Sprintf(verb, ring), fmt.Sprintf(verb, &ring), fmt.Sprintf(verb, Stored{Ring: ring})} {
			for _, form := range []string{string(ring.keys[0].seed), hex.EncodeToString(ring.keys[0].seed), base64.StdEncoding.EncodeToString(ring.keys[0].seed), fmt.Sprint(ring.keys[0].seed[0], ring.keys[0].seed[1], ring.keys[0].seed[2], ring.keys[0].seed[3])} {
				assert.NotContains(t, shown, form, verb)
			}
		}
	}
	shown, err := json.Marshal(Stored{Ring: ring})
	require.NoError(t, err)
	assert.JSONEq(t, `{"Ring":{}}`, string(shown))

	const canary = "Y2FuYXJ5LWNhbmFyeS1jYW5hcnktY2FuYXJ5LWNhbmE="
	good := fmt.Sprintf(`{"format":1,"keys":[{"name":"a","seed":%q}]}`, canary)
	_, err = DecodeRing([]byte(good))
	require.NoError(t, err)
	for what, data := range map[string]string{
		"nothing":         "",
		"no JSON":         canary,
		"a list":          `["` + canary + `"]`,
		"cut":             good[:len(good)-3],
		"followed":        good + good,
		"unknown field":   strings.Replace(good, `"name"`, `"`+canary+`":1,"name"`, 1),
		"no keys":         `{"format":1,"keys":[]}`,
		"no name":         strings.Replace(good, `"a"`, `""`, 1),
		"name with colon": strings.Replace(good, `"a"`, `"a:b"`, 1),
		"short key":       strings.Replace(good, canary, "Y2FuYXJ5", 1),
		"no base64":       strings.Replace(good, canary, "%"+canary, 1),
		"twice the name":  strings.Replace(good, `]`, fmt.Sprintf(`,{"name":"a","seed":%q}]`, canary), 1),
		"no format":       strings.Replace(good, `"format":1,`, "", 1),
		"newer format":    strings.Replace(good, `"format":1`, `"format":2`, 1),
		"too long":        strings.Repeat(" ", maxRingBytes) + good,
	} {
		_, err := DecodeRing([]byte(data))
		if assert.Error(t, err, what) {
			assert.NotContains(t, err.Error(), "Y2Fu", what)
			assert.Equal(t, what != "newer format", errors.Is(err, errNoRing), what)
		}
	}
}
