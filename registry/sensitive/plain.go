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
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
)

// QuotingNothing returns what computes the same object, for a kind without sensitive fields,
// whose errors and warnings quote neither what was sent nor what is stored. The library
// answers a patch that leads nowhere with the whole object, and one that is wrongly typed
// with what it was given, as a fault of the server, which it logs.
func QuotingNothing(objInfo rest.UpdatedObjectInfo, kind schema.GroupKind, name string) rest.UpdatedObjectInfo {
	return &quotingNothing{objInfo, kind, name}
}

type quotingNothing struct {
	rest.UpdatedObjectInfo
	kind schema.GroupKind
	name string
}

// UpdatedObject computes the object to store.
func (q *quotingNothing) UpdatedObject(ctx context.Context, existing runtime.Object) (runtime.Object, error) {
	return updatedObject(ctx, q.UpdatedObjectInfo, existing, q.kind, q.name)
}
