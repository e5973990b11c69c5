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
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Bodies in audit are masked by what the served type knows. At a sensitive path the
// value is replaced, of whatever type it is. So is all else that the type does not
// expect: a field that it does not have, an object in the place of a text, a text in
// the place of an object. So a name that is spelt wrong, in another case or in another
// place hides no value from the mask.

const (
	// elsewhere begins the path of what is no part of an object of the kind, and
	// stands for an item in the path of what is.
	elsewhere = "[]"

	annotationsPath = "metadata.annotations"

	// maxValues is how many sensitive values of one request are looked for in other
	// places. Only a patch of many operations has more; it is replaced as a whole.
	maxValues = 100

	// maxManifests is how deep manifests in annotations of manifests are masked.
	maxManifests = 3
)

// layout says what the objects of a kind look like, as they are served.
type layout struct {
	root reflect.Type
	// sensitive holds the sensitive paths of root, dotted.
	sensitive map[string]bool
}

func (s layout) masker() *masker {
	return &masker{layout: s, known: map[reflect.Type]map[string]reflect.Type{}}
}

// masker masks one body, in place.
type masker struct {
	layout
	// known are the fields of the types met so far, by their JSON names.
	known map[reflect.Type]map[string]reflect.Type
	// values are the texts found in sensitive fields.
	values []string
	// manifests is how many manifests, one in an annotation of the other, it is inside of.
	manifests int
}

// object masks an object of the kind, or as much of one as a merge patch or an apply
// holds.
func (m *masker) object(node any) any {
	outer := m.values
	m.values = nil
	node = m.structOf(node, m.root, "")
	if len(m.values) > 0 && len(m.values) <= maxValues {
		scrubAnnotationsAt(node, "", newReplacer(m.values))
	}
	m.values = append(outer, m.values...)
	return node
}

// value masks what stands at a path, where the type of the field is t.
func (m *masker) value(node any, t reflect.Type, path string) any {
	if node == nil {
		return nil
	}
	if m.sensitive[path] {
		m.collect(node)
		return omit(node)
	}
	t = pointedTo(t)
	switch {
	case t == m.root || t == reflect.TypeFor[metav1.PartialObjectMetadata]():
		return m.object(node)
	case t == reflect.TypeFor[metav1.TableRow]():
		return m.row(node)
	case opaque(t):
		return node
	case decodesItself(t):
		return ifScalar(node)
	}
	fits := false
	switch t.Kind() {
	case reflect.Struct:
		return m.structOf(node, t, path)
	case reflect.Map:
		return m.mapOf(node, t, path)
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			return m.listOf(node, t, path)
		}
		_, fits = node.(string)
	case reflect.String:
		_, fits = node.(string)
	case reflect.Bool:
		_, fits = node.(bool)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64:
		_, fits = node.(json.Number)
	}
	if !fits {
		return omit(node)
	}
	return node
}

func (m *masker) structOf(node any, t reflect.Type, path string) any {
	object, ok := node.(map[string]any)
	if !ok {
		return omit(node)
	}
	fields := m.fieldsOf(t)
	for _, key := range slices.Collect(maps.Keys(object)) {
		value := object[key]
		if field, ok := fields[key]; ok {
			object[key] = m.value(value, field, joined(path, key))
		} else if masked, ok := m.directive(key, value, fields, path); ok {
			object[key] = masked
		} else {
			delete(object, key)
			object[safeKey(key)] = omit(value)
		}
	}
	return object
}

// directive masks what a strategic merge patch says about the merge; such keys begin
// with a dollar sign, and may name a field.
func (m *masker) directive(key string, value any, fields map[string]reflect.Type, path string) (any, bool) {
	name, of, _ := strings.Cut(key, "/")
	switch name {
	case "$patch":
		how, ok := value.(string)
		return value, ok && slices.Contains([]string{"replace", "merge", "delete"}, how)
	case "$retainKeys":
		keys, ok := value.([]any)
		return value, ok && !slices.ContainsFunc(keys, func(key any) bool {
			field, ok := key.(string)
			return !ok || fields[field] == nil
		})
	case "$setElementOrder", "$deleteFromPrimitiveList":
		if field, ok := fields[of]; ok {
			return m.value(value, field, joined(path, of)), true
		}
	}
	return nil, false
}

func (m *masker) mapOf(node any, t reflect.Type, path string) any {
	object, ok := node.(map[string]any)
	if !ok {
		return omit(node)
	}
	for key, value := range object {
		object[key] = m.entry(key, value, t.Elem(), path+elsewhere)
	}
	return object
}

// entry masks an entry of a map.
func (m *masker) entry(key string, node any, t reflect.Type, path string) any {
	if text, ok := node.(string); ok && path == annotationsPath+elsewhere && key == corev1.LastAppliedConfigAnnotation {
		return m.manifest(text)
	}
	return m.value(node, t, path)
}

