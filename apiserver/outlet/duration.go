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

package outlet

import (
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
)

// duration is how an answer may end.
type duration int

const (
	// complete is an answer that has an end, and a length that is limited.
	complete duration = iota
	// following is a log that goes on until the Pod ends. One that was cut is not to look
	// as if it had.
	following
	// watching is a watch. It may end at any time, and its clients begin anew.
	watching
)

// requests reads requests as kube-apiserver does.
func requests() *genericapirequest.RequestInfoFactory {
	return genericapiserver.NewRequestInfoResolver(&genericapiserver.Config{LegacyAPIGroupPrefixes: sets.NewString(genericapiserver.DefaultLegacyAPIPrefix)})
}

// durationOf tells it of a request for a path in the API of the peer. There, too, a request
// for one object is no watch, whatever its query says.
func (o *Outlet) durationOf(r *http.Request, path string) duration {
	// Without the query: the library logs one that it cannot read.
	info, err := o.requests.NewRequestInfo(&http.Request{Method: r.Method, URL: &url.URL{Path: path}})
	switch {
	case err != nil, !info.IsResourceRequest:
		return complete
	case info.Verb == "watch": // by a path that is no longer in use
		return watching
	case info.Verb == "list" && isSet(r, "watch"):
		return watching
	case info.Verb == "get" && info.Subresource == "log" && isSet(r, "follow"):
		return following
	}
	return complete
}

// isSet tells whether a parameter is set. It is read as Kubernetes reads it: one without a
// value is.
func isSet(r *http.Request, name string) bool {
	query := r.URL.Query()
	value := query.Get(name)
	return query.Has(name) && value != "0" && !strings.EqualFold(value, "false")
}
