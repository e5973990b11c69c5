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

package sensitive

import (
	"fmt"
	"maps"
	"strings"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Extension marks a sensitive field in the OpenAPI schema.
const Extension = "x-kubernetes-sensitive-data"

// MarkOpenAPI returns definitions in which the sensitive fields of obj, whose
// schema has the name model, carry the extension. It fails if a path does not
// lead to a string in the schema.
func MarkOpenAPI(definitions common.GetOpenAPIDefinitions, model string, obj Object) (common.GetOpenAPIDefinitions, error) {
	plain := definitions(spec.MustCreateRef)
	var marks []property
	for _, path := range Fields(obj) {
		mark, err := find(plain, model, strings.Split(path, "."))
		if err != nil {
			return nil, fmt.Errorf("could not mark %s of %s in the schema: %w", path, model, err)
		}
		marks = append(marks, mark)
	}
	return func(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
		out := maps.Clone(definitions(ref))
		for _, mark := range marks {
			definition := out[mark.model]
			schema := definition.Schema.Properties[mark.name]
			schema.Extensions = maps.Clone(schema.Extensions)
			// A boolean, which the generator's comment tags could not say.
			schema.AddExtension(Extension, true)
			definition.Schema.Properties = maps.Clone(definition.Schema.Properties)
			definition.Schema.Properties[mark.name] = schema
			out[mark.model] = definition
		}
		return out
	}, nil
}

// property is a property of a schema.
type property struct {
	model, name string
}

// find follows a path through the schemas to the property that it ends at.
func find(definitions map[string]common.OpenAPIDefinition, model string, path []string) (property, error) {
	schema, ok := definitions[model].Schema.Properties[path[0]]
	switch {
	case !ok:
		return property{}, fmt.Errorf("%s has no property %s", model, path[0])
	case len(path) > 1:
		next := schema.Ref.String()
		if next == "" && len(schema.AllOf) == 1 {
			next = schema.AllOf[0].Ref.String()
		}
		return find(definitions, next[strings.LastIndex(next, "/")+1:], path[1:])
	case !schema.Type.Contains("string"):
		return property{}, fmt.Errorf("property %s of %s is no string", path[0], model)
	}
	return property{model, path[0]}, nil
}
