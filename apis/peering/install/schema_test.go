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

package install

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/apis/generated/openapi"
	"entente.dev/entente/apis/peering"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/apis/schematest"
	"entente.dev/entente/registry/sensitive"
)

// group is what is served, with the sensitive fields marked.
func group(t *testing.T) schematest.Group {
	t.Helper()
	const model = "dev.entente.peering.v1alpha1."
	definitions, err := sensitive.MarkOpenAPI(openapi.GetOpenAPIDefinitions, model+"ClusterPeer", &peering.ClusterPeer{})
	require.NoError(t, err)
	assert.Equal(t, "x-kubernetes-sensitive-data", sensitive.Extension)
	return schematest.Group{Scheme: newScheme(t), Version: peeringv1alpha1.SchemeGroupVersion, Model: model, Definitions: definitions, Kinds: reference()}
}

// K1: every field of the reference is served, with its limit, its allowed values
// and its list type, and no field but those of K5 beside.
func TestK1Schema(t *testing.T) { group(t).TestSchema(t) }

// K1: `kubectl explain` has something to say about every field, its limit among it.
func TestK1Descriptions(t *testing.T) { group(t).TestDescriptions(t) }

// K1: what the schema says is what is enforced: a limit, an enum, a minimum, what
// is required, what is unique.
func TestK1SchemaIsEnforced(t *testing.T) { group(t).TestEnforced(t) }
