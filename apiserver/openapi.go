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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"entente.dev/entente/apis/generated/openapi"
	"entente.dev/entente/apis/peering"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/registry/sensitive"
)

// describe sets up OpenAPI v2 and v3, with the mark on sensitive fields.
func describe(generic *genericapiserver.Config, api *API) error {
	definitions, err := sensitive.MarkOpenAPI(openapi.GetOpenAPIDefinitions, peeringv1alpha1.ClusterPeer{}.OpenAPIModelName(), &peering.ClusterPeer{})
	if err != nil {
		return err
	}
	definitions = withItemLimits(withConditionLimits(definitions))
	namer := openapinamer.NewDefinitionNamer(api.Scheme)
	generic.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(definitions, namer)
	generic.OpenAPIConfig.Info.Title = "Entente"
	generic.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(definitions, namer)
	generic.OpenAPIV3Config.Info.Title = "Entente"
	return nil
}

// withConditionLimits adds the limits of conditions to their schema, which is of the
// Kubernetes libraries and says none. All conditions that are served here have them
// (K1).
func withConditionLimits(definitions common.GetOpenAPIDefinitions) common.GetOpenAPIDefinitions {
	return func(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
		out := definitions(ref)
		properties := out[metav1.Condition{}.OpenAPIModelName()].Schema.Properties
		for name, limit := range map[string]func(*spec.Schema){
			"type":               func(s *spec.Schema) { s.WithMaxLength(316) },
			"reason":             func(s *spec.Schema) { s.WithMaxLength(1024) },
			"status":             func(s *spec.Schema) { s.WithEnum("True", "False", "Unknown") },
			"observedGeneration": func(s *spec.Schema) { s.WithMinimum(0, false) },
		} {
			property := properties[name]
			limit(&property)
			properties[name] = property
		}
		return out
	}
}

// withItemLimits moves the limits of list items to where readers look for them: the
// generator writes them into an allOf of the list.
func withItemLimits(definitions common.GetOpenAPIDefinitions) common.GetOpenAPIDefinitions {
	return func(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
		out := definitions(ref)
		for _, definition := range out {
			for name, property := range definition.Schema.Properties {
				if property.Items == nil || len(property.AllOf) != 1 || property.AllOf[0].Items == nil {
					continue
				}
				property.Items.Schema.MaxLength = property.AllOf[0].Items.Schema.MaxLength
				property.AllOf = nil
				definition.Schema.Properties[name] = property
			}
		}
		return out
	}
}
