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

package access

import (
	"testing"

	"github.com/stretchr/testify/assert"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

// G7, G8: a consumer is a ServiceAccount of that namespace and name, both to the letter.
func TestG7G8Names(t *testing.T) {
	spec := &peeringv1alpha1.PeeringCapabilitySpec{Consumers: []peeringv1alpha1.Consumer{
		{Kind: peeringv1alpha1.ConsumerKindServiceAccount, Namespace: "n", Name: "a"},
		{Namespace: "m", Name: "b"},
		{Kind: "User", Namespace: "n", Name: "jane"},
	}}
	for _, named := range [][2]string{{"n", "a"}, {"m", "b"}} {
		assert.True(t, Names(spec, named[0], named[1]), named)
	}
	for _, other := range [][2]string{{"n", "b"}, {"m", "a"}, {"N", "a"}, {"n", ""}, {"", "a"}, {"n", "jane"}, {"*", "*"}} {
		assert.False(t, Names(spec, other[0], other[1]), other)
	}
	assert.False(t, Names(&peeringv1alpha1.PeeringCapabilitySpec{}, "", ""))
}
