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
	"context"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"

	"entente.dev/entente/peering/passage"
)

// quietly returns a context that ends with another one, and in which client-go logs nothing:
// at the higher verbosities it would show all that is asked and answered (R15).
func quietly(ctx context.Context) context.Context {
	return passage.Apart(ctx, klog.NewContext(context.Background(), logr.Discard()))
}

// quietDynamic makes calls of another one quiet, and decodes what is answered in turn.
type quietDynamic struct {
	inner dynamic.Interface
	gate  chan struct{}
}

// Resource implements dynamic.Interface.
func (q quietDynamic) Resource(resource schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	inner := q.inner.Resource(resource)
	return quietResources{quietObjects{inner, q.gate}, inner}
}

type quietResources struct {
	quietObjects
	all dynamic.NamespaceableResourceInterface
}

// Namespace implements dynamic.NamespaceableResourceInterface.
func (q quietResources) Namespace(namespace string) dynamic.ResourceInterface {
	return quietObjects{q.all.Namespace(namespace), q.gate}
}

// quietObjects implements dynamic.ResourceInterface.
type quietObjects struct {
	inner dynamic.ResourceInterface
	gate  chan struct{}
}

var _ dynamic.NamespaceableResourceInterface = quietResources{}

// call returns the context of a call, which the function ends.
func (q quietObjects) call(ctx context.Context) (context.Context, func()) {
	return withTurn(quietly(ctx), q.gate)
}

func (q quietObjects) Create(ctx context.Context, object *unstructured.Unstructured, options metav1.CreateOptions, subresources ...string) (*unstructured.Unstructured, error) {
	ctx, end := q.call(ctx)
	defer end()
	return q.inner.Create(ctx, object, options, subresources...)
}

func (q quietObjects) Update(ctx context.Context, object *unstructured.Unstructured, options metav1.UpdateOptions, subresources ...string) (*unstructured.Unstructured, error) {
	ctx, end := q.call(ctx)
	defer end()
	return q.inner.Update(ctx, object, options, subresources...)
}

func (q quietObjects) UpdateStatus(ctx context.Context, object *unstructured.Unstructured, options metav1.UpdateOptions) (*unstructured.Unstructured, error) {
	ctx, end := q.call(ctx)
	defer end()
	return q.inner.UpdateStatus(ctx, object, options)
}

func (q quietObjects) Delete(ctx context.Context, name string, options metav1.DeleteOptions, subresources ...string) error {
	ctx, end := q.call(ctx)
	defer end()
	return q.inner.Delete(ctx, name, options, subresources...)
}

func (q quietObjects) DeleteCollection(ctx context.Context, options metav1.DeleteOptions, list metav1.ListOptions) error {
	ctx, end := q.call(ctx)
	defer end()
	return q.inner.DeleteCollection(ctx, options, list)
}

func (q quietObjects) Get(ctx context.Context, name string, options metav1.GetOptions, subresources ...string) (*unstructured.Unstructured, error) {
	ctx, end := q.call(ctx)
	defer end()
	return q.inner.Get(ctx, name, options, subresources...)
}

func (q quietObjects) List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	ctx, end := q.call(ctx)
	defer end()
	return q.inner.List(ctx, options)
}

func (q quietObjects) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return q.inner.Watch(quietly(ctx), options)
}

func (q quietObjects) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	ctx, end := q.call(ctx)
	defer end()
	return q.inner.Patch(ctx, name, kind, data, options, subresources...)
}

func (q quietObjects) Apply(ctx context.Context, name string, object *unstructured.Unstructured, options metav1.ApplyOptions, subresources ...string) (*unstructured.Unstructured, error) {
	ctx, end := q.call(ctx)
	defer end()
	return q.inner.Apply(ctx, name, object, options, subresources...)
}

func (q quietObjects) ApplyStatus(ctx context.Context, name string, object *unstructured.Unstructured, options metav1.ApplyOptions) (*unstructured.Unstructured, error) {
	ctx, end := q.call(ctx)
	defer end()
	return q.inner.ApplyStatus(ctx, name, object, options)
}
