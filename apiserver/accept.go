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

package apiserver

import (
	"mime"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// passOverProtobuf has requests for objects of some API groups answered in what else they
// accept, if protobuf is not all. The kinds of these groups have no such form, and the
// library fails with a 406 where it should go on to the next one. Other forms of an object,
// its metadata for instance, there are in protobuf; whoever asks for one says so (`as=`).
//
// It is what Kubernetes does for custom resources. Its namespace controller asks like this
// when it deletes what is in a namespace: without an answer no namespace of the host goes.
func passOverProtobuf(handler http.Handler, groups sets.Set[string]) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, ok := genericapirequest.RequestInfoFrom(req.Context())
		if ok && info.IsResourceRequest && groups.Has(info.APIGroup) {
			if accepted := req.Header.Get("Accept"); strings.Contains(accepted, runtime.ContentTypeProtobuf) {
				changed := *req
				changed.Header = req.Header.Clone()
				changed.Header.Set("Accept", acceptedBesides(accepted))
				req = &changed
			}
		}
		handler.ServeHTTP(w, req)
	})
}

// acceptedBesides returns a header Accept without protobuf, if that leaves anything.
func acceptedBesides(accepted string) string {
	var others []string
	for one := range strings.SplitSeq(accepted, ",") {
		mediaType, params, err := mime.ParseMediaType(one)
		if err == nil && mediaType == runtime.ContentTypeProtobuf && params["as"] == "" {
			continue
		}
		others = append(others, one)
	}
	if len(others) == 0 {
		return accepted
	}
	return strings.Join(others, ",")
}
