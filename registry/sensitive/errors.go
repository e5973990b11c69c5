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
	"k8s.io/apiserver/pkg/warning"
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
	allErrs := schemaFaults(text)
	if len(allErrs) == 0 {
		allErrs = field.ErrorList{field.Invalid(field.NewPath("patch"), field.OmitValueType{}, causes(text))}
	}
	return apierrors.NewInvalid(kind, name, allErrs)
}

// schemaFault is how field management says that a value does not fit the schema,
// a line a fault.
var schemaFault = regexp.MustCompile(`\.([\w.\-]+)(?:\[[^\n]*?\])?: (expected ([\w ()]+), got|duplicate entries for key|element \d+: associative list|field not declared in schema)`)

func schemaFaults(text string) field.ErrorList {
	var allErrs field.ErrorList
	for _, match := range schemaFault.FindAllStringSubmatch(text, maxFaults) {
		path := field.NewPath(safePath(match[1]))
		switch {
		case match[3] != "":
			allErrs = append(allErrs, field.TypeInvalid(path, field.OmitValueType{}, "must be "+withArticle(match[3])))
		case strings.HasPrefix(match[2], "duplicate"):
			allErrs = append(allErrs, field.Duplicate(path, field.OmitValueType{}))
		case strings.HasPrefix(match[2], "element"):
			allErrs = append(allErrs, field.TypeInvalid(path, field.OmitValueType{}, "must be a list of scalars"))
		default:
			allErrs = append(allErrs, field.Invalid(path, field.OmitValueType{}, fmt.Sprintf("unknown field %q", safePath(match[1]))))
		}
	}
	return allErrs
}

