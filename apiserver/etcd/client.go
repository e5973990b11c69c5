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

package etcd

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"k8s.io/apiserver/pkg/storage/storagebackend"
)

// NewClient returns a client of the store at transport, embedded or not, for what
// is not the library's business. It lives until it is closed or ctx ends.
func NewClient(ctx context.Context, config storagebackend.TransportConfig) (*clientv3.Client, error) {
	clientConfig := clientv3.Config{
		Context:   ctx,
		Endpoints: config.ServerList,
		// What goes wrong is in the errors.
		Logger: zap.NewNop(),
	}
	if config.CertFile != "" || config.KeyFile != "" || config.TrustedCAFile != "" {
		var err error
		info := transport.TLSInfo{CertFile: config.CertFile, KeyFile: config.KeyFile, TrustedCAFile: config.TrustedCAFile}
		if clientConfig.TLS, err = info.ClientConfig(); err != nil {
			return nil, fmt.Errorf("could not use the certificates for etcd: %w", err)
		}
	}
	client, err := clientv3.New(clientConfig)
	if err != nil {
		return nil, fmt.Errorf("could not make a client of etcd: %w", err)
	}
	return client, nil
}
