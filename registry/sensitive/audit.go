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
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/klog/v2"
)

// AuditedResource is a resource whose bodies are understood in audit events: those of
// the resource itself and of its subresources status and sensitive.
type AuditedResource struct {
	Resource schema.GroupVersionResource
	Kind     string
}

// NewAuditBackend masks audit events before delegate gets them, for every caller
// (R16). It must be the outermost backend: queues and whatever cuts large events then
// see masked ones only.
//
// resources are those of the API groups in question; the sensitive fields of a kind are
// the ones that its internal version in scheme names, and a kind that names none
// passes as it is. A body of these groups that is not of a resource in the list is
// replaced as a whole, as is whatever cannot be understood.
func NewAuditBackend(delegate audit.Backend, scheme *runtime.Scheme, resources ...AuditedResource) (audit.Backend, error) {
	if delegate == nil {
		return nil, errors.New("could not mask audit: no backend")
	}
	b := &auditBackend{Backend: delegate, groups: sets.New[string](), kinds: map[schema.GroupVersionResource]*auditedKind{}}
	for _, resource := range resources {
		kind, err := newAuditedKind(scheme, resource)
		if err != nil {
			return nil, fmt.Errorf("could not mask audit of %s: %w", resource.Resource.GroupResource(), err)
		}
		b.groups.Insert(resource.Resource.Group)
		b.kinds[resource.Resource] = kind
	}
	return b, nil
}

type auditBackend struct {
	audit.Backend
	groups sets.Set[string]
	kinds  map[schema.GroupVersionResource]*auditedKind
}

// String names the backend in logs.
func (b *auditBackend) String() string { return fmt.Sprintf("sensitive<%s>", b.Backend) }

// ProcessEvents implements audit.Sink. The events belong to the caller, who goes on
// using them, so that copies are masked.
func (b *auditBackend) ProcessEvents(events ...*auditinternal.Event) bool {
	masked := make([]*auditinternal.Event, len(events))
	for i, event := range events {
		masked[i] = b.mask(event)
	}
	return b.Backend.ProcessEvents(masked...)
}

func (b *auditBackend) mask(event *auditinternal.Event) (out *auditinternal.Event) {
	shallow := *event
	out = &shallow
	out.Annotations = maps.Clone(event.Annotations)
	defer func() {
		// A backend that panics ends the request. What cannot be masked is left out.
		if r := recover(); r != nil {
			klog.Background().Error(errPanicked, "An audit event could not be masked, its bodies are left out", "auditID", event.AuditID, "stack", string(debug.Stack()))
			blank(out)
		}
	}()
	ours := event.ObjectRef != nil && b.groups.Has(event.ObjectRef.APIGroup)
	switch {
	case ours:
		b.maskOurs(out)
	case event.ObjectRef == nil && event.RequestObject != nil:
		out.RequestObject = omittedBody()
	}
	if event.Stage == auditinternal.StagePanic && event.ResponseStatus != nil {
		// Of whatever group: the text is that of the panic.
		out.ResponseStatus = maskStatus(event.ResponseStatus, nil)
	}
	return out
}

// maskOurs masks an event of one of the API groups.
func (b *auditBackend) maskOurs(out *auditinternal.Event) {
	ref := out.ObjectRef
	kind := b.kinds[schema.GroupVersionResource{Group: ref.APIGroup, Version: ref.APIVersion, Resource: ref.Resource}]
	if kind == nil || !understoodSubresource(ref.Subresource) {
		blank(out)
		return
	}
	if len(kind.sensitive) == 0 {
		return
	}
	var submitted []string
	out.RequestObject, submitted = kind.request(out.Verb, out.RequestObject)
	out.ResponseObject = kind.response(out.ResponseObject, submitted)
	out.ResponseStatus = maskStatus(out.ResponseStatus, submitted)
	if replacer := distinctive(submitted); replacer != nil {
		for key, value := range out.Annotations {
			out.Annotations[key] = replacer.Replace(value)
		}
	}
}

// distinctiveLength is the length in bytes from which on a value that a request
// submits is looked for in all of its event: in other fields, names, annotations. A
// caller who writes a short word as a value must not be able to blot out what he did
// and why he was let in.
const distinctiveLength = 16

// distinctive replaces the values that are long enough; it is nil if there are none.
func distinctive(values []string) *strings.Replacer {
	values = slices.DeleteFunc(slices.Clone(values), func(value string) bool { return len(value) < distinctiveLength })
	if len(values) == 0 {
		return nil
	}
	return newReplacer(values)
}

func understoodSubresource(name string) bool {
	return name == "" || name == "status" || name == SubresourceName
}

// blank leaves out everything in an event that could hold a value.
func blank(event *auditinternal.Event) {
	if event.RequestObject != nil {
		event.RequestObject = omittedBody()
	}
	if event.ResponseObject != nil {
		event.ResponseObject = omittedBody()
	}
	event.ResponseStatus = maskStatus(event.ResponseStatus, nil)
	// The authorizer's are made of the request line and of who asks; admission plugins
	// have seen the body.
	event.Annotations = maps.Clone(event.Annotations)
	maps.DeleteFunc(event.Annotations, func(key, _ string) bool { return !strings.HasPrefix(key, "authorization.k8s.io/") })
}

// omittedBody stands in the place of a body that is replaced as a whole.
func omittedBody() *runtime.Unknown {
	return &runtime.Unknown{Raw: []byte(`"` + Placeholder + `"`), ContentType: runtime.ContentTypeJSON}
}

