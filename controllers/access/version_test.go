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
)

// G3: the major versions are equal, or the texts if one is no semantic version.
func TestG3Compatible(t *testing.T) {
	for _, test := range []struct {
		ours, theirs string
		want         bool
	}{
		{"1.0.0", "1.9.3", true},
		{"1.0.0", "2.0.0", false},
		{"1.0.0", "1.0.0", true},
		{"v1.2.3", "1.0.0", true},
		{"1", "1.4", true},
		{"1", "10", false},
		{"0.1.0", "0.2.0", true},
		{"1.0.0-rc.1", "1.0.0", true},
		{"1.0.0+build", "1.1.0", true},
		{"stable", "stable", true},
		{"stable", "Stable", false},
		{"stable", "1.0.0", false},
		{"1.0.0", "v1alpha1", false},
		{"v1alpha1", "v1alpha1", true},
		{"v1alpha1", "v1alpha2", false},
		{"", "", true},
		{"", "1", false},
		{"1.2.3.4", "1.2.3", false},
	} {
		assert.Equal(t, test.want, compatible(test.ours, test.theirs), "%q and %q", test.ours, test.theirs)
		assert.Equal(t, test.want, compatible(test.theirs, test.ours), "%q and %q", test.theirs, test.ours)
	}
}
