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

	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"

	"entente.dev/entente/apis/core"
	"entente.dev/entente/apis/peering"
	"entente.dev/entente/apiserver/encryption"
	"entente.dev/entente/apiserver/etcd"
	"entente.dev/entente/registry/ledger"
)

// storedResources are all resources that are in the store. The encryption of each is
// tried at start; one that is not here cannot be stored.
func storedResources() []schema.GroupResource {
	return []schema.GroupResource{
		{Group: peering.GroupName, Resource: "clusterpeers"},
		{Group: peering.GroupName, Resource: "peeringcapabilities"},
		{Group: peering.GroupName, Resource: "projectpeers"},
		{Group: peering.GroupName, Resource: "tokenexchangeproviders"},
		{Group: core.GroupName, Resource: "clusters"},
		{Group: core.GroupName, Resource: "releases"},
		ledger.Resource(),
	}
}

// serverID names this server in the metrics of the library's encryption.
const serverID = "entente"

// encryptionConfig is what the flags say about encryption.
func encryptionConfig(options *genericoptions.EtcdOptions, keys encryption.KeyStore) encryption.Config {
	return encryption.Config{
		Resources:          storedResources(),
		Keys:               keys,
		ProviderConfigFile: options.EncryptionProviderConfigFilepath,
		AutomaticReload:    options.EncryptionProviderConfigAutomaticReload,
		Prefix:             options.StorageConfig.Prefix,
		ServerID:           serverID,
	}
}

// newEncryption looks into the store, which must serve.
func newEncryption(ctx context.Context, options *genericoptions.EtcdOptions, keys encryption.KeyStore) (*encryption.Encryption, error) {
	client, err := etcd.NewClient(ctx, options.StorageConfig.Transport)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	config := encryptionConfig(options, keys)
	config.Store = client
	return encryption.New(ctx, config)
}

// encrypt makes the library's server store nothing but what was encrypted. It comes
// before the options of etcd are applied.
func encrypt(generic *genericapiserver.Config, config CompletedConfig, e *encryption.Encryption) {
	generic.ResourceTransformers = e
	if config.WrapTransformers != nil {
		generic.ResourceTransformers = config.WrapTransformers(e)
	}
	// Whether a KMS plugin answers is no question of life.
	generic.HealthzChecks = append(generic.HealthzChecks, e.Checks()...)
	generic.ReadyzChecks = append(generic.ReadyzChecks, e.Checks()...)
}
