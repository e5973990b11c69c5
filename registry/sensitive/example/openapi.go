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

package main

import (
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// The names of the schemas. openapi-gen writes all of this in a real project.
const (
	hookModel     = "com.example.hooks.v1.Hook"
	hookListModel = "com.example.hooks.v1.HookList"
	hookSpecModel = "com.example.hooks.v1.HookSpec"
	hookAuthModel = "com.example.hooks.v1.HookAuth"
	metaModel     = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
	listMetaModel = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"
)

// OpenAPIModelName names the schema of a Hook.
func (HookV1) OpenAPIModelName() string { return hookModel }

// OpenAPIModelName names the schema of a HookList.
func (HookV1List) OpenAPIModelName() string { return hookListModel }

// definitions are the schemas of the example, and as much of the metadata as it needs.
func definitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	text, number := *spec.StringProperty(), *spec.Int64Property()
	to := func(model string) spec.Schema {
		target := ref(model)
		return *spec.RefSchema(target.String())
	}
	object := func(properties map[string]spec.Schema, needs ...string) common.OpenAPIDefinition {
		return common.OpenAPIDefinition{
			Schema:       spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}, Properties: properties}},
			Dependencies: needs,
		}
	}
	item := to(hookModel)
	managers := spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
	return map[string]common.OpenAPIDefinition{
		hookModel:     object(map[string]spec.Schema{"apiVersion": text, "kind": text, "metadata": to(metaModel), "spec": to(hookSpecModel)}, metaModel, hookSpecModel),
		hookListModel: object(map[string]spec.Schema{"apiVersion": text, "kind": text, "metadata": to(listMetaModel), "items": *spec.ArrayProperty(&item)}, listMetaModel, hookModel),
		hookSpecModel: object(map[string]spec.Schema{"url": text, "auth": to(hookAuthModel)}, hookAuthModel),
		hookAuthModel: object(map[string]spec.Schema{"user": text, "token": text}),
		listMetaModel: object(map[string]spec.Schema{"resourceVersion": text, "continue": text}),
		metaModel: object(map[string]spec.Schema{
			"name": text, "generateName": text, "uid": text, "resourceVersion": text, "generation": number, "creationTimestamp": text, "deletionTimestamp": text,
			"labels": *spec.MapProperty(&text), "annotations": *spec.MapProperty(&text), "finalizers": *spec.ArrayProperty(&text), "managedFields": *spec.ArrayProperty(&managers),
		}),
	}
}
