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

package projects

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// group and resource are those of Project objects.
	group    = "deckhouse.io"
	resource = "projects"

	// virtualLabel is "true" on the Project objects that Deckhouse makes itself to list
	// what is no project: the namespaces of the platform, and all that are left over.
	virtualLabel = "projects.deckhouse.io/virtual-project"
)

// claimOf reads a Project object. It has no claim if it stands for no project. One that is
// being deleted, or whose name no project can have, keeps its namespaces from others.
func claimOf(object *unstructured.Unstructured) (read claim, has bool) {
	if object.GetLabels()[virtualLabel] == "true" {
		return claim{}, false
	}
	read = claim{project: object.GetName(), void: object.GetDeletionTimestamp() != nil || !isName(object.GetName())}
	// What is no list holds nothing.
	namespaces, _, _ := unstructured.NestedFieldNoCopy(object.Object, "status", "namespaces")
	items, _ := namespaces.([]any)
	for _, item := range items {
		if name := namespaceOf(item); name != "" {
			read.namespaces = append(read.namespaces, name)
		}
	}
	return read, true
}

// namespaceOf reads an item of status.namespaces: a name, as v1alpha2 has it, or an object
// with a name and a kind, as v1alpha3 has it. It returns nothing for anything else.
func namespaceOf(item any) string {
	switch item := item.(type) {
	case string:
		return item
	case map[string]any:
		name, _ := item["name"].(string)
		switch kind, _ := item["kind"].(string); kind {
		case "", "Main", "Additional", "Namespace":
			return name
		}
	}
	return ""
}
