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

package leak_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	jsonType     = "application/json"
	yamlType     = "application/yaml"
	protobufType = "application/vnd.kubernetes.protobuf"
	cborType     = "application/cbor"

	metadataType = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

	jsonPatchType  = "application/json-patch+json"
	mergePatchType = "application/merge-patch+json"
	smPatchType    = "application/strategic-merge-patch+json"
	applyYAMLType  = "application/apply-patch+yaml"
	applyCBORType  = "application/apply-patch+cbor"
)

// table is what the server says that it serves.
type table struct {
	// kinds are those with sensitive fields.
	kinds      map[schema.GroupVersionKind]*kind
	operations []*operation
}

// kind is a kind with sensitive fields.
type kind struct {
	schema.GroupVersionKind
	known
	manifest map[string]any
	fields   []field
	// collection is the path of the objects.
	collection string
}

// field is a sensitive field.
type field struct {
	path []string
	// siblings are the other fields of the struct that it is in.
	siblings map[string]property
}

// operation is something that can be asked for at a path.
type operation struct {
	method, path string
	// action is the verb in the words of OpenAPI; that of a proxy is connect.
	action string
	// kind is nil unless it has sensitive fields. A proxy is of the kind that it is below.
	kind *kind
	// subresource is empty for objects and collections.
	subresource string
	// contentTypes are those of the bodies that it takes.
	contentTypes []string
	dryRun       bool
}

func (o *operation) String() string { return o.method + " " + o.path }

// What is read of an OpenAPI v3 document.
type (
	document struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct{ Schemas map[string]property }
	}
	parameter         struct{ Name string }
	documentOperation struct {
		Action      string                   `json:"x-kubernetes-action"`
		GVK         *schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
		Parameters  []parameter
		RequestBody struct{ Content map[string]any }
	}
	property struct {
		Ref          string `json:"$ref"`
		AllOf        []property
		Type, Format string
		Properties   map[string]property
		Items        *property
		GVKs         []schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
		Sensitive    bool                      `json:"x-kubernetes-sensitive-data"`
	}
)

// readTable reads discovery and OpenAPI, and requires that they agree and that the
// suite knows what to do with all of it.
func (s *suite) readTable(t *testing.T) {
	var root struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	s.getJSON(t, "/openapi/v3", jsonType, &root)
	s.table.kinds = map[schema.GroupVersionKind]*kind{}
	for _, path := range slices.Sorted(maps.Keys(root.Paths)) {
		var doc document
		s.getJSON(t, root.Paths[path].ServerRelativeURL, jsonType, &doc)
		require.NoError(t, s.table.add(doc))
	}
	require.NotEmpty(t, s.table.kinds, "OpenAPI marks no field as sensitive")
	s.checkDiscovery(t)
}

// add adds what a document describes. It fails where the suite would not know what to
// send.
func (table *table) add(doc document) error {
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		if err := table.addKind(doc, doc.Components.Schemas[name]); err != nil {
			return err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		var common []parameter
		if raw, ok := doc.Paths[path]["parameters"]; ok {
			if err := json.Unmarshal(raw, &common); err != nil {
				return err
			}
		}
		for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
			if method == "parameters" {
				continue
			}
			if err := table.addOperation(method, path, doc.Paths[path][method], common); err != nil {
				return err
			}
		}
	}
	return nil
}

// addKind adds a kind if it has sensitive fields.
func (table *table) addKind(doc document, model property) error {
	fields, err := doc.sensitiveFields(model, nil)
	if err != nil || len(model.GVKs) != 1 || len(fields) == 0 {
		return err
	}
	k := &kind{GroupVersionKind: model.GVKs[0], fields: fields}
	var ok bool
	if k.known, ok = knownKinds()[k.GroupKind()]; !ok {
		return fmt.Errorf("%s has sensitive fields: the suite has to be told about it", k.GroupVersionKind)
	}
	table.kinds[k.GroupVersionKind] = k
	return json.Unmarshal([]byte(k.known.manifest), &k.manifest)
}

func (doc document) resolve(p property) property {
	for p.Ref != "" || len(p.AllOf) == 1 && p.AllOf[0].Ref != "" {
		ref := p.Ref
		if ref == "" {
			ref = p.AllOf[0].Ref
		}
		p = doc.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")]
	}
	return p
}

// maxDepth is how deep a schema is looked into; it may have no end.
const maxDepth = 12

