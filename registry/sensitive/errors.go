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
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The libraries quote what they could not decode: a fragment, a scalar, the
// whole object. Nothing they say is passed on as it is. What is known to be free
// of values, the paths and the causes, is picked out of their text and said
// again; a text that is not known becomes a general one (R10, R15).

// rewriteError rewrites an error that came out of computing a write.
func rewriteError(err error, kind schema.GroupKind, name string) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		// A wrongly typed apply comes as an untyped error, which the library would
		// answer as a fault of the server, and log.
		return invalidPatch(kind, name, err.Error())
	}
	switch s := status.Status(); {
	case s.Reason == metav1.StatusReasonInvalid && ofPatch(s):
		return invalidPatch(kind, name, detailOf(s.Details.Causes[0].Message))
	case s.Reason == metav1.StatusReasonBadRequest:
		return apierrors.NewBadRequest(causes(s.Message))
	case s.Reason == metav1.StatusReasonUnknown && s.Code == http.StatusUnprocessableEntity:
		return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", causes(s.Message), 0, false)
	case s.Code >= http.StatusInternalServerError && s.Reason == metav1.StatusReasonInternalError:
		return apierrors.NewInternalError(errors.New(causes(s.Message)))
	}
	return err
}

// ofPatch says whether a status is the library's complaint about the result of a
// patch, which quotes the patched object.
func ofPatch(s metav1.Status) bool {
	return s.Details != nil && len(s.Details.Causes) > 0 && s.Details.Causes[0].Field == "patch"
}

// detailOf cuts the quoted value out of a cause that the field package printed:
// `Invalid value: "…": detail`.
func detailOf(message string) string {
	_, rest, ok := strings.Cut(message, "Invalid value: ")
	if !ok {
		return ""
	}
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(rest[len(quoted):], ": ")
}

func invalidPatch(kind schema.GroupKind, name, text string) error {
	var allErrs field.ErrorList
	for _, match := range typeMismatch.FindAllStringSubmatch(text, -1) {
		allErrs = append(allErrs, field.TypeInvalid(field.NewPath(safePath(match[1])), field.OmitValueType{}, "must be a "+match[2]))
	}
	if len(allErrs) == 0 {
		allErrs = append(allErrs, field.Invalid(field.NewPath("patch"), field.OmitValueType{}, causes(text)))
	}
	return apierrors.NewInvalid(kind, name, allErrs)
}

// typeMismatch is how field management says that a value has the wrong type.
var typeMismatch = regexp.MustCompile(`(?m)\.([\w.\-\[\]"=,]+): expected (\w+), got`)