func withArticle(noun string) string {
	if strings.ContainsRune("aeio", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// wrongType says that a value is not of the type of its field. Such a sentence may
// come by again, inside an error about a patch, so that it is one of those known.
func wrongType(path, got string) string {
	return fmt.Sprintf("field %q cannot be %s", safePath(path), withArticle(got))
}

// known are the texts of the libraries that can be said again, and how. The
// entries go from the precise to the general.
var known = []struct {
	text *regexp.Regexp
	say  func(match []string) string
}{
	// Where a quote is not the end, the name holds one, and is none.
	{regexp.MustCompile(`(unknown|duplicate) field "([^"]+)"(?:$|[\s,;)\]])`), func(m []string) string {
		return fmt.Sprintf("%s field %q", m[1], safePath(m[2]))
	}},
	{regexp.MustCompile(`field "([^"]+)" cannot be an? (string|number|bool|object|array)`), func(m []string) string { return wrongType(m[1], m[2]) }},
	{regexp.MustCompile(`json: cannot unmarshal (string|number|bool|object|array)[^\n]*? into Go struct field (?:\w+\.)?([\w.]+) of type [\w.\[\]*]+`), func(m []string) string {
		return wrongType(m[2], m[1])
	}},
	{regexp.MustCompile(`(?:json: cannot unmarshal |a value cannot be an? )(string|number|bool|object|array)`), func(m []string) string {
		return "a value cannot be " + withArticle(m[1])
	}},
	// What stands here already has been said, and may come by again inside an error
	// about a patch.
	{regexp.MustCompile(`line \d+ of the YAML: key "[\w.\-]{1,63}" already set in map|operation \w+ does not apply at [\w/\-…\[\]]*: [a-z ]+|operation \w+ does not apply|metadata\.(?:name|namespace) is not that of the path|metadata\.managedFields must be left out|apiVersion is not the one of the path`), func(m []string) string {
		return m[0]
	}},
	{regexp.MustCompile(`(?:unrecognized type: |cannot convert [\w.]+ to |cannot restore [\w.]+ from:? |a value has the wrong type, near an? )(string|bool|map|slice|struct|u?int[0-9]*|float[0-9]+)\b`), func(m []string) string {
		return "a value has the wrong type, near " + withArticle(m[1])
	}},
	{regexp.MustCompile(`parsing time "|a time is not in the form of RFC 3339`), func([]string) string { return "a time is not in the form of RFC 3339" }},
	{regexp.MustCompile(`yaml: (?:unmarshal errors:\s+)?line (\d+): (key "[\w.\-]{1,63}" already set in map)?`), func(m []string) string {
		if m[2] != "" {
			return fmt.Sprintf("line %s of the YAML: %s", m[1], m[2])
		}
		return fmt.Sprintf("line %s is not valid YAML", m[1])
	}},
	{regexp.MustCompile(`line (\d+) is not valid YAML`), func(m []string) string { return m[0] }},
	{regexp.MustCompile(`yaml: |it is not valid YAML`), func([]string) string { return "it is not valid YAML" }},
	{regexp.MustCompile(`invalid character|unexpected end of JSON input|json: offset \d+|couldn't get version/kind; json parse error|it is not valid JSON`), func([]string) string {
		return "it is not valid JSON"
	}},
	{regexp.MustCompile(`\b(add|remove|replace|move|copy|test)(?:ing value| operation|\b.*?path)[^/\n]*?(/[^\s:'"]*)[^\n]*?(missing value|test failed|unknown object type|invalid state detected|invalid index referenced|not a proper array index)`), func(m []string) string {
		return fmt.Sprintf("operation %s does not apply at %s: %s", m[1], safePath(m[2]), m[3])
	}},
	{regexp.MustCompile(`\b(add|remove|replace|move|copy|test)(?:ing value| operation|\b.*?path)`), func(m []string) string {
		return fmt.Sprintf("operation %s does not apply", m[1])
	}},
	{regexp.MustCompile(`no kind "[^"]*" is registered for|invalid object type: |the kind or its version is not known here`), func([]string) string {
		return "the kind or its version is not known here"
	}},
	{regexp.MustCompile(`Object '(Kind|apiVersion)' is missing|\b(kind|apiVersion) is missing`), func(m []string) string {
		return strings.ToLower(m[1][:min(1, len(m[1]))]) + m[1][min(1, len(m[1])):] + m[2] + " is missing"
	}},
	{regexp.MustCompile(`the (name|namespace) of the (?:object|provided object) .*does not match`), func(m []string) string {
		return "metadata." + m[1] + " is not that of the path"
	}},
	{regexp.MustCompile(`metadata\.managedFields must be nil`), func([]string) string { return "metadata.managedFields must be left out" }},
	{regexp.MustCompile(`Incorrect version specified in apply patch`), func([]string) string { return "apiVersion is not the one of the path" }},
}

// maxFaults bounds how many faults of one body are said: whoever mends these sees the
// rest.
const maxFaults = 100

// causes says again what is known in a library's text.
func causes(text string) string {
	var said []string
	for _, k := range known {
		for _, match := range k.text.FindAllStringSubmatch(text, maxFaults) {
			if cause := k.say(match); !slices.Contains(said, cause) {
				said = append(said, cause)
			}
		}
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
const maxSegment = 40

// fieldName is what the name of a field looks like, with an index behind it.
var fieldName = regexp.MustCompile(`^[A-Za-z0-9_\-]+(\[[0-9]*\])*$`)

// separators are those between the segments of a JSON path and of a JSON pointer.
var separators = regexp.MustCompile(`[./]`)

// safePath cuts a path where a segment cannot be the name of a field: a value may
// stand in the place of a name, where a separator was forgotten.
func safePath(path string) string {
	end := 0
	for end < len(path) {
		next := len(path)
		if at := separators.FindStringIndex(path[end:]); at != nil {
			next = end + at[0]
		}
		if segment := path[end:next]; segment != "" && (len(segment) > maxSegment || !fieldName.MatchString(segment)) {
			return path[:end] + "…"
		}
		end = next + 1
	}
	return path
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

// withoutPrecondition rewrites the conflict of a UID that is not the object's: the
// library quotes the one that was submitted, before the write is computed.
func withoutPrecondition(err error) error {
	const quotes = "UID in precondition"
	var status *apierrors.StatusError
	if !errors.As(err, &status) || !strings.Contains(status.ErrStatus.Message, quotes) {
		return err
	}
	out := status.ErrStatus.DeepCopy()
	said, _, _ := strings.Cut(out.Message, "Precondition failed")
	out.Message = said + "Precondition failed: the UID is not that of the object"
	return &apierrors.StatusError{ErrStatus: *out}
}

// withRewrittenWarnings returns a context in which the warnings of decoders, about
// fields that are unknown or given twice, are rewritten; others pass.
func withRewrittenWarnings(ctx context.Context) context.Context {
	return warning.WithWarningRecorder(ctx, warningRewriter{ctx})
}

type warningRewriter struct {
	outer context.Context
}

var decoderWarning = regexp.MustCompile(`^(json patch |strict decoding error: |error |yaml: )|^(unknown|duplicate) field "`)

// AddWarning implements warning.Recorder.
func (r warningRewriter) AddWarning(agent, text string) {
	if decoderWarning.MatchString(text) {
		text = causes(text)
	}
	warning.AddWarning(r.outer, agent, text)
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