// sensitiveFields finds the sensitive fields below a schema.
func (doc document) sensitiveFields(model property, path []string) ([]field, error) {
	model = doc.resolve(model)
	if len(path) > maxDepth {
		return nil, nil
	}
	if model.Items != nil {
		// Where in a list a value belongs cannot be told (R10): the declaration has no way
		// to say it either. In a list of objects of the kind they are those of the objects.
		item := doc.resolve(*model.Items)
		fields, err := doc.sensitiveFields(item, append(path, "[]"))
		if err == nil && len(fields) > 0 && len(item.GVKs) == 0 {
			err = fmt.Errorf("there is a sensitive field in the list at %v", path)
		}
		return nil, err
	}
	var fields []field
	for _, name := range slices.Sorted(maps.Keys(model.Properties)) {
		p := model.Properties[name]
		below := append(slices.Clone(path), name)
		if !p.Sensitive {
			more, err := doc.sensitiveFields(p, below)
			if err != nil {
				return nil, err
			}
			fields = append(fields, more...)
			continue
		}
		f := field{path: below, siblings: map[string]property{}}
		for sibling, of := range model.Properties {
			if sibling != name {
				f.siblings[sibling] = doc.resolve(of)
			}
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// addOperation adds something that can be asked for.
func (table *table) addOperation(method, path string, raw json.RawMessage, common []parameter) error {
	var of documentOperation
	if err := json.Unmarshal(raw, &of); err != nil {
		return err
	}
	o := &operation{method: strings.ToUpper(method), path: path, action: of.Action}
	table.operations = append(table.operations, o)
	o.dryRun = slices.Contains(append(of.Parameters, common...), parameter{"dryRun"})
	o.contentTypes = slices.Collect(maps.Keys(of.RequestBody.Content))
	switch {
	case slices.Contains(o.contentTypes, "*/*"):
		o.contentTypes = []string{jsonType, yamlType, protobufType, cborType}
	case o.action == "patch":
		// Which is not announced, and refused as long as the feature is off.
		o.contentTypes = append(o.contentTypes, applyCBORType)
	}
	slices.Sort(o.contentTypes)
	o.contentTypes = slices.Compact(o.contentTypes)
	switch {
	case o.action == connect:
		o.kind = table.above(path)
		if o.method != http.MethodGet && o.method != http.MethodHead {
			o.contentTypes = proxiedTypes() // it takes all
		}
	case of.GVK != nil:
		o.kind = table.kinds[*of.GVK]
	}
	if o.kind == nil {
		return nil
	}
	before, after, named := strings.Cut(o.path, "/{name}")
	o.subresource, _, _ = strings.Cut(strings.TrimPrefix(after, "/"), "/")
	if !strings.Contains(o.path, "/watch/") && !named {
		o.kind.collection = o.path
	}
	return o.check(before + after)
}

// above is the kind with sensitive fields of the object that a path is below; nil: none.
// Paths are added in their order, collections before what is in them.
func (table *table) above(path string) *kind {
	for _, k := range table.kinds {
		if k.collection != "" && strings.HasPrefix(path, k.collection+"/") {
			return k
		}
	}
	return nil
}

// check fails if the suite does not know how to ask for something.
func (o *operation) check(rest string) error {
	writes := []string{"post", "put", "patch", "delete", "deletecollection"}
	if o.action == connect {
		rest = strings.TrimSuffix(rest, "/{path}")
	}
	if reads := []string{"get", "list", "watch", "watchlist", connect}; !slices.Contains(append(reads, writes...), o.action) {
		return fmt.Errorf("%s is about a kind with sensitive fields: the suite has to know what %q is", o, o.action)
	}
	if strings.Contains(rest, "{") {
		return fmt.Errorf("%s: the suite has to know what to put into the path", o)
	}
	if slices.Contains(writes, o.action) && (!o.dryRun || len(o.contentTypes) == 0) {
		return fmt.Errorf("%s says nothing of bodies or dry runs", o)
	}
	for _, contentType := range o.contentTypes {
		if !slices.Contains([]string{jsonType, yamlType, protobufType, cborType, jsonPatchType, mergePatchType, smPatchType, applyYAMLType, applyCBORType}, contentType) {
			return fmt.Errorf("%s: the suite has to know bodies of type %s", o, contentType)
		}
	}
	return nil
}

// checkDiscovery requires that there is an operation for each verb that discovery names.
func (s *suite) checkDiscovery(t *testing.T) {
	var groups apidiscoveryv2.APIGroupDiscoveryList
	s.getJSON(t, "/apis", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", &groups)
	require.NotEmpty(t, groups.Items)
	has := func(path, action string) bool {
		return slices.ContainsFunc(s.table.operations, func(o *operation) bool {
			return o.path == path && (o.action == action || o.action == connect && strings.EqualFold(o.method, action))
		})
	}
	actions := map[string]string{"create": "post", "update": "put"}
	check := func(object, collection string, verbs metav1.Verbs) {
		for _, verb := range verbs {
			action, path := verb, object
			if renamed, ok := actions[verb]; ok {
				action = renamed
			}
			switch verb {
			case "list", "deletecollection":
				path = collection
			case "create":
				path = collection
			case "watch":
				action, path = "list", collection
			}
			assert.Truef(t, has(path, action), "discovery says that there is %s at %s, and OpenAPI does not", verb, path)
		}
	}
	for _, group := range groups.Items {
		for _, version := range group.Versions {
			for _, resource := range version.Resources {
				collection := fmt.Sprintf("/apis/%s/%s/%s", group.Name, version.Version, resource.Resource)
				if resource.Scope == apidiscoveryv2.ScopeNamespace {
					collection = fmt.Sprintf("/apis/%s/%s/namespaces/{namespace}/%s", group.Name, version.Version, resource.Resource)
				}
				object := collection + "/{name}"
				check(object, collection, resource.Verbs)
				for _, subresource := range resource.Subresources {
					check(object+"/"+subresource.Subresource, object+"/"+subresource.Subresource, subresource.Verbs)
				}
			}
		}
	}
}

// getJSON reads something as the admin.
func (s *suite) getJSON(t testing.TB, path, accept string, into any) {
	a := s.do(t, request{caller: s.admin, method: http.MethodGet, path: path, accept: accept})
	require.Equalf(t, http.StatusOK, a.code, "GET %s: %s", path, a.body)
	require.NoError(t, json.Unmarshal(a.body, into))
}

// A sensitive kind, or a way to ask for one, that the suite does not know, fails it.
func TestTableKnowsWhatItDoesNotKnow(t *testing.T) {
	const gvk = `{"group":"peering.entente.dev","version":"v1alpha1","kind":"ClusterPeer"}`
	model := func(kind, properties string) string {
		return `{"components":{"schemas":{"x":{"x-kubernetes-group-version-kind":[{"group":"peering.entente.dev","version":"v1alpha1","kind":"` + kind + `"}],"properties":` + properties + `}}}`
	}
	operation := func(path, method, action, content string) string {
		return model("ClusterPeer", sensitiveSpec) + `,"paths":{"` + path + `":{"` + method + `":{"x-kubernetes-action":"` + action + `","x-kubernetes-group-version-kind":` + gvk +
			`,"parameters":[{"name":"dryRun"}],"requestBody":{"content":{"` + content + `":{}}}}}}}`
	}
	below := func(path string) string {
		return strings.TrimSuffix(operation("/apis/x", "get", "list", "*/*"), "}}") + `,"/apis/x/` + path + `":{"patch":{"x-kubernetes-action":"connect"}}}}`
	}
	for what, test := range map[string]struct{ document, says string }{
		"all is known":         {operation("/apis/x/{name}/y", "put", "put", "*/*"), ""},
		"nothing is sensitive": {model("Other", `{"spec":{"type":"string"}}`) + "}", ""},
		"a kind":               {model("Other", sensitiveSpec) + "}", "has to be told about it"},
		"a field in a list":    {model("ClusterPeer", `{"spec":{"items":{"properties":{"x":{"x-kubernetes-sensitive-data":true}}}}}`) + "}", "in the list at [spec]"},
		"a verb":               {operation("/apis/x/{name}/scale", "get", "guess", "*/*"), `what "guess" is`},
		"a path":               {operation("/apis/x/{name}/proxy/{path}", "get", "get", "*/*"), "into the path"},
		"a path of a proxy":    {below("{name}/proxy/{path}/{more}"), "into the path"},
		"a proxy":              {below("{name}/proxy/{path}"), ""},
		"a content type":       {operation("/apis/x/{name}", "patch", "patch", "application/new-patch+json"), "bodies of type application/new-patch+json"},
		"no content type":      {strings.Replace(operation("/apis/x/{name}", "put", "put", "*/*"), `"requestBody"`, `"other"`, 1), "nothing of bodies"},
	} {
		t.Run(what, func(t *testing.T) {
			var doc document
			require.NoError(t, json.Unmarshal([]byte(test.document), &doc), test.document)
			err := (&table{kinds: map[schema.GroupVersionKind]*kind{}}).add(doc)
			if test.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.says)
		})
	}
}

const sensitiveSpec = `{"spec":{"properties":{"value":{"type":"string","x-kubernetes-sensitive-data":true}}}}`
