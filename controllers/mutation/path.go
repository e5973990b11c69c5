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

package mutation

import (
	"strings"
	"unicode/utf8"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
)

// Fields of an object that are not as any other.
const (
	keyMetadata    = "metadata"
	keyLabels      = "labels"
	keyAnnotations = "annotations"
	keyItems       = "items"
)

// pointer is a JSON pointer, split and unescaped.
type pointer []string

// isText tells whether the value that it points to has to be a string: that of a label or
// of an annotation. Of the metadata nothing else may be written.
func (p pointer) isText() bool { return p[0] == keyMetadata }

// parsePath reads a JSON pointer, and objects to one that a mutation may not have.
func parsePath(text string, kind string) (pointer, *objection) {
	switch {
	case utf8.RuneCountInString(text) > MaxPath:
		return nil, object("is longer than 1,024 characters")
	case !utf8.ValidString(text):
		return nil, object("is not UTF-8")
	case text == "":
		return nil, object("is the whole object, which is not replaced")
	case text[0] != '/':
		return nil, object("is no JSON pointer: those begin with a slash")
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	parts := pointer(strings.Split(text[1:], "/"))
	for i, part := range parts {
		if part == "" {
			return nil, object("has a part that is empty")
		}
		if !isEscaped(part) {
			return nil, object("is no JSON pointer: in those a tilde is followed by 0 or 1")
		}
		parts[i] = unescape.Replace(part)
	}
	return parts, forbidden(parts, kind)
}

// isEscaped tells whether each tilde of a part is the beginning of an escape.
func isEscaped(part string) bool {
	for {
		_, after, found := strings.Cut(part, "~")
		if !found {
			return true
		}
		if after == "" || after[0] != '0' && after[0] != '1' {
			return false
		}
		part = after[1:]
	}
}

// forbidden objects to a path to what says which object it is, to whom it belongs, or to
// what the API server or Entente writes. It does not mind the case: there are servers that
// read JSON without minding it.
func forbidden(parts pointer, kind string) *objection {
	switch root := parts[0]; {
	case strings.EqualFold(root, "apiVersion"), strings.EqualFold(root, "kind"):
		return object("is in what says which object it is")
	case strings.EqualFold(root, "status"):
		return object("is in the status, which is not applied")
	case strings.EqualFold(root, keyItems) && strings.HasSuffix(strings.ToLower(kind), "list"):
		return object("is in a list of objects, which are not changed through it")
	case !strings.EqualFold(root, keyMetadata):
		return nil
	}
	if parts[0] != keyMetadata || len(parts) != 3 || parts[1] != keyLabels && parts[1] != keyAnnotations {
		return object("is in the metadata, of which only single labels and annotations are set")
	}
	if parts[1] == keyLabels && strings.EqualFold(parts[2], corev1alpha1.LabelRelease) {
		return object("is the label that Entente writes itself")
	}
	return nil
}
