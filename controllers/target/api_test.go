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

package target

import (
	"fmt"
	"net/http"
	"strings"
)

// api answers as a small Kubernetes does; what differs is by path.
func api(differs map[string]http.HandlerFunc) http.HandlerFunc {
	answers := map[string]string{
		"/version":                           `{"major":"1","gitVersion":"v1.37.2+k3s1"}`,
		"/api":                               `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis":                              `{"kind":"APIGroupList","groups":[` + group("apps", "v1") + `,` + group("batch", "v1", "v1beta1") + `]}`,
		"/api/v1/namespaces/kube-system":     `{"metadata":{"name":"kube-system","uid":"0f1c2d3e-4a5b-4c6d-8e7f-001122334455"}}`,
		"/api/v1":                            `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"configmaps","singularName":"configmap","namespaced":true,"kind":"ConfigMap","verbs":["get"]}]}`,
		"/apis/apps/v1":                      `{"kind":"APIResourceList","groupVersion":"apps/v1","resources":[]}`,
		"/apis/batch/v1":                     `{"kind":"APIResourceList","groupVersion":"batch/v1","resources":[]}`,
		"/apis/batch/v1beta1":                `{"kind":"APIResourceList","groupVersion":"batch/v1beta1","resources":[]}`,
		"/api/v1/namespaces/a/configmaps/it": `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"it"},"data":{"canary":"canary"}}`,
	}
	return func(w http.ResponseWriter, r *http.Request) {
		if other, ok := differs[r.URL.Path]; ok {
			other(w, r)
			return
		}
		answer, ok := answers[r.URL.Path]
		if !ok {
			fail(http.StatusNotFound)(w, r)
			return
		}
		say(answer)(w, r)
	}
}

func group(name string, versions ...string) string {
	var all []string
	for _, version := range versions {
		all = append(all, fmt.Sprintf(`{"groupVersion":"%s/%s","version":%q}`, name, version, version))
	}
	return fmt.Sprintf(`{"name":%q,"versions":[%s]}`, name, strings.Join(all, ","))
}

func say(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(body))
	}
}

func fail(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Canary", canary)
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"canary","reason":"canary","code":%d}`, code)
	}
}

// wellFound is what a probe of api finds.
func wellFound() Found {
	return Found{Version: "v1.37.2+k3s1", APIVersions: []string{"apps/v1", "batch/v1", "batch/v1beta1", "v1"}, UID: "0f1c2d3e-4a5b-4c6d-8e7f-001122334455"}
}
