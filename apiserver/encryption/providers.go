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

package encryption

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage/value"
)

// providers is a configuration file that was loaded, with what it started.
type providers struct {
	transformers map[schema.GroupResource]value.Transformer
	health       healthz.HealthChecker
	hash         string
	// grace is how long requests that still use them may take.
	grace time.Duration
	close context.CancelFunc
}

// load reads the file. What it starts (connections to KMS plugins and their polling)
// outlives ctx: it ends with e, or by close of the result.
func (e *Encryption) load(ctx context.Context) (*providers, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		select {
		case <-e.closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	path := e.config.ProviderConfigFile
	// As if for a reload, for its single health check.
	loaded, err := encryptionconfig.LoadEncryptionConfig(ctx, path, true, e.config.ServerID)
	if err == nil && len(loaded.HealthChecks) != 1 {
		err = fmt.Errorf("there are %d health checks instead of one", len(loaded.HealthChecks))
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("could not use --encryption-provider-config %s: %w", path, withoutContent(err))
	}
	return &providers{
		transformers: loaded.Transformers,
		health:       loaded.HealthChecks[0],
		hash:         loaded.EncryptionFileContentHash,
		grace:        loaded.KMSCloseGracePeriod,
		close:        cancel,
	}, nil
}

// withoutContent replaces the one kind of error of the library that quotes the
// whole file, keys included.
func withoutContent(err error) error {
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		if runtime.IsMissingKind(cause) || runtime.IsMissingVersion(cause) {
			return errors.New("apiVersion and kind are missing (apiserver.config.k8s.io/v1, EncryptionConfiguration)")
		}
	}
	return err
}

// try says which of the resources the providers would store in the clear,
// and pending what else went wrong when they were tried.
func (p *providers) try(ctx context.Context, resources []schema.GroupResource) (inTheClear []schema.GroupResource, pending error) {
	var errs []error
	for _, resource := range resources {
		err := try(ctx, resource, encryptionconfig.StaticTransformers(p.transformers).TransformerForResource(resource))
		switch {
		case errors.Is(err, errClear):
			inTheClear = append(inTheClear, resource)
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", resource, err))
		}
	}
	return inTheClear, errors.Join(errs...)
}

// providersTimeout is how long providers may take to become healthy before a
// reload gives them up for this time.
const providersTimeout = 10 * time.Second

// awaitHealth waits until the KMS plugins answer, for a limited time.
func (p *providers) awaitHealth(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, max(providersTimeout, p.grace))
	defer cancel()
	var unhealthy error
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		unhealthy = p.checkHealth(ctx)
		return unhealthy == nil, nil
	})
	if err != nil {
		return errors.Join(err, unhealthy)
	}
	return nil
}

// checkHealth asks the KMS plugins, or says what they answered a moment ago.
func (p *providers) checkHealth(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "/healthz/"+p.health.Name(), http.NoBody)
	if err != nil {
		return err
	}
	return p.health.Check(request)
}
