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

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"entente.dev/entente/test/conformance"
	"entente.dev/entente/test/kube"
	"entente.dev/entente/test/process"
)

// R5: the garbage collector and the namespace controller list and watch the metadata
// of every kind. They may do everything with everything, so that no value may be
// part of metadata, whoever asks.
func (s *suite) metadata(t *testing.T) {
	const name, last = "metadata", "metadata-last"
	secret := conformance.Value(name)
	// In the annotation of kubectl apply, in another one, and owned by a manager.
	manifest := strings.Replace(conformance.Manifest(name, secret, ""), "metadata:\n", "metadata:\n  annotations: {note: \"see "+secret+"\"}\n", 1)
	s.MustKubectl(t, operator, manifest, "apply", "-f", "-")

	var controllers []string
	for _, account := range []string{"generic-garbage-collector", "namespace-controller"} {
		controllers = append(controllers, s.ServiceAccountKubeconfig(t, metav1.NamespaceSystem, account))
	}
	accepts := func(kind string) map[string]string {
		const of = ";as=%s;g=meta.k8s.io;v=v1"
		form := fmt.Sprintf(of, kind)
		return map[string]string{
			"json":                 "application/json" + form,
			"protobuf":             "application/vnd.kubernetes.protobuf" + form,
			"protobuf, as clients": "application/vnd.kubernetes.protobuf" + form + ",application/json" + form + ",application/json",
		}
	}
	// The other kinds have no values; they are to be answered all the same.
	streams, others := map[string]*process.Output{}, map[string]*process.Output{}
	for _, resource := range s.served(t) {
		url := s.URL() + "/apis/" + resource.GroupVersion().String() + "/" + resource.Resource
		for _, user := range controllers {
			client := s.HTTP(t, user)
			for form, accept := range accepts("PartialObjectMetadataList") {
				what := fmt.Sprintf("%s list of %s as %s", form, resource.Resource, user)
				got := send(t, client, http.MethodGet, url, http.Header{"Accept": {accept}})
				require.Equal(t, http.StatusOK, got.code, "%s: %s", what, got.body)
				assert.Contains(t, got.header.Get("Content-Type"), strings.Split(form, ",")[0], what)
				if resource.Resource != "clusterpeers" {
					assert.Contains(t, got.body, "PartialObjectMetadataList", what)
					continue
				}
				assertMetadata(t, what, got.body, "PartialObjectMetadataList", name)
			}
			for form, accept := range accepts("PartialObjectMetadata") {
				what := fmt.Sprintf("%s watch of %s as %s", form, resource.Resource, user)
				of := streams
				if resource.Resource != "clusterpeers" {
					of = others
				}
				of[what] = stream(t, client, url+"?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", accept)
			}
		}
	}
	for _, all := range []map[string]*process.Output{streams, others} {
		for what, stream := range all {
			eventually(t, what+" has begun", func(context.Context) error { return contains(stream.String(), "k8s.io/initial-events-end") })
		}
	}
	s.MustKubectl(t, operator, "", "label", "cpeer", name, "step=two")
	s.MustKubectl(t, operator, "", "delete", "cpeer", name)
	s.MustKubectl(t, operator, conformance.Manifest(last, conformance.Value(last), ""), "create", "-f", "-")
	for what, stream := range streams {
		eventually(t, what+" has all events", func(context.Context) error { return contains(stream.String(), last) })
		assertMetadata(t, what, stream.String(), "PartialObjectMetadata", name)
		for _, event := range []string{"ADDED", "MODIFIED", "DELETED"} {
			assert.Contains(t, stream.String(), event, what)
		}
	}
}

func assertMetadata(t *testing.T, what, content, kind, name string) {
	t.Helper()
	for _, text := range []string{kind, name, "f:connectionString", "last-applied-configuration"} {
		assert.Contains(t, content, text, what)
	}
	assert.NotContains(t, content, conformance.Canary, what)
}

// served are the kinds of ours that can be listed, by discovery.
func (s *suite) served(t *testing.T) []schema.GroupVersionResource {
	t.Helper()
	_, lists, err := s.Clientset(t, kube.Admin).Discovery().ServerGroupsAndResources()
	require.NoError(t, err)
	var found []schema.GroupVersionResource
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		require.NoError(t, err)
		if !strings.HasSuffix(gv.Group, "entente.dev") {
			continue
		}
		for _, resource := range list.APIResources {
			if !strings.Contains(resource.Name, "/") {
				found = append(found, gv.WithResource(resource.Name))
			}
		}
	}
	require.NotEmpty(t, found)
	return found
}

// stream reads the answer to a request in the background, until the test ends.
func stream(t *testing.T, client *http.Client, url, accept string) *process.Output {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	req.Header.Set("Accept", accept)
	resp, err := client.Do(req)
	require.NoError(t, err)
	output, ended := &process.Output{}, make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(output, resp.Body) // It ends by the context.
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		_ = resp.Body.Close()
	})
	if resp.StatusCode != http.StatusOK {
		<-ended
		require.Fail(t, "the watch was refused", "%s: %s", resp.Status, output)
	}
	return output
}
