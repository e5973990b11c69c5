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
	"k8s.io/klog/v2"

	"entente.dev/entente/peering/passage"
)

// quietly returns a context that ends with another one, and in which client-go logs nothing:
// at the higher verbosities it would show all that is asked and answered (R15).
func quietly(ctx context.Context) context.Context {
	return passage.Apart(ctx, klog.NewContext(context.Background(), logr.Discard()))
}
