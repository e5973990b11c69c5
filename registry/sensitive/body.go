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
	"io"
	"mime"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// WithApplyBodyCheck refuses apply patches, and options of a delete, that are not
// YAML, and options that say to be of another kind, before the handler sees them. The
// handler would quote pieces of the body, from a place that nothing else can reach
// (R15). It goes around the innermost handler, for the API groups named; limit is the
// largest body that the handler accepts, in bytes: it refuses a larger one by itself.
// 0 means no limit.
func WithApplyBodyCheck(handler http.Handler, groups sets.Set[string], limit int64, serializer runtime.NegotiatedSerializer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, ok := genericapirequest.RequestInfoFrom(req.Context())
		if !ok || !info.IsResourceRequest || !groups.Has(info.APIGroup) || !decodedByHandler(req, info) || req.Body == nil {
			handler.ServeHTTP(w, req)
			return
		}
		var reader io.Reader = req.Body
		if limit > 0 {
			reader = io.LimitReader(req.Body, limit+1)
		}
		body, err := io.ReadAll(reader)
		if err == nil && (limit <= 0 || int64(len(body)) <= limit) {
			if fault := faultOf(req, body); fault != "" {
				gv := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
				refusal := apierrors.NewBadRequest("could not decode the body: " + fault)
				responsewriters.ErrorNegotiated(refusal, serializer, gv, w, req)
				return
			}
		}
		req.Body = &replayedBody{Reader: io.MultiReader(bytes.NewReader(body), failing{err}, req.Body), Closer: req.Body}
		handler.ServeHTTP(w, req)
	})
}

// decodedByHandler says whether the handler decodes the body by itself, past the serializer
// of the API group: apply patches, and options of a delete. (Subresources are not
// deleted.)
func decodedByHandler(req *http.Request, info *genericapirequest.RequestInfo) bool {
	return req.Method == http.MethodDelete && info.Subresource == "" ||
		req.Method == http.MethodPatch && types.PatchType(mediaType(req)) == types.ApplyYAMLPatchType
}

// faultOf says what the handler would quote the body for, or nothing.
func faultOf(req *http.Request, body []byte) string {
	switch mediaType(req) {
	case string(types.ApplyYAMLPatchType), runtime.ContentTypeYAML:
		converted, err := yaml.ToJSON(body)
		if err != nil {
			return causes(err.Error())
		}
		body = converted
	case "", runtime.ContentTypeJSON:
		// What is no JSON is not quoted.
	default:
		return ""
	}
	options := metav1.TypeMeta{}
	if req.Method == http.MethodDelete && json.Unmarshal(body, &options) == nil && options.Kind != "" && options.Kind != "DeleteOptions" {
		return "a delete takes DeleteOptions, or nothing"
	}
	return ""
}

// mediaType is that of the body, empty if it is not said, or not well.
func mediaType(req *http.Request) string {
	parsed, _, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return parsed
}

type replayedBody struct {
	io.Reader
	io.Closer
}

// failing repeats an error that reading the body had.
type failing struct {
	err error
}

func (f failing) Read([]byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}
