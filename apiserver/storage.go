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

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"io"

	clientv3 "go.etcd.io/etcd/client/v3"
	genericoptions "k8s.io/apiserver/pkg/server/options"

	"entente.dev/entente/apiserver/encryption"
	"entente.dev/entente/apiserver/etcd"
	"entente.dev/entente/apiserver/etcd/datadir"
	"entente.dev/entente/apiserver/host"
)

// RewriteConfig says which store to encrypt anew.
type RewriteConfig struct {
	// DataDir is the data folder of a server that does not run, with the generated
	// keys, and with the embedded store unless Etcd names servers. It may be empty if
	// it does and there is an encryption configuration or a Host; with the former
	// servers may run.
	DataDir string
	// Etcd holds the servers, the prefix and the encryption configuration.
	Etcd *genericoptions.EtcdOptions
	// Host says in which cluster the Secret with the generated keys is. Without it they
	// are in DataDir.
	Host *HostConfig
	// ServersAreStopped says that no server uses Etcd's servers. A new key needs that:
	// one that runs would go on to encrypt with a key that is removed.
	ServersAreStopped bool

	encryption.RewriteOptions
}

// RewriteStorage encrypts all stored objects anew that are not encrypted with what
// encrypts now. Of a store that nobody else uses it also removes what is left of
// their old form in the database, as far as etcd can.
func RewriteStorage(ctx context.Context, config RewriteConfig) (result encryption.RewriteResult, err error) {
	options := *config.Etcd
	embedded := len(options.StorageConfig.Transport.ServerList) == 0
	if err := config.check(embedded); err != nil {
		return result, err
	}
	var keys encryption.KeyStore
	if config.DataDir != "" {
		if embedded {
			if err := requireStore(config.DataDir); err != nil {
				return result, err
			}
		}
		var claim *datadir.Claim
		if claim, err = datadir.Acquire(config.DataDir); err != nil {
			return result, fmt.Errorf("could not use --data-dir %s: %w", config.DataDir, err)
		}
		defer func() { err = errors.Join(err, claim.Release()) }()
		keys = encryption.NewFileStore(config.DataDir)
		if embedded {
			// Writing everything anew takes room for a while.
			var store *etcd.Server
			if store, err = etcd.Start(ctx, etcd.Config{Claim: claim, QuotaBackendBytes: etcd.MaxQuotaBackendBytes}); err != nil {
				return result, err
			}
			defer func() { err = errors.Join(err, store.Close()) }()
			options.StorageConfig.Transport.ServerList = []string{store.Endpoint()}
		}
	}
	if config.Host != nil {
		h, err := host.New(host.Config{Kubeconfig: config.Host.Kubeconfig, Namespace: config.Host.Namespace})
		if err != nil {
			return result, err
		}
		keys = keysInSecret(h)
	}
	client, err := etcd.NewClient(ctx, options.StorageConfig.Transport)
	if err != nil {
		return result, err
	}
	defer client.Close()
	result, err = encryption.Rewrite(ctx, encryptionConfig(&options, keys), client, config.RewriteOptions)
	if err == nil && config.DataDir != "" && result.Rewritten > 0 {
		err = forget(ctx, client, embedded)
	}
	return result, err
}

// check says what is missing, or too dangerous.
func (c RewriteConfig) check(embedded bool) error {
	generated := c.Etcd.EncryptionProviderConfigFilepath == "" || c.NewKey || c.ToGeneratedKey
	switch {
	case c.DataDir == "" && embedded:
		return errors.New("could not rewrite: --data-dir is needed, or --etcd-servers")
	case c.DataDir == "" && c.Host == nil && generated:
		return errors.New("could not rewrite: --data-dir is needed, or --kubeconfig or --in-cluster, for the generated keys")
	case c.NewKey && !embedded && !c.ServersAreStopped:
		return errors.New("could not make a new key: a server that uses --etcd-servers would go on to encrypt with the old one, and lose what it stores; stop all of them, and say so by --servers-are-stopped")
	}
	return nil
}

// forget removes old revisions from the database: their key may be gone, and
// whoever watches from then reads anew.
func forget(ctx context.Context, client *clientv3.Client, embedded bool) error {
	now, err := client.Get(ctx, "/", clientv3.WithCountOnly())
	if err != nil {
		return fmt.Errorf("could not remove old revisions: %w", err)
	}
	if _, err := client.Compact(ctx, now.Header.GetRevision(), clientv3.WithCompactPhysical()); err != nil {
		return fmt.Errorf("could not remove old revisions: %w", err)
	}
	if !embedded {
		return nil
	}
	if _, err := client.Defragment(ctx, client.Endpoints()[0]); err != nil {
		return fmt.Errorf("could not defragment the store: %w", err)
	}
	return nil
}

// SnapshotStorage writes a snapshot of the embedded store of a data folder to the
// file at path, whether a server runs on it or not. If out is set, it goes there
// instead.
func SnapshotStorage(ctx context.Context, dataDir, path string, out io.Writer) (err error) {
	if err := requireStore(dataDir); err != nil {
		return err
	}
	var endpoint string
	claim, err := datadir.Acquire(dataDir)
	switch {
	case errors.Is(err, datadir.ErrInUse):
		if endpoint, err = etcd.RunningEndpoint(dataDir); err != nil {
			return err
		}
	case err != nil:
		return fmt.Errorf("could not use --data-dir %s: %w", dataDir, err)
	default:
		defer func() { err = errors.Join(err, claim.Release()) }()
		var store *etcd.Server
		if store, err = etcd.Start(ctx, etcd.Config{Claim: claim, QuotaBackendBytes: etcd.MaxQuotaBackendBytes}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, store.Close()) }()
		endpoint = store.Endpoint()
	}
	options := genericoptions.EtcdOptions{}
	options.StorageConfig.Transport.ServerList = []string{endpoint}
	client, err := etcd.NewClient(ctx, options.StorageConfig.Transport)
	if err != nil {
		return err
	}
	defer client.Close()
	if out != nil {
		return etcd.WriteSnapshot(ctx, client, out)
	}
	return etcd.SaveSnapshot(ctx, client, path)
}

// RestoreStorage makes the embedded store of a data folder from a snapshot. The
// folder must not have one.
func RestoreStorage(dataDir, path string) (err error) {
	claim, err := datadir.Acquire(dataDir)
	if err != nil {
		return fmt.Errorf("could not use --data-dir %s: %w", dataDir, err)
	}
	defer func() { err = errors.Join(err, claim.Release()) }()
	return etcd.Restore(claim, path)
}

// requireStore keeps a mistyped folder from becoming a new, empty store.
func requireStore(dataDir string) error {
	exists, err := etcd.Exists(dataDir)
	if err == nil && !exists {
		err = errors.New("there is no store in it")
	}
	if err != nil {
		return fmt.Errorf("could not use --data-dir %s: %w", dataDir, err)
	}
	return nil
}