// manifest masks a whole object that an annotation keeps as text.
func (m *masker) manifest(text string) string {
	root, err := decodeJSON([]byte(text))
	if _, ok := root.(map[string]any); err != nil || !ok || m.manifests == maxManifests {
		return Placeholder
	}
	m.manifests++
	defer func() { m.manifests-- }()
	encoded, err := encodeJSON(m.object(root))
	if err != nil {
		return Placeholder
	}
	return string(encoded)
}

func (m *masker) listOf(node any, t reflect.Type, path string) any {
	list, ok := node.([]any)
	if !ok {
		return omit(node)
	}
	for i := range list {
		list[i] = m.value(list[i], t.Elem(), path+elsewhere)
	}
	return list
}

// row masks a row of a Table, with the object that it may hold. The cells stay as they
// are: no column may show a sensitive field.
func (m *masker) row(node any) any {
	row, ok := node.(map[string]any)
	if !ok {
		return omit(node)
	}
	object, ok := row["object"]
	delete(row, "object")
	m.structOf(row, reflect.TypeFor[metav1.TableRow](), elsewhere)
	if ok && object != nil {
		row["object"] = m.object(object)
	}
	return row
}

// operations masks a JSON patch.
func (m *masker) operations(operations []any) any {
	type written struct {
		operation map[string]any
		path      string
	}
	var all []written
	carries := m.carries(operations)
	for i, node := range operations {
		operation, ok := node.(map[string]any)
		if !ok {
			operations[i] = omit(node)
			continue
		}
		target, known := m.pointer(operation, "path")
		m.pointer(operation, "from")
		for _, key := range slices.Collect(maps.Keys(operation)) {
			value := operation[key]
			switch key {
			case "path", "from": // above
			case "op":
				if op, ok := value.(string); !ok || !slices.Contains([]string{"add", "remove", "replace", "move", "copy", "test"}, op) {
					operation[key] = omit(value)
				}
			case "value":
				if !known || carries {
					m.collect(value) // perhaps below a sensitive field
					operation[key] = omit(value)
					continue
				}
				operation[key] = m.entry(target.last, value, target.t, target.path)
				all = append(all, written{operation, target.path})
			default:
				delete(operation, key)
				operation[safeKey(key)] = omit(value)
			}
		}
	}
	if len(m.values) > 0 && len(m.values) <= maxValues {
		replacer := newReplacer(m.values)
		for _, w := range all {
			w.operation["value"] = scrubAnnotationsAt(w.operation["value"], w.path, replacer)
		}
	}
	return operations
}

// carries says whether some operation may move or copy to a sensitive path, or above
// or below one: any value of the patch may end there, by whatever way, so that all of
// them are replaced.
func (m *masker) carries(operations []any) bool {
	return slices.ContainsFunc(operations, func(node any) bool {
		operation, ok := node.(map[string]any)
		if !ok || operation["op"] != "move" && operation["op"] != "copy" {
			return false
		}
		pointer, ok := operation["path"].(string)
		if !ok {
			return true
		}
		at, rest := m.find(pointer)
		if rest != "" || at.path == "" || at.path == elsewhere {
			return true
		}
		for path := range m.sensitive {
			if path == at.path || strings.HasPrefix(path, at.path+".") || strings.HasPrefix(at.path, path+".") {
				return true
			}
		}
		return false
	})
}

// place is where a JSON pointer leads to.
type place struct {
	t    reflect.Type
	path string
	last string // the last segment
}

// pointer finds the place of a pointer in an operation, and cuts off from the
// pointer what leads nowhere.
func (m *masker) pointer(operation map[string]any, key string) (at place, known bool) {
	node, ok := operation[key]
	if !ok {
		return place{}, false
	}
	text, ok := node.(string)
	if !ok || text != "" && text[0] != '/' {
		operation[key] = omit(node)
		return place{}, false
	}
	at, rest := m.find(text)
	if rest != "" {
		operation[key] = strings.TrimSuffix(text, rest) + "/…"
		return place{}, false
	}
	return at, true
}

// find follows a JSON pointer as far as it is known; rest is what is not.
func (m *masker) find(pointer string) (at place, rest string) {
	at = place{t: m.root}
	for pointer != "" {
		segment, next := pointer[1:], ""
		if i := strings.IndexByte(segment, '/'); i >= 0 {
			segment, next = segment[:i], segment[i:]
		}
		at.last = strings.NewReplacer("~1", "/", "~0", "~").Replace(segment)
		t := pointedTo(at.t)
		switch {
		case opaque(t):
			return place{t: t, path: elsewhere}, ""
		case decodesItself(t):
			return at, pointer
		case t.Kind() == reflect.Struct:
			field, ok := m.fieldsOf(t)[at.last]
			if !ok {
				return at, pointer
			}
			at.t, at.path = field, joined(at.path, at.last)
		case t.Kind() == reflect.Map:
			at.t, at.path = t.Elem(), at.path+elsewhere
		case t.Kind() == reflect.Slice:
			if _, err := strconv.Atoi(segment); err != nil && segment != "-" {
				return at, pointer
			}
			at.t, at.path = t.Elem(), at.path+elsewhere
		default:
			return at, pointer
		}
		pointer = next
	}
	return at, ""
}