// saysNothingOfBodies are the reasons of failures whose texts are made of the request
// line, of who asks, and of names. The texts of all others may quote what could not be
// decoded, or validated, or what went wrong inside.
func saysNothingOfBodies(reason metav1.StatusReason) bool {
	switch reason {
	case metav1.StatusReasonUnauthorized, metav1.StatusReasonForbidden, metav1.StatusReasonNotFound, metav1.StatusReasonAlreadyExists,
		metav1.StatusReasonConflict, metav1.StatusReasonGone, metav1.StatusReasonExpired, metav1.StatusReasonNotAcceptable,
		metav1.StatusReasonMethodNotAllowed, metav1.StatusReasonUnsupportedMediaType, metav1.StatusReasonRequestEntityTooLarge,
		metav1.StatusReasonTimeout, metav1.StatusReasonServerTimeout, metav1.StatusReasonTooManyRequests, metav1.StatusReasonServiceUnavailable:
		return true
	}
	return false
}

// maskStatus returns a status without the values that a request submitted. At most
// levels of audit these are not known, and a text may quote a piece of one, so that
// the texts of a failure that could have to do with a body are left out altogether:
// reason, code and the paths stay. The answer that the client gets says more.
func maskStatus(in *metav1.Status, submitted []string) *metav1.Status {
	if in == nil {
		return nil
	}
	out := in.DeepCopy()
	text := func(s string) string { return s }
	if len(submitted) > 0 {
		text = newReplacer(submitted).Replace
	}
	failure := out.Status == metav1.StatusFailure || out.Code >= 400
	omit := failure && !saysNothingOfBodies(out.Reason)
	switch {
	case out.Message == "":
	case omit && out.Reason != "":
		out.Message = string(out.Reason) + ": " + Placeholder
	case omit:
		out.Message = Placeholder
	default:
		out.Message = text(out.Message)
	}
	if out.Details != nil {
		out.Details.Name = text(out.Details.Name)
		for i := range out.Details.Causes {
			cause := &out.Details.Causes[i]
			if omit {
				cause.Message, cause.Field = Placeholder, safePath(cause.Field)
			}
			cause.Message, cause.Field = text(cause.Message), text(cause.Field)
		}
	}
	return out
}

// auditedKind is how the bodies of a kind are masked.
type auditedKind struct {
	layout
	kind string
	list reflect.Type
}

func newAuditedKind(scheme *runtime.Scheme, resource AuditedResource) (*auditedKind, error) {
	gv := resource.Resource.GroupVersion()
	served, err := scheme.New(gv.WithKind(resource.Kind))
	if err != nil {
		return nil, err
	}
	list, err := scheme.New(gv.WithKind(resource.Kind + "List"))
	if err != nil {
		return nil, err
	}
	declared := served
	if internal, err := scheme.New(schema.GroupVersion{Group: gv.Group, Version: runtime.APIVersionInternal}.WithKind(resource.Kind)); err == nil {
		declared = internal
	}
	k := &auditedKind{
		layout: layout{root: reflect.TypeOf(served).Elem(), sensitive: map[string]bool{}},
		kind:   resource.Kind,
		list:   reflect.TypeOf(list).Elem(),
	}
	obj, ok := declared.(Object)
	if !ok {
		return k, nil
	}
	for _, path := range Fields(obj) {
		at, rest := k.masker().find("/" + strings.ReplaceAll(path, ".", "/"))
		if rest != "" || at.path != path || pointedTo(at.t).Kind() != reflect.String {
			return nil, fmt.Errorf("its version %s has no text at %s", gv.Version, path)
		}
		k.sensitive[path] = true
	}
	return k, nil
}

// request masks what a client sent, and returns the sensitive values in it.
func (k *auditedKind) request(verb string, body *runtime.Unknown) (*runtime.Unknown, []string) {
	if body == nil {
		return nil, nil
	}
	root, ok := decodeBody(body)
	if !ok {
		return omittedBody(), nil
	}
	m := k.masker()
	switch verb {
	case "create", "update":
		root = m.object(root)
	case "patch":
		if operations, ok := root.([]any); ok {
			root = m.operations(operations)
		} else {
			root = m.object(root)
		}
	case "delete", "deletecollection":
		root = m.value(root, reflect.TypeFor[metav1.DeleteOptions](), elsewhere)
	default:
		return omittedBody(), nil
	}
	if len(m.values) > maxValues {
		return omittedBody(), nil
	}
	return encodeBody(scrubAll(root, distinctive(m.values))), m.values
}

// response masks what the server answered.
func (k *auditedKind) response(body *runtime.Unknown, submitted []string) *runtime.Unknown {
	if body == nil {
		return nil
	}
	root, ok := decodeBody(body)
	if !ok {
		return omittedBody()
	}
	typed, ok := root.(map[string]any)
	if !ok {
		return omittedBody()
	}
	kind, _ := typed["kind"].(string)
	apiVersion, _ := typed["apiVersion"].(string)
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return omittedBody()
	}
	if gv == metav1.Unversioned && kind == "Status" {
		return statusBody(root, submitted)
	}
	m := k.masker()
	meta := gv.Group == metav1.GroupName
	switch {
	case meta && kind == "Table":
		root = m.value(root, reflect.TypeFor[metav1.Table](), elsewhere)
	case meta && kind == "PartialObjectMetadataList":
		root = m.value(root, reflect.TypeFor[metav1.PartialObjectMetadataList](), elsewhere)
	case kind == k.kind+"List":
		root = m.value(root, k.list, elsewhere)
	default:
		root = m.object(root)
	}
	return encodeBody(scrubAll(root, distinctive(submitted)))
}
