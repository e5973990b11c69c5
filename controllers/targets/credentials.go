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

package targets

import (
	"context"
	"errors"
)

// Why something that a Cluster names cannot be read. Nothing of it is in an error.
var (
	// ErrAbsent: there is no such Secret or ConfigMap.
	ErrAbsent = errors.New("it does not exist")
	// ErrNoKey: it has no such key.
	ErrNoKey = errors.New("it has no such key")
	// ErrForbidden: Entente may not read it.
	ErrForbidden = errors.New("it may not be read by Entente")
)

// Credentials reads what Clusters name. Its errors quote nothing of what was read; they are,
// or wrap, one of those above if that is why, and may be shown to who may read the Cluster
// then.
type Credentials interface {
	// Secret returns what is at a key of a Secret.
	Secret(ctx context.Context, namespace, name, key string) ([]byte, error)
	// ConfigMap returns what is at a key of a ConfigMap.
	ConfigMap(ctx context.Context, namespace, name, key string) ([]byte, error)
}
