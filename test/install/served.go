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

package install

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/test/kube"
)

// AwaitServed waits until the API is to a client of kube-apiserver as any other:
// the APIService is available, requests get through, and the kinds are in discovery
// and in OpenAPI, where kubectl looks.
func (e *Entente) AwaitServed(ctx context.Context) error {
	// An APIService stays available for a while after the process has gone.
	if err := e.AwaitReady(ctx); err != nil {
		return err
	}
	config, err := e.cluster.RESTConfig(kube.Admin)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	served := []schema.GroupVersionResource{peeringv1alpha1.SchemeGroupVersion.WithResource("clusterpeers")}
	if e.options.Clusters {
		served = append(served, corev1alpha1.SchemeGroupVersion.WithResource("clusters"))
	}
	for _, resource := range served {
		if err := e.awaitGroup(ctx, client, disco, resource); err != nil {
			return err
		}
	}
	return nil
}

// awaitGroup waits until a group is served, by one of its resources.
func (e *Entente) awaitGroup(ctx context.Context, client dynamic.Interface, disco discovery.DiscoveryInterface, resource schema.GroupVersionResource) error {
	gv := resource.GroupVersion()
	if err := e.await(ctx, "the APIService is available", func(ctx context.Context) error {
		return available(ctx, client, gv)
	}); err != nil {
		return err
	}
	if err := e.await(ctx, "requests get through", func(ctx context.Context) error {
		_, err := client.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
		return err
	}); err != nil {
		return err
	}
	if err := e.await(ctx, "the group is in discovery", func(context.Context) error {
		groups, _, err := disco.ServerGroupsAndResources()
		if err != nil {
			return err
		}
		for _, group := range groups {
			if group.Name == gv.Group {
				return nil
			}
		}
		return errors.New("it is not")
	}); err != nil {
		return err
	}
	return e.await(ctx, "the group is in OpenAPI", func(context.Context) error {
		paths, err := disco.OpenAPIV3().Paths()
		if err != nil {
			return err
		}
		if _, found := paths["apis/"+gv.String()]; !found {
			return errors.New("it is not")
		}
		return nil
	})
}

// available says why the APIService of a group and version is not available.
func available(ctx context.Context, client dynamic.Interface, gv schema.GroupVersion) error {
	apiServices := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	object, err := client.Resource(apiServices).Get(ctx, gv.Version+"."+gv.Group, metav1.GetOptions{})
	if err != nil {
		return err
	}
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, condition := range conditions {
		c, ok := condition.(map[string]any)
		if !ok || c["type"] != "Available" {
			continue
		}
		if c["status"] == "True" {
			return nil
		}
		return fmt.Errorf("%v: %v", c["reason"], c["message"])
	}
	return errors.New("it has no condition yet")
}
