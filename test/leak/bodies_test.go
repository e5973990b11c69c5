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
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"sigs.k8s.io/yaml"

	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/test/leak/search"
)

// known is what the suite has to be told about a kind with sensitive fields.
type known struct {
	// manifest is the least that the server accepts as an object, such that all sensitive
	// fields may be set.
	manifest string
	// genuine returns a value as it is in earnest, all of which begin with public, and
	// what is secret in it.
	genuine func() (value string, secrets map[string]string, err error)
	public  string
}

func knownKinds() map[schema.GroupKind]known {
	return map[schema.GroupKind]known{
		{Group: "peering.entente.dev", Kind: "ClusterPeer"}: {`{"spec":{"type":"Join"}}`, connectionString, "entente1.eyJpZCI6I"},
	}
}

// connectionString is one that another cluster could have issued.
func connectionString() (value string, secrets map[string]string, err error) {
	token, err := connstring.NewToken(rand.Reader)
	if err != nil {
		return "", nil, err
	}
	id, err := connstring.NewTokenID(rand.Reader)
	if err != nil {
		return "", nil, err
	}
	value, err = connstring.ConnectionString{
		TokenID: id, Token: token, Endpoints: []string{"https://gateway.invalid"}, Pins: []connstring.Pin{{1}},
		ClusterUUID: "6f9619ff-8b86-4011-b42d-00c04fc964ff", ExpiresAt: time.Now().Add(time.Hour), Protocol: connstring.ProtocolRange{Min: 1, Max: 1},
	}.Encode()
	return value, map[string]string{"token": string(token.Reveal()), "token in base64": base64.RawURLEncoding.EncodeToString(token.Reveal())}, err
}

