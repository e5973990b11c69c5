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

package validation

import (
	"strings"
	"unicode"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"entente.dev/entente/apis/core"
	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/apis/validation"
)

// Limits of a Release.
const (
	// MaxResources is that of spec.resources.
	MaxResources = 256
	// MaxReleaseBytes is that of spec.resources and spec.mutations together, as JSON.
	MaxReleaseBytes = 768 << 10
	// MaxObjects and MaxObjectsBytes are those of status.objects: entries, and what they come
	// to as JSON.
	MaxObjects      = 1024
	MaxObjectsBytes = 256 << 10
	// MaxResolvedCluster is that of status.lastAttempted.resolvedCluster, in characters: that
	// of the address which it is.
	MaxResolvedCluster = 2048
	// maxName is how long the name of an object may be, and that of an API group; maxLabel
	// that of a kind, a version and a namespace: as those of Kubernetes are.
	maxName  = 253
	maxLabel = 63
)

// ValidateRelease checks a Release that is to be created. It reports every fault at once.
func ValidateRelease(release *core.Release) field.ErrorList {
	allErrs := validateObjectMeta(&release.ObjectMeta, nil)
	return validation.Authoritative(append(allErrs, validateReleaseSpec(release)...))
}

// ValidateReleaseUpdate checks a Release that is to replace old.
func ValidateReleaseUpdate(release, old *core.Release) field.ErrorList {
	allErrs := validateObjectMeta(&release.ObjectMeta, &old.ObjectMeta)
	if !apiequality.Semantic.DeepEqual(release.Spec, old.Spec) {
		allErrs = append(allErrs, validateReleaseSpec(release)...)
	}
	return validation.Authoritative(allErrs)
}

// ValidateReleaseStatusUpdate checks a Release whose status is to replace that of old.
func ValidateReleaseStatusUpdate(release, old *core.Release) field.ErrorList {
	allErrs := validateObjectMeta(&release.ObjectMeta, &old.ObjectMeta)
	status, path := &release.Status, field.NewPath("status")
	if attempt := status.LastAttempted; attempt != nil {
		allErrs = append(allErrs, validateLength(attempt.ResolvedCluster, MaxResolvedCluster, path.Child("lastAttempted", "resolvedCluster"))...)
	}
	allErrs = append(allErrs, validateObjects(status.Objects, path.Child("objects"))...)
	return validation.Authoritative(append(allErrs, validateConditions(status.Conditions, path.Child("conditions"))...))
}

func validateObjects(objects []core.ReleaseObject, path *field.Path) field.ErrorList {
	if allErrs := validateList(objects, MaxObjects, MaxObjectsBytes, path); len(allErrs) > 0 {
		return allErrs
	}
	var allErrs field.ErrorList
	for i, object := range objects {
		path := path.Index(i)
		allErrs = append(allErrs, validateLength(object.Group, maxName, path.Child("group"))...)
		allErrs = append(allErrs, validateLength(object.Version, maxLabel, path.Child("version"))...)
		allErrs = append(allErrs, validateLength(object.Kind, maxLabel, path.Child("kind"))...)
		allErrs = append(allErrs, validateLength(object.Namespace, maxLabel, path.Child("namespace"))...)
		allErrs = append(allErrs, validateLength(object.Name, maxName, path.Child("name"))...)
	}
	return allErrs
}

func validateReleaseSpec(release *core.Release) field.ErrorList {
	path := field.NewPath("spec")
	if len(release.Spec.Resources) <= MaxResources && releaseSize(&release.Spec) > MaxReleaseBytes {
		return field.ErrorList{field.TooLong(path, "", MaxReleaseBytes)}
	}
	allErrs := validateResources(release.Spec.Resources, release.Namespace, path.Child("resources"))
	for i := range release.Spec.Mutations {
		allErrs = append(allErrs, validateMutation(&release.Spec.Mutations[i], path.Child("mutations").Index(i))...)
	}
	return allErrs
}

// releaseSize is what of a Release grows, as JSON: its objects, which are JSON already, and
// its mutations.
func releaseSize(spec *core.ReleaseSpec) int {
	size := 0
	for i := range spec.Resources {
		size += len(spec.Resources[i].Raw)
	}
	if len(spec.Mutations) > 0 {
		size += sizeOf(spec.Mutations)
	}
	return size
}

// validateResources checks the objects of a Release. What is inside of them beyond what
// identifies them is for the target cluster to judge; a status is accepted, and is not applied
// where it is a subresource.
func validateResources(resources []runtime.RawExtension, namespace string, path *field.Path) field.ErrorList {
	if len(resources) > MaxResources {
		return field.ErrorList{field.TooMany(path, len(resources), MaxResources)}
	}
	var allErrs field.ErrorList
	seen := map[identity]bool{}
	for i := range resources {
		path := path.Index(i)
		r := resource{path: path}
		id := r.read(resources[i])
		if allErrs = append(allErrs, r.faults...); len(r.faults) > 0 {
			continue
		}
		if id.namespace == "" {
			id.namespace = namespace
		}
		if seen[id] {
			allErrs = append(allErrs, field.Duplicate(path, withheld))
		}
		seen[id] = true
	}
	return allErrs
}

