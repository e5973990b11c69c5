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

package host

import (
	"context"
	"fmt"

	"k8s.io/klog/v2"
)

// keepTrying attempts something until it succeeds, until final says that it never
// will, or until ctx ends. What keeps it waiting is a log line, once a reason; what
// says in a few words what is waited for.
func (h *Host) keepTrying(ctx context.Context, what string, attempt func(context.Context) (final bool, err error)) error {
	said := ""
	for {
		final, err := attempt(ctx)
		if err == nil || final {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("gave up waiting for %s: %w", what, context.Cause(ctx))
		}
		if text := err.Error(); text != said {
			said = text
			klog.FromContext(ctx).Error(err, "Not ready: waiting for "+what, "server", withoutUserinfo(h.config.Host))
		}
		select {
		case <-ctx.Done():
		case <-h.clock.After(retryInterval):
		}
	}
}
