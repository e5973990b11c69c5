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
	"fmt"
	"io"
	"mime"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// WithApplyBodyCheck refuses apply patches, and options of a delete, that are not
// YAML before the handler sees them. The handler would quote the parser's text, which holds pieces of the
// body, from a place that nothing else can reach (R15). It goes around the
// innermost handler, for the API groups named; limit is the largest body that the
// handler accepts, in bytes: it refuses a larger one by itself. 0 means no limit.
func WithApplyBodyCheck(handler http.Handler, groups sets.Set[string], limit int64, serializer runtime.NegotiatedSerializer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, ok := genericapirequest.RequestInfoFrom(req.Context())
		if !ok || !info.IsResourceRequest || !groups.Has(info.APIGroup) || !decodesYAML(req) || req.Body == nil {
			handler.ServeHTTP(w, req)
			return
		}
		var reader io.Reader = req.Body
		if limit > 0 {
			reader = io.LimitReader(req.Body, limit+1)
		}
		body, err := io.ReadAll(reader)
		if err == nil && (limit <= 0 || int64(len(body)) <= limit) {
			if _, err := yaml.ToJSON(body); err != nil {
				gv := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
				refusal := apierrors.NewBadRequest(fmt.Sprintf("could not decode the body: %s", causes(err.Error())))
				responsewriters.ErrorNegotiated(refusal, serializer, gv, w, req)
				return
			}
		}
		req.Body = &replayedBody{Reader: io.MultiReader(bytes.NewReader(body), failing{err}, req.Body), Closer: req.Body}
		handler.ServeHTTP(w, req)
	})
}

// decodesYAML says whether the handler decodes the body as YAML by itself, past the
// serializer of the API group: apply patches, and options of a delete.
func decodesYAML(req *http.Request) bool {
	mediaType, _, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if err != nil {
		return false
	}
	switch req.Method {
	case http.MethodPatch:
		return types.PatchType(mediaType) == types.ApplyYAMLPatchType
	case http.MethodDelete:
		return mediaType == runtime.ContentTypeYAML
	}
	return false
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
