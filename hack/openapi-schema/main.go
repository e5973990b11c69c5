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

// Command openapi-schema prints the OpenAPI v2 schema of the served types. The
// generator of the apply configurations reads it; see hack/generate.sh.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"entente.dev/entente/apis/generated/openapi"
)

func main() {
	definitions := spec.Definitions{}
	for name, definition := range openapi.GetOpenAPIDefinitions(reference) {
		definitions[goName(name)] = v2Schema(definition)
	}
	document := spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger:     "2.0",
		Info:        &spec.Info{InfoProps: spec.InfoProps{Title: "Entente", Version: "unversioned"}},
		Definitions: definitions,
	}}
	if err := json.NewEncoder(os.Stdout).Encode(&document); err != nil {
		fmt.Fprintln(os.Stderr, "could not write the schema:", err)
		os.Exit(1)
	}
}

func reference(name string) spec.Ref {
	return spec.MustCreateRef("#/definitions/" + goName(name))
}

// goName turns the published name of one of our types into the one that follows
// from its Go package, under which the generator looks for it.
func goName(name string) string {
	if rest, ours := strings.CutPrefix(name, "dev.entente."); ours {
		return "dev.entente.entente.apis." + rest
	}
	return name
}

// v2Schema returns the v2 form of a definition. A type that cannot be said in
// v2 as it is in v3 (int-or-string, for one) brings that form as an extension.
func v2Schema(definition common.OpenAPIDefinition) spec.Schema {
	if schema, ok := definition.Schema.Extensions[common.ExtensionV2Schema].(spec.Schema); ok {
		return schema
	}
	return definition.Schema
}
