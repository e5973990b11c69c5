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

package validation

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"entente.dev/entente/apis/peering"
)

func projectPeer(namespace, name string) *peering.ProjectPeer {
	return &peering.ProjectPeer{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "uid", ResourceVersion: "5"}}
}

// K1: a ProjectPeer is in a namespace, and has a name that a ClusterPeer may have.
func TestValidateProjectPeer(t *testing.T) {
	for name, valid := range map[string]bool{
		"a": true, strings.Repeat("x", 63): true, "": false, strings.Repeat("x", 64): false, "A": false, "a.b": false, "-a": false,
	} {
		assert.Equal(t, valid, len(ValidateProjectPeer(projectPeer("default", name))) == 0, name)
	}
	assert.Equal(t, []string{"FieldValueRequired metadata.namespace"}, told(ValidateProjectPeer(projectPeer("", "a"))))
	assert.NotEmpty(t, ValidateProjectPeer(projectPeer("Not A Namespace", "a")))
}

// What identifies an object cannot be changed.
func TestValidateProjectPeerUpdate(t *testing.T) {
	assert.Empty(t, ValidateProjectPeerUpdate(projectPeer("default", "a"), projectPeer("default", "a")))
	assert.Contains(t, told(ValidateProjectPeerUpdate(projectPeer("default", "b"), projectPeer("default", "a"))), "FieldValueInvalid metadata.name")
	assert.Contains(t, told(ValidateProjectPeerUpdate(projectPeer("other", "a"), projectPeer("default", "a"))), "FieldValueInvalid metadata.namespace")
}