const (
	placeholder = "<omitted>"

	// name stands in bodies for the name of the object.
	name = "name-of-the-object"

	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// canaries are what is written into sensitive fields, and around them.
type canaries struct {
	// stored is what the fields hold to begin with, one a field, the first one a genuine
	// value with the secrets inside. written is what is written into them. Who has the
	// right sees all of these.
	stored  []search.Canary
	inside  []search.Canary
	written search.Canary
	// astray is what stands in the wrong place, or in a body that cannot be read: it
	// is shown to nobody.
	astray search.Canary
	// between is what the fields of one object hold while somebody lacks the right.
	between search.Canary
}

// seen are the canaries that whoever has the right is shown.
func (c canaries) seen() []search.Canary {
	return slices.Concat(c.stored, c.inside, []search.Canary{c.written, c.between})
}

// body is a body of a write.
type body struct {
	what, text string
	// accepted says that whoever may write gets no error.
	accepted bool
	// plain is the write that one would make. Its answer is asked for in every form.
	plain bool
	// strict says that it depends on fieldValidation what comes of it.
	strict bool
	// spends says that it may leave the object without a value.
	spends bool
}

// bodiesOf returns what is sent to an operation as a content type.
func (c canaries) bodiesOf(o *operation, contentType string) []body {
	k := o.kind
	switch contentType {
	case jsonPatchType:
		return c.jsonPatches(k)
	case protobufType, cborType, applyCBORType:
		return c.binary(k, contentType)
	}
	var all []body
	create := o.action == "post"
	if o.action == "delete" || o.action == "deletecollection" {
		// It takes options; whoever sends the object instead finds out.
		all = append(all, body{what: "nothing", plain: contentType == jsonType, accepted: true}, body{what: "an object", text: jsonOf(k.object(c.astray.Value()))})
	} else {
		all = append(all, c.objects(k, create)...)
		if contentType == mergePatchType || contentType == smPatchType {
			for i := range k.fields {
				parent := k.fields[i].path[:len(k.fields[i].path)-1]
				all = append(all, body{what: "null at " + strings.Join(parent, "."), text: jsonOf(k.with(k.object(""), parent, nil)), accepted: true, spends: true})
			}
		}
		if contentType == smPatchType {
			all = append(all, c.directives(k)...)
		}
	}
	if contentType == yamlType || contentType == applyYAMLType {
		for i := range all {
			if inYAML, err := yaml.JSONToYAML([]byte(all[i].text)); err == nil && all[i].text != "" {
				all[i].text = string(inYAML)
			}
		}
		// Some of what is no JSON is YAML, and accepted.
		all = append(all, brokenYAML(k, c.written.Value())...)
		return append(all, brokenJSON(k, c.written.Value())...)
	}
	return append(all, brokenJSON(k, c.astray.Value())...)
}

// object is an object with one value in each sensitive field, unless that is empty.
func (k *kind) object(value string) map[string]any {
	obj := runtime.DeepCopyJSON(k.manifest)
	obj["apiVersion"], obj["kind"] = k.GroupVersion().String(), k.Kind
	obj["metadata"] = map[string]any{"name": name}
	for _, f := range k.fields {
		if value != "" {
			k.with(obj, f.path, value)
		}
	}
	return obj
}

// with sets something in an object, whatever stands there.
func (k *kind) with(obj map[string]any, path []string, value any) map[string]any {
	if err := unstructured.SetNestedField(obj, value, path...); err != nil {
		panic(fmt.Sprintf("no place for %v in a %s: %v", path, k.Kind, err))
	}
	return obj
}

func jsonOf(node any) string {
	text, err := json.Marshal(node)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// objects are whole objects, as they are posted, put and applied, and as merge patches
// may be.
func (c canaries) objects(k *kind, create bool) []body {
	written, astray := c.written.Value(), c.astray.Value()
	all := []body{
		{what: "the values", text: jsonOf(k.object(written)), plain: true, accepted: true},
		{what: "the placeholder", text: jsonOf(k.object(placeholder)), accepted: !create},
		{what: "copies in annotations", accepted: true, text: jsonOf(k.with(k.object(written), []string{"metadata", "annotations"}, map[string]any{
			"copy": written, "json": jsonOf(written), lastApplied: jsonOf(k.object(astray)),
		}))},
		{what: "a manifest in an annotation that cannot be read", accepted: true, text: jsonOf(k.with(k.object(written), []string{"metadata", "annotations"}, map[string]any{
			lastApplied: jsonOf(k.object(astray))[:100],
		}))},
	}
	set := func(what string, value any, path ...string) {
		all = append(all, body{what: what, text: jsonOf(k.with(k.object(written), path, value))})
	}
	if !create {
		set("another version of it", "1", "metadata", "resourceVersion")
	}
	set("another object", "6f9619ff-8b86-4011-b42d-00c04fc964ff", "metadata", "uid")
	set("another name", "of-another-object", "metadata", "name")
	set("another kind", written, "kind")
	set("another version", written, "apiVersion")
	set("the kind is a list", []any{astray}, "kind")
	set("metadata is a value", astray, "metadata")
	set("labels are a value", astray, "metadata", "labels")
	set("a label is a list", []any{astray}, "metadata", "labels", "x")
	set("a time is a value", written, "metadata", "creationTimestamp")
	set("an owner is a value", []any{astray}, "metadata", "ownerReferences")
	set("managedFields are a value", astray, "metadata", "managedFields")
	for _, f := range k.fields {
		last := len(f.path) - 1
		at := strings.Join(f.path, ".") + ": "
		set(at+"an object", map[string]any{"value": astray}, f.path...)
		set(at+"a list", []any{astray}, f.path...)
		set(at+"a number", int64(1234567890123456789), f.path...)
		set(at+"too long", strings.Repeat(astray+" ", 200), f.path...)
		for depth := 1; depth <= last; depth++ {
			set(at+"a value at "+f.path[depth-1], astray, f.path[:depth]...)
			set(at+"a list at "+f.path[depth-1], []any{astray}, f.path[:depth]...)
		}
		below := func(name string) []string { return append(slices.Clone(f.path[:last]), name) }
		for _, sibling := range slices.Sorted(maps.Keys(f.siblings)) {
			value := written
			if of := f.siblings[sibling]; of.Type == "string" && of.Format == "" {
				value = strings.Repeat(written, 100) // else it might be taken
			}
			set(at+"a value at "+sibling, value, below(sibling)...)
		}
		misspelt := k.with(k.object(written), below(f.path[last]+"x"), astray)
		all = append(all, body{what: at + "misspelt", text: jsonOf(misspelt), strict: true})
		asName := k.with(k.object(written), below(astray), "x")
		all = append(all, body{what: at + "a value for a name", text: jsonOf(asName), strict: true})
		key := strconv.Quote(f.path[last]) + ":"
		all = append(all, body{what: at + "twice", text: strings.ReplaceAll(jsonOf(k.object(written)), key, key+jsonOf(written)+","+key), strict: true})
	}
	return all
}

// brokenJSON are texts that are no JSON; some of them are YAML.
func brokenJSON(k *kind, value string) []body {
	quoted, text := jsonOf(value), jsonOf(k.object(value))
	end := strings.Index(text, quoted) + len(quoted)
	return []body{
		{what: "cut off behind the value", text: text[:end], spends: true},
		{what: "cut off in the value", text: text[:end-5], spends: true},
		{what: "without quotes", text: strings.ReplaceAll(text, quoted, value), spends: true},
		{what: "an escape that is none", text: strings.ReplaceAll(text, quoted, `"`+`\x`+quoted[1:]), spends: true},
		{what: "a line break in the value", text: strings.ReplaceAll(text, quoted, "\"\n"+quoted[1:]), spends: true},
		{what: "bytes that are no text", text: strings.ReplaceAll(text, quoted, "\"\xff\x00"+quoted[1:]), spends: true},
		{what: "a comma too much", text: strings.ReplaceAll(text, quoted, quoted+","), spends: true},
		{what: "a comma too few", text: strings.ReplaceAll(text, quoted, quoted+" "+quoted), spends: true},
		{what: "something before it", text: value + text, spends: true},
		{what: "something behind it", text: text + value, spends: true},
		{what: "the value alone", text: quoted, spends: true},
		{what: "the bare value alone", text: value, spends: true},
		{what: "a list", text: "[" + quoted + "]", spends: true},
	}
}

// brokenYAML are texts that are no YAML, or none of an object.
func brokenYAML(k *kind, value string) []body {
	var plain strings.Builder // characters that mean nothing in YAML
	for _, r := range value {
		if r >= '0' && r <= 'z' && r != '\\' && r != '<' {
			plain.WriteRune(r)
		}
	}
	bare := plain.String()[:16] + plain.String()[len(plain.String())-16:]
	var all []body
	for what, text := range map[string]string{
		"an open quote": `"` + bare, "a colon": bare + ": " + bare, "an alias": "*" + bare, "a tag": "!!" + bare + " " + bare, "an integer": "!!int " + bare, "a tab": "\n\t" + bare + ": x",
	} {
		head := "apiVersion: " + k.GroupVersion().String() + "\nkind: " + k.Kind + "\nmetadata:\n  name: " + name + "\n"
		path := k.fields[0].path
		for depth, segment := range path {
			head += strings.Repeat("  ", depth) + segment + ":"
			if depth < len(path)-1 {
				head += "\n"
			}
		}
		all = append(all, body{what: what + " in YAML", text: head + " " + text + "\n", spends: true})
	}
	return all
}

// directives are what a strategic merge patch may say about the merge.
func (c canaries) directives(k *kind) []body {
	written, astray := c.written.Value(), c.astray.Value()
	var all []body
	for _, f := range k.fields {
		at := strings.Join(f.path, ".") + ": "
		for depth := range f.path {
			where := f.path[:depth]
			directive := func(what, key string, value any, accepted bool) {
				obj := k.with(k.object(written), append(slices.Clone(where), key), value)
				all = append(all, body{what: at + what + " at " + strings.Join(where, "."), text: jsonOf(obj), accepted: accepted && depth > 1, spends: accepted})
			}
			directive("replace", "$patch", "replace", true)
			directive("an unknown directive", "$patch", astray, false)
			directive("keys that are none", "$retainKeys", []any{astray}, false)
			directive("no keys", "$retainKeys", astray, false)
		}
	}
	return all
}

// jsonPatches are lists of operations.
func (c canaries) jsonPatches(k *kind) []body {
	written, astray := c.written.Value(), c.astray.Value()
	type operations []map[string]any
	pointer := func(path []string) string { return "/" + strings.Join(path, "/") }
	escape := strings.NewReplacer("~", "~0", "/", "~1").Replace
	var all []body
	patch := func(what string, o operations) *body {
		all = append(all, body{what: what, text: jsonOf(o)})
		return &all[len(all)-1]
	}
	var set, keep operations
	for _, f := range k.fields {
		set = append(set, map[string]any{"op": "add", "path": pointer(f.path), "value": written})
		keep = append(keep, map[string]any{"op": "replace", "path": pointer(f.path), "value": placeholder})
	}
	p := patch("the values", set)
	p.plain, p.accepted = true, true
	patch("the placeholder", keep).accepted = true
	p = patch("everything", operations{{"op": "replace", "path": "", "value": k.object(written)}})
	p.spends = true
	patch("everything, by a value", operations{{"op": "replace", "path": "", "value": astray}})
	patch("everything tested", operations{{"op": "test", "path": "", "value": k.object(astray)}})
	patch("no such operation", operations{{"op": astray, "path": "/spec", "value": astray}})
	patch("no such path", operations{{"op": "replace", "path": "/" + escape(astray), "value": astray}})
	patch("no path", operations{{"op": "replace", "path": map[string]any{"x": astray}, "value": astray}})
	patch("no pointer", operations{{"op": "replace", "path": astray, "value": astray}})
	patch("a field of no operation", operations{{"op": "add", "path": "/metadata/labels", "value": map[string]any{}, astray: astray}})
	all = append(all, body{what: "an operation alone", text: jsonOf(map[string]any{"op": "add", "path": "/spec", "value": astray})}, body{what: "no operations", text: jsonOf([]any{astray, []any{astray}})})
	annotations := map[string]any{"op": "add", "path": "/metadata/annotations", "value": map[string]any{}}
	for i, f := range k.fields {
		at := strings.Join(f.path, ".") + ": "
		path, parent := pointer(f.path), pointer(f.path[:len(f.path)-1])
		// Copies of what is stored are copies of the placeholder, for everyone.
		patch(at+"copied into an annotation", operations{annotations, {"op": "copy", "from": path, "path": "/metadata/annotations/x~1y"}}).accepted = true
		patch(at+"copied into a label", operations{{"op": "add", "path": "/metadata/labels", "value": map[string]any{}}, {"op": "copy", "from": path, "path": "/metadata/labels/x"}})
		patch(at+"copied into a finalizer", operations{{"op": "add", "path": "/metadata/finalizers", "value": []any{}}, {"op": "copy", "from": path, "path": "/metadata/finalizers/-"}})
		patch(at+"its parent copied into an annotation", operations{annotations, {"op": "copy", "from": parent, "path": "/metadata/annotations/x"}})
		p = patch(at+"moved into an annotation", operations{annotations, {"op": "move", "from": path, "path": "/metadata/annotations/x"}})
		p.spends = true
		patch(at+"moved into the name", operations{{"op": "move", "from": path, "path": "/metadata/name"}}).spends = true
		for what, value := range map[string]any{"the stored value": c.stored[i].Value(), "a guess": astray, "an object": map[string]any{"x": astray}, "the placeholder": placeholder} {
			patch(at+what+" tested", operations{{"op": "test", "path": path, "value": value}})
			patch(at+what+" tested in its parent", operations{{"op": "test", "path": parent, "value": map[string]any{f.path[len(f.path)-1]: value}}})
		}
		patch(at+"an object", operations{{"op": "replace", "path": path, "value": map[string]any{"value": astray}}})
		patch(at+"a list", operations{{"op": "add", "path": path, "value": []any{astray}}})
		patch(at+"a value for its parent", operations{{"op": "replace", "path": parent, "value": astray}})
		patch(at+"its parent with more", operations{{"op": "replace", "path": parent, "value": map[string]any{f.path[len(f.path)-1]: written, "x": astray}}}).strict = true
		patch(at+"below it", operations{{"op": "add", "path": path + "/" + escape(astray), "value": astray}})
		patch(at+"beside it", operations{{"op": "add", "path": parent + "/" + escape(astray), "value": astray}}).strict = true
		patch(at+"from nowhere", operations{{"op": "copy", "from": path + "~1" + escape(astray), "path": path}})
		patch(at+"no value", operations{{"op": "add", "path": path}}).spends = true
		patch(at+"removed", operations{{"op": "remove", "path": path}}).spends = true
		patch(at+"a copy in an annotation", operations{annotations, {"op": "add", "path": "/metadata/annotations/x", "value": "x" + written}, {"op": "add", "path": path, "value": written}}).accepted = true
	}
	text := jsonOf(set)
	end := strings.Index(text, jsonOf(written)) + len(jsonOf(written))
	text = strings.ReplaceAll(text, jsonOf(written), jsonOf(astray))
	return append(all, body{what: "cut off", text: text[:end]}, body{what: "something before it", text: astray + text}, body{what: "the bare value", text: astray}, body{what: "the value", text: jsonOf(astray)})
}

// binary are bodies of content types that the server may not take at all.
func (c canaries) binary(k *kind, contentType string) []body {
	encode := func(obj map[string]any) string {
		var out []byte
		var err error
		if contentType == protobufType {
			unknown := &runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: k.GroupVersion().String(), Kind: k.Kind}, Raw: []byte(jsonOf(obj))}
			out, err = unknown.Marshal()
			out = append([]byte("k8s\x00"), out...)
		} else {
			out, err = direct.Marshal(obj)
		}
		if err != nil {
			panic(err)
		}
		return string(out)
	}
	astray := c.astray.Value()
	whole := encode(k.object(astray))
	return []body{
		{what: "the values", text: encode(k.object(c.written.Value())), plain: true},
		{what: "an object for a value", text: encode(k.with(k.object(astray), k.fields[0].path, map[string]any{"value": astray}))},
		{what: "cut off", text: whole[:len(whole)-10]},
		{what: "something before it", text: astray + whole},
		{what: "the bare value", text: astray},
	}
}