// known are the texts of the libraries that can be said again, and how.
var known = []struct {
	text *regexp.Regexp
	say  func(match []string) string
}{
	{regexp.MustCompile(`(unknown|duplicate) field "([^"]+)"`), func(m []string) string {
		return fmt.Sprintf("%s field %q", m[1], safePath(m[2]))
	}},
	{regexp.MustCompile(`json: cannot unmarshal (\w+)[^\n]*? into Go struct field (?:\w+\.)?([\w.]+) of type [\w.\[\]*]+`), func(m []string) string {
		return fmt.Sprintf("%s: a %s is not of the type of this field", safePath(m[2]), m[1])
	}},
	{regexp.MustCompile(`json: cannot unmarshal (\w+)[^\n]*? into Go value of type`), func(m []string) string {
		return fmt.Sprintf("a %s stands where something else must", m[1])
	}},
	{regexp.MustCompile(`\.([\w.\-]+): field not declared in schema`), func(m []string) string {
		return fmt.Sprintf("unknown field %q", safePath(m[1]))
	}},
	{regexp.MustCompile(`(?:unrecognized type: |cannot convert [\w.]+ to |cannot restore [\w.]+ from:? )(\w+)`), func(m []string) string {
		return fmt.Sprintf("a value has the wrong type, near a %s", m[1])
	}},
	{regexp.MustCompile(`parsing time "`), func([]string) string { return "a time is not in the form of RFC 3339" }},
	{regexp.MustCompile(`yaml: (?:unmarshal errors:\s+)?line (\d+): (key "[\w.\-]{1,63}" already set in map)?`), func(m []string) string {
		if m[2] != "" {
			return fmt.Sprintf("line %s of the YAML: %s", m[1], m[2])
		}
		return fmt.Sprintf("line %s is not valid YAML", m[1])
	}},
	{regexp.MustCompile(`yaml: `), func([]string) string { return "it is not valid YAML" }},
	{regexp.MustCompile(`invalid character|unexpected end of JSON input|json: offset \d+|couldn't get version/kind; json parse error`), func([]string) string {
		return "it is not valid JSON"
	}},
	{regexp.MustCompile(`\b(add|remove|replace|move|copy|test)(?:ing value| operation|\b.*?path)[^/\n]*?(/[^\s:'"]*)[^\n]*?(missing value|test failed|unknown object type|invalid state detected|invalid index referenced|not a proper array index)`), func(m []string) string {
		return fmt.Sprintf("operation %s does not apply at %s: %s", m[1], safePath(m[2]), m[3])
	}},
	{regexp.MustCompile(`\b(add|remove|replace|move|copy|test)(?:ing value| operation|\b.*?path)`), func(m []string) string {
		return fmt.Sprintf("operation %s does not apply", m[1])
	}},
	{regexp.MustCompile(`no kind "[^"]*" is registered for`), func([]string) string { return "the kind or its version is not known here" }},
	{regexp.MustCompile(`Object '(Kind|apiVersion)' is missing`), func(m []string) string {
		return fmt.Sprintf("%s is missing", strings.ToLower(m[1][:1])+m[1][1:])
	}},
	{regexp.MustCompile(`metadata\.managedFields must be nil`), func([]string) string { return "metadata.managedFields must be left out" }},
	{regexp.MustCompile(`Incorrect version specified in apply patch`), func([]string) string { return "apiVersion is not the one of the path" }},
	{regexp.MustCompile(`must (?:provide|be)[a-z ]+for (?:apply|patch)`), func(m []string) string { return m[0] }},
}

// causes says again what is known in a library's text.
func causes(text string) string {
	var said []string
	for _, k := range known {
		for _, match := range k.text.FindAllStringSubmatch(text, -1) {
			if cause := k.say(match); !slices.Contains(said, cause) {
				said = append(said, cause)
			}
		}
		// The entries go from the precise to the general.
		if len(said) > 0 {
			break
		}
	}
	if len(said) == 0 {
		return "the object could not be decoded"
	}
	return strings.Join(said, "; ")
}

// maxSegment is the length of a path segment past which it is no field name but
// somebody's content.
const maxSegment = 63

var segment = regexp.MustCompile(`[^./\[\]]+`)

// safePath shortens what is too long to be the name of a field.
func safePath(path string) string {
	return segment.ReplaceAllStringFunc(path, func(s string) string {
		if len(s) > maxSegment {
			return "…"
		}
		return s
	})
}

// scrubError takes the sensitive values that a caller submitted out of an error
// that answers him, and that logs and audit would keep.
func scrubError(err error, submitted []string) error {
	var status *apierrors.StatusError
	if len(submitted) == 0 || !errors.As(err, &status) {
		return err
	}
	replacer := newReplacer(submitted)
	out := status.ErrStatus.DeepCopy()
	out.Message = replacer.Replace(out.Message)
	if out.Details != nil {
		out.Details.Name = replacer.Replace(out.Details.Name)
		for i := range out.Details.Causes {
			cause := &out.Details.Causes[i]
			cause.Message, cause.Field = replacer.Replace(cause.Message), replacer.Replace(cause.Field)
		}
	}
	return &apierrors.StatusError{ErrStatus: *out}
}

// rewriteDecodingError rewrites an error of a decoder, and keeps whether it is a
// strict one, which the library may turn into warnings.
func rewriteDecodingError(err error) error {
	if err == nil {
		return nil
	}
	strict, ok := runtime.AsStrictDecodingError(err)
	if !ok {
		return errors.New(causes(err.Error()))
	}
	rewritten := make([]error, 0, len(strict.Errors()))
	for _, e := range strict.Errors() {
		rewritten = append(rewritten, errors.New(causes(e.Error())))
	}
	return runtime.NewStrictDecodingError(rewritten)
}
