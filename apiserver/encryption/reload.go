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

	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig/metrics"
	"k8s.io/klog/v2"
)

// Run follows the configuration file until ctx ends, if that was asked for.
//
// A file that cannot be used, whose providers do not answer, or which would store
// something in the clear is not taken: what was in use stays in use, an error is
// logged, and the library's metric of failed reloads goes up. It is tried again.
//
// The library's own controller would take any file that it can read, so it is not
// used; loading, swapping and closing are the library's.
func (e *Encryption) Run(ctx context.Context) {
	if e.current == nil || !e.config.AutomaticReload {
		return
	}
	ticker := e.config.Clock.NewTicker(e.config.PollInterval)
	defer ticker.Stop()
	var said string
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		changed, err := e.reload(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			metrics.RecordEncryptionConfigAutomaticReloadFailure(e.config.ServerID)
			if text := e.tried + err.Error(); text != said {
				said = text
				klog.FromContext(ctx).Error(err, "The encryption configuration was not taken; what was in use stays in use", "file", e.config.ProviderConfigFile)
			}
		case changed:
			said = ""
			metrics.RecordEncryptionConfigAutomaticReloadSuccess(e.config.ServerID, e.hash)
			klog.FromContext(ctx).Info("Took a changed encryption configuration", "file", e.config.ProviderConfigFile)
		default:
			said = ""
		}
	}
}

// reload takes the file if it has changed and can be used.
func (e *Encryption) reload(ctx context.Context) (changed bool, err error) {
	e.tried, err = encryptionconfig.GetEncryptionConfigHash(e.config.ProviderConfigFile)
	if err != nil || e.tried == e.hash {
		return false, err
	}
	loaded, err := e.load(ctx)
	if err != nil {
		return false, err
	}
	defer func() {
		if !changed {
			loaded.close()
		}
	}()
	if loaded.hash == e.hash {
		return false, nil
	}
	if err := loaded.awaitHealth(ctx); err != nil {
		return false, fmt.Errorf("could not use --encryption-provider-config %s: %w", e.config.ProviderConfigFile, err)
	}
	pending, err := e.accept(ctx, loaded)
	if err != nil || pending != nil {
		return false, errors.Join(err, pending)
	}
	e.current.Set(loaded.transformers, loaded.close, loaded.health, loaded.grace)
	e.hash = loaded.hash
	return true, nil
}
