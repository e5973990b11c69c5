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
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/warning"
	kjson "sigs.k8s.io/json"
)

// scrubAnnotations takes sensitive values out of the annotations of an object
// that is about to be stored (R14): client-side apply keeps a copy of the whole
// manifest in one, and other tools do alike. submitted are the sensitive values
// of obj itself; the stored ones are never looked for, or an annotation would
// tell whether a guess is right.
func scrubAnnotations(ctx context.Context, obj Object, submitted []string) {
	annotations := obj.GetAnnotations()
	clean := maps.Clone(annotations) // the map may still be that of the stored object
	if manifest, ok := annotations[corev1.LastAppliedConfigAnnotation]; ok {
		if manifest, ok = scrubManifest(obj, manifest); ok {
			clean[corev1.LastAppliedConfigAnnotation] = manifest
		} else {
			delete(clean, corev1.LastAppliedConfigAnnotation)
			warning.AddWarning(ctx, "", "annotation "+corev1.LastAppliedConfigAnnotation+" is dropped: it is not one JSON object, and could hold a sensitive value")
		}
	}
	if len(submitted) > 0 {
		replacer := newReplacer(submitted)
		for key, value := range clean {
			clean[key] = replacer.Replace(value)
		}
	}
	if !maps.Equal(clean, annotations) {
		obj.SetAnnotations(clean)
	}
}

// scrubManifest puts the placeholder at the sensitive paths of a manifest in
// JSON. It fails if the manifest is not a single object without duplicate keys:
// what cannot be understood cannot be scrubbed.
func scrubManifest(obj Object, manifest string) (string, bool) {
	var root map[string]any
	strict, err := kjson.UnmarshalStrict([]byte(manifest), &root)
	if err != nil || len(strict) > 0 || root == nil {
		return "", false
	}
	changed := false
	for _, path := range Fields(obj) {
		changed = omitAt(root, strings.Split(path, ".")) || changed
	}
	if !changed {
		return manifest, true
	}
	encoded, err := json.Marshal(root)
	if err != nil {
		return "", false
	}
	if strings.HasSuffix(manifest, "\n") {
		encoded = append(encoded, '\n')
	}
	return string(encoded), true
}

// omitAt replaces the value at path, of whatever type, if there is one.
func omitAt(node map[string]any, path []string) bool {
	value, ok := node[path[0]]
	if !ok || value == nil || value == "" || value == Placeholder {
		return false
	}
	if len(path) == 1 {
		node[path[0]] = Placeholder
		return true
	}
	child, ok := value.(map[string]any)
	if !ok {
		// The type is wrong, so that this is no manifest of an object of ours; what
		// stands here could be the value all the same.
		node[path[0]] = Placeholder
		return true
	}
	return omitAt(child, path[1:])
}

// newReplacer replaces each value by the placeholder, verbatim and as it stands in
// JSON strings of any encoder. Longer texts go first, so that nothing is left of
// one that begins like another.
func newReplacer(values []string) *strings.Replacer {
	var texts []string
	for _, value := range values {
		texts = append(texts, value)
		for _, html := range []bool{true, false} {
			escaped := jsonEscaped(value, html)
			texts = append(texts, escaped, inASCII(escaped))
		}
	}
	slices.SortFunc(texts, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, text := range texts {
		pairs = append(pairs, text, Placeholder)
	}
	return strings.NewReplacer(pairs...)
}

// jsonEscaped is a value as it stands between the quotes of a JSON string.
func jsonEscaped(value string, html bool) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(html)
	if err := encoder.Encode(value); err != nil {
		return value
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(out.String(), "\n"), `"`), `"`)
}

// inASCII escapes what some encoders do not write as it is.
func inASCII(escaped string) string {
	var out strings.Builder
	for _, r := range escaped {
		switch {
		case r < utf8.RuneSelf:
			out.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}
