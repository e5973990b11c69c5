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

package entrance

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"entente.dev/entente/peering/passage"
	"entente.dev/entente/peering/protocol"
)

// ask is what a request asks for. It does not change.
type ask struct {
	capability string
	// path is where in the API, not escaped; query is as it was sent.
	path, query string
	// info is what kube-apiserver will take it for.
	info *genericapirequest.RequestInfo
	// discovery says that it is open to all who may use the capability.
	discovery bool
	// namespace is where it is granted, if it is; empty: in the whole cluster.
	namespace string
	// rule is what a rule has to allow.
	rule rbacv1.PolicyRule
	// upgrade says that it is to become a WebSocket, lasts that it may go on for long.
	upgrade, lasts bool
}

// methods are those of APIs.
func isMethod(method string) bool {
	return slices.Contains([]string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	}, method)
}

// readAsk reads what a request at the gateway asks for, or why it cannot be read.
func (e *Entrance) readAsk(r *http.Request) (*ask, Reason) {
	if !isMethod(r.Method) {
		return nil, InvalidMethod
	}
	upgrade, err := passage.WantsUpgrade(r)
	if err != nil {
		return nil, InvalidUpgrade
	}
	if r.ContentLength != 0 && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		return nil, InvalidBody
	}
	rest, found := strings.CutPrefix(r.URL.EscapedPath(), protocol.PathAPI)
	if !found {
		return nil, InvalidPath
	}
	capability, path, err := passage.Parse(rest)
	if err != nil || len(validation.IsDNS1123Label(capability)) > 0 {
		return nil, InvalidPath
	}
	asked, reason := e.newAsk(r.Method, path, r.URL.RawQuery)
	if reason != "" {
		return nil, reason
	}
	asked.capability, asked.upgrade = capability, upgrade
	asked.lasts = asked.lasts || upgrade
	return asked, ""
}

// requests reads requests as kube-apiserver does.
func requests() *genericapirequest.RequestInfoFactory {
	return genericapiserver.NewRequestInfoResolver(&genericapiserver.Config{LegacyAPIGroupPrefixes: sets.NewString(genericapiserver.DefaultLegacyAPIPrefix)})
}

// newAsk is what a request to the API asks for.
func (e *Entrance) newAsk(method, path, query string) (*ask, Reason) {
	// One that some would pass over, and others not, is not passed on.
	if _, err := url.ParseQuery(query); err != nil {
		return nil, InvalidQuery
	}
	info, err := e.requests.NewRequestInfo(&http.Request{Method: method, URL: &url.URL{Path: path}})
	if err != nil {
		return nil, InvalidPath
	}
	if info.IsResourceRequest {
		switch info.Verb {
		case "watch", "proxy":
			// By a path that is no longer in use, which tells the verb apart from what
			// the rest of the request says.
			return nil, InvalidPath
		case "list":
			// The library logs what it cannot read.
			if !isOfList(query) {
				return nil, InvalidQuery
			}
			if info, err = e.requests.NewRequestInfo(&http.Request{Method: method, URL: &url.URL{Path: path, RawQuery: query}}); err != nil {
				return nil, InvalidQuery
			}
		}
	}
	a := &ask{path: path, query: query, info: info}
	if !info.IsResourceRequest {
		a.discovery = isDiscovery(method, path)
		a.rule = rbacv1.PolicyRule{Verbs: []string{info.Verb}, NonResourceURLs: []string{path}}
		return a, ""
	}
	// A Namespace is in no namespace, whatever the path looks like.
	if info.Resource != "namespaces" {
		a.namespace = info.Namespace
	}
	resource := info.Resource
	if info.Subresource != "" {
		resource += "/" + info.Subresource
	}
	a.rule = rbacv1.PolicyRule{Verbs: []string{info.Verb}, APIGroups: []string{info.APIGroup}, Resources: []string{resource}}
	if info.Name != "" {
		a.rule.ResourceNames = []string{info.Name}
	}
	a.lasts = info.Verb == "watch" || info.Subresource == "log"
	return a, ""
}

// isOfList tells whether a query can be read as the options of a list.
func isOfList(query string) bool {
	values, err := url.ParseQuery(query)
	if err != nil {
		return false
	}
	var options metainternalversion.ListOptions
	return metainternalversionscheme.ParameterCodec.DecodeParameters(values, metav1.SchemeGroupVersion, &options) == nil
}

// isDiscovery tells whether a request only asks what there is: the groups, versions and
// resources, and their schema.
func isDiscovery(method, path string) bool {
	if method != http.MethodGet && method != http.MethodHead {
		return false
	}
	switch path {
	case "/api", "/api/v1", "/apis", "/openapi/v2", "/openapi/v3", "/version":
		return true
	}
	if strings.HasPrefix(path, "/openapi/v3/") {
		return true
	}
	of, found := strings.CutPrefix(path, "/apis/")
	return found && strings.Count(of, "/") <= 1
}
