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

package connstring

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// P4: what may be an endpoint in a message is what may be one in a connection string.
func TestP4IsEndpoint(t *testing.T) {
	for _, endpoint := range []string{"https://a.example", "https://a.example:8443", "https://192.0.2.1", "https://[2001:db8::7]:8443"} {
		assert.True(t, IsEndpoint(endpoint), endpoint)
	}
	for _, endpoint := range []string{
		"", "a.example", "http://a.example", "https://a.example/", "https://A.example", "https://a.example:0", "https://u@a.example",
		"https://127.1", "https://[::ffff:192.0.2.1]", "https://[fe80::1%25eth0]",
	} {
		assert.False(t, IsEndpoint(endpoint), endpoint)
	}
}

func TestIsUUID(t *testing.T) {
	assert.True(t, IsUUID("0f1c2d3e-4a5b-4c6d-8e7f-001122334455"))
	for _, text := range []string{"", "0F1C2D3E-4a5b-4c6d-8e7f-001122334455", "00000000-0000-0000-0000-000000000000", "0f1c2d3e4a5b4c6d8e7f001122334455"} {
		assert.False(t, IsUUID(text), text)
	}
}