// identity is what no two objects of a Release have in common: the version is none of it.
type identity struct{ group, kind, namespace, name string }

// resource is an object of a Release that is read, with what is wrong with it. Its faults
// name paths and quote nothing.
type resource struct {
	path   *field.Path
	faults field.ErrorList
}

func (r *resource) invalid(path *field.Path, fault string) {
	r.faults = append(r.faults, field.Invalid(path, withheld, fault))
}

func (r *resource) read(raw runtime.RawExtension) identity {
	var object map[string]any
	encoded, err := raw.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(encoded, &object)
	}
	if err != nil || object == nil {
		r.invalid(r.path, "must be an object")
		return identity{}
	}
	var id identity
	id.group = r.group(object)
	if id.kind = r.text(object, "kind", r.path); id.kind != "" && !isKind(id.kind) {
		r.invalid(r.path.Child("kind"), "must be the name of a kind")
	}
	if _, list := object["items"]; list || id.kind == "List" {
		r.invalid(r.path, "must be one object, not a list")
	}
	path := r.path.Child("metadata")
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		r.faults = append(r.faults, field.Required(path, "must be an object"))
		return id
	}
	if id.name = r.text(metadata, "name", path); id.name != "" && !isName(id.name) {
		r.invalid(path.Child("name"), "must be the name of an object")
	}
	if value, there := metadata["namespace"]; there {
		var ok bool
		if id.namespace, ok = value.(string); !ok || id.namespace != "" && len(utilvalidation.IsDNS1123Label(id.namespace)) > 0 {
			r.invalid(path.Child("namespace"), "must be the name of a namespace")
		}
	}
	r.metadata(metadata, path)
	return id
}

// isKind says whether a text can be a kind, as one of a CustomResourceDefinition is: letters,
// digits and "-" of ASCII. Letters beyond it have some of ASCII as their small ones.
func isKind(text string) bool {
	beyond := func(r rune) bool { return r > unicode.MaxASCII }
	return !strings.ContainsFunc(text, beyond) && len(utilvalidation.IsDNS1035Label(strings.ToLower(text))) == 0
}

// isName says whether a text can be the name of an object of some kind. It is shown to people, in
// messages and on terminals, so it holds nothing that these would take for something else.
func isName(text string) bool {
	unseen := func(r rune) bool { return !unicode.IsPrint(r) }
	return len(text) <= maxName && len(content.IsPathSegmentName(text)) == 0 && !strings.ContainsFunc(text, unseen)
}

// text returns a string that is required.
func (r *resource) text(in map[string]any, name string, path *field.Path) string {
	text, ok := in[name].(string)
	if !ok || text == "" {
		r.faults = append(r.faults, field.Required(path.Child(name), "must be a string"))
	}
	return text
}

func (r *resource) group(object map[string]any) string {
	apiVersion := r.text(object, "apiVersion", r.path)
	if apiVersion == "" {
		return ""
	}
	parsed, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || len(utilvalidation.IsDNS1035Label(parsed.Version)) > 0 || parsed.Group != "" && len(utilvalidation.IsDNS1123Subdomain(parsed.Group)) > 0 || parsed.Group == "" && strings.Contains(apiVersion, "/") {
		r.invalid(r.path.Child("apiVersion"), "must be an API version, such as v1 or apps/v1")
	}
	return parsed.Group
}

// metadata checks what metadata must not hold: what the target cluster writes itself, what
// points at objects there that the author cannot know, and what Entente knows its objects by.
func (r *resource) metadata(metadata map[string]any, path *field.Path) {
	for _, name := range []string{"generateName", "managedFields", "ownerReferences", "resourceVersion", "uid"} {
		if _, there := metadata[name]; there {
			r.faults = append(r.faults, field.Forbidden(path.Child(name), "must not be set in an object to apply"))
		}
	}
	value, there := metadata["labels"]
	if !there {
		return
	}
	labels, ok := value.(map[string]any)
	if !ok {
		r.invalid(path.Child("labels"), "must be an object")
	}
	if _, there := labels[corev1alpha1.LabelRelease]; there {
		r.faults = append(r.faults, field.Forbidden(path.Child("labels").Key(corev1alpha1.LabelRelease), "is set by Entente"))
	}
}

// validateMutation checks the form of a mutation. Whether its field may be set, and whether
// its expression compiles, shows when it is carried out.
func validateMutation(mutation *core.ReleaseMutation, path *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	if pointer := mutation.Path; pointer != "" && !isPointer(pointer) {
		allErrs = append(allErrs, field.Invalid(path.Child("path"), withheld, "must be a JSON pointer (RFC 6901), such as /spec/replicas"))
	}
	return allErrs
}

// isPointer says whether a text is a JSON pointer that is not to a whole document.
func isPointer(text string) bool {
	if !strings.HasPrefix(text, "/") {
		return false
	}
	for _, escaped := range strings.Split(text, "~")[1:] {
		if escaped == "" || escaped[0] != '0' && escaped[0] != '1' {
			return false
		}
	}
	return true
}
