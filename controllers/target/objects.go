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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// Objects are those of one resource, in one namespace or of the whole cluster. Nothing that is
// asked or answered is logged, whatever the logger of the context (R15). A call needs a context
// that ends, unless there is a time-out: the cluster may ask for patience without an end.
type Objects struct {
	inner dynamic.ResourceInterface
	gate  chan struct{}
}

// call returns the context of a call, which the function ends.
func (o Objects) call(ctx context.Context) (context.Context, func()) {
	return withTurn(quietly(ctx), o.gate)
}

// Get returns an object. It fails as a client of Kubernetes does, as all calls do.
func (o Objects) Get(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	ctx, end := o.call(ctx)
	defer end()
	return o.inner.Get(ctx, name, metav1.GetOptions{})
}

// Apply applies an object server-side, without force, and returns what it is then.
func (o Objects) Apply(ctx context.Context, name string, object *unstructured.Unstructured, manager string) (*unstructured.Unstructured, error) {
	ctx, end := o.call(ctx)
	defer end()
	return o.inner.Apply(ctx, name, object, metav1.ApplyOptions{FieldManager: manager})
}

// Delete deletes an object.
func (o Objects) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	ctx, end := o.call(ctx)
	defer end()
	return o.inner.Delete(ctx, name, options)
}