// collect keeps the texts of a sensitive value.
func (m *masker) collect(node any) {
	if len(m.values) > maxValues {
		return
	}
	switch typed := node.(type) {
	case string:
		if typed != "" && typed != Placeholder && !slices.Contains(m.values, typed) {
			m.values = append(m.values, typed)
		}
	case []any:
		for _, item := range typed {
			m.collect(item)
		}
	case map[string]any:
		for _, item := range typed {
			m.collect(item)
		}
	}
}

// fieldsOf returns the fields of a struct by their names in JSON.
func (m *masker) fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields, ok := m.known[t]
	if ok {
		return fields
	}
	fields = map[string]reflect.Type{}
	m.known[t] = fields
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "" && field.Anonymous && pointedTo(field.Type).Kind() == reflect.Struct:
			maps.Copy(fields, m.fieldsOf(pointedTo(field.Type)))
		case name == "-" || !field.IsExported():
		case name == "":
			fields[field.Name] = field.Type
		default:
			fields[name] = field.Type
		}
	}
	return fields
}

// scrubAnnotationsAt replaces values in the annotations of what stands at a path of
// an object, as R14 does with what is stored.
func scrubAnnotationsAt(node any, path string, replacer *strings.Replacer) any {
	object, ok := node.(map[string]any)
	switch path {
	case "", "metadata":
		next := map[string]string{"": "metadata", "metadata": "annotations"}[path]
		if inner, found := object[next]; ok && found {
			object[next] = scrubAnnotationsAt(inner, joined(path, next), replacer)
		}
	case annotationsPath:
		for key, value := range object {
			object[key] = scrubAnnotationsAt(value, annotationsPath+elsewhere, replacer)
		}
	case annotationsPath + elsewhere:
		if text, ok := node.(string); ok {
			return replacer.Replace(text)
		}
	}
	return node
}

// scrubAll replaces values wherever they stand, names included; replacer may be nil.
func scrubAll(node any, replacer *strings.Replacer) any {
	if replacer == nil {
		return node
	}
	switch typed := node.(type) {
	case string:
		return replacer.Replace(typed)
	case []any:
		for i := range typed {
			typed[i] = scrubAll(typed[i], replacer)
		}
	case map[string]any:
		for _, key := range slices.Collect(maps.Keys(typed)) {
			value := scrubAll(typed[key], replacer)
			delete(typed, key)
			typed[replacer.Replace(key)] = value
		}
	}
	return node
}

// omit replaces a value; what is not set stays so.
func omit(node any) any {
	if node == nil || node == "" {
		return node
	}
	return Placeholder
}

func ifScalar(node any) any {
	switch node.(type) {
	case map[string]any, []any:
		return omit(node)
	}
	return node
}

// opaque says whether anything may stand in a field of this type.
func opaque(t reflect.Type) bool {
	return t == reflect.TypeFor[metav1.FieldsV1]() || t == reflect.TypeFor[runtime.RawExtension]() || t.Kind() == reflect.Interface
}

// decodesItself says whether a type is written by rules of its own: times, quantities
// and the like, all of them texts or numbers.
func decodesItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

func pointedTo(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

func joined(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// safeKey is the name of an unknown field, unless it could be a value in the place of a
// name.
func safeKey(key string) string {
	if strings.ContainsAny(key, "./") || safePath(key) != key {
		return Placeholder
	}
	return key
}

// decodeBody decodes a body of an event.
func decodeBody(body *runtime.Unknown) (any, bool) {
	if body.ContentType != runtime.ContentTypeJSON || body.ContentEncoding != "" {
		return nil, false
	}
	root, err := decodeJSON(body.Raw)
	return root, err == nil
}

// decodeJSON decodes one JSON value; of a key given twice the last one counts.
func decodeJSON(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var root any
	if err := decoder.Decode(&root); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return root, nil
}

// encodeBody encodes a body anew, also where nothing was masked: the text that it was
// decoded from may hold more than was decoded.
func encodeBody(root any) *runtime.Unknown {
	text, err := encodeJSON(root)
	if err != nil {
		return omittedBody()
	}
	return &runtime.Unknown{Raw: text, ContentType: runtime.ContentTypeJSON}
}

func encodeJSON(root any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(root); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// statusBody masks an answer that is a Status.
func statusBody(root any, submitted []string) *runtime.Unknown {
	text, err := encodeJSON(root)
	if err != nil {
		return omittedBody()
	}
	status := &metav1.Status{}
	if err := json.Unmarshal(text, status); err != nil {
		return omittedBody()
	}
	if text, err = encodeJSON(maskStatus(status, submitted)); err != nil {
		return omittedBody()
	}
	return &runtime.Unknown{Raw: text, ContentType: runtime.ContentTypeJSON}
}
