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

package standalone

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"entente.dev/entente/apiserver/etcd/datadir"
	"entente.dev/entente/apiserver/standalone/localrbac"
)

// renewalInterval is the time between two looks at the certificates while the
// server runs.
const renewalInterval = 12 * time.Hour

// Config says where and for what server an Environment is prepared.
type Config struct {
	// DataDir is the data folder, the argument of --data-dir. Required.
	DataDir string
	// Port is the port that the server will serve on, for the kubeconfigs. From 1
	// to 65535. Required.
	Port int
	// ServingHosts are names and IP addresses for the serving certificate, beside
	// localhost, 127.0.0.1 and ::1.
	ServingHosts []string
	// RBACPollInterval is localrbac.Options.PollInterval.
	RBACPollInterval time.Duration
	// Clock decides what is close to expiry, and drives Run. Default: the real one.
	Clock clock.WithTicker
}

// Environment is what a standalone server has in place of a host cluster. Its
// fields do not change after Prepare.
type Environment struct {
	// ClusterUUID is the identity of this cluster; it survives restarts.
	ClusterUUID string
	// ClientCAFile is the certificate of the authority that signs the users'
	// client certificates.
	ClientCAFile string
	// ServerCAFile is the certificate of the authority that signs the serving
	// certificate. It is in the kubeconfigs.
	ServerCAFile string
	// ServingCertFile and ServingKeyFile are the serving certificate and its key.
	// Run renews the certificate in place, for the same key, so that a reader who
	// follows both files never sees two that do not belong together.
	ServingCertFile, ServingKeyFile string
	// KeysDir is the folder for keys, DIR/keys.
	KeysDir string
	// RBACDir is the folder of the RBAC manifests, DIR/rbac.
	RBACDir string
	// Kubeconfigs are the paths of the kubeconfig files, by user name.
	Kubeconfigs map[string]string
	// Authorizer decides by the manifests in RBACDir.
	Authorizer *localrbac.Authorizer

	config   Config
	clientCA *authority
	serverCA *authority
}

// Prepare makes what is missing in the data folder and renews what is about to
// expire. What users edited or deleted in the folder of RBAC manifests stays as
// they left it; only when the folder itself is gone it is made anew, with the
// default manifests.
//
// Errors name the file at fault. They wrap datadir.ErrInsecure if others than
// the owner may write the data folder, the manifests or their folder.
func Prepare(ctx context.Context, config Config) (*Environment, error) {
	e, err := prepare(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("could not prepare standalone mode: %w", err)
	}
	return e, nil
}

func prepare(ctx context.Context, config Config) (*Environment, error) {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	if config.DataDir == "" {
		return nil, errors.New("no data folder given")
	}
	if config.Port < 1 || config.Port > 65535 {
		return nil, fmt.Errorf("%d is not a port", config.Port)
	}
	dir, err := filepath.Abs(config.DataDir)
	if err != nil {
		return nil, err
	}
	config.DataDir = dir
	config.ServingHosts = slices.Clone(config.ServingHosts)

	keys := filepath.Join(dir, "keys")
	e := &Environment{
		ClientCAFile:    filepath.Join(keys, "client-ca.crt"),
		ServerCAFile:    filepath.Join(keys, "server-ca.crt"),
		ServingCertFile: filepath.Join(keys, "server.crt"),
		ServingKeyFile:  filepath.Join(keys, "server.key"),
		KeysDir:         keys,
		RBACDir:         filepath.Join(dir, "rbac"),
		Kubeconfigs:     map[string]string{},
		config:          config,
	}
	if err := datadir.EnsureFolder(dir); err != nil {
		return nil, err
	}
	if err := ensurePrivateFolder(keys); err != nil {
		return nil, err
	}
	if e.clientCA, err = ensureAuthority(e.ClientCAFile, "entente-standalone-client-ca", config.Clock.Now()); err != nil {
		return nil, err
	}
	if e.serverCA, err = ensureAuthority(e.ServerCAFile, "entente-standalone-server-ca", config.Clock.Now()); err != nil {
		return nil, err
	}
	for _, user := range localUsers() {
		e.Kubeconfigs[user.name] = filepath.Join(dir, user.name+".kubeconfig")
	}
	if err := e.renew(); err != nil {
		return nil, err
	}
	if e.ClusterUUID, err = ensureClusterUUID(filepath.Join(dir, "cluster-uuid")); err != nil {
		return nil, err
	}
	if err := ensureManifests(e.RBACDir); err != nil {
		return nil, err
	}
	options := localrbac.Options{Dir: e.RBACDir, PollInterval: config.RBACPollInterval, Clock: config.Clock}
	if e.Authorizer, err = localrbac.New(ctx, options); err != nil {
		return nil, err
	}
	return e, nil
}

// Run follows changes of the RBAC manifests and renews certificates before they
// expire, until ctx ends. It leaves no goroutine behind.
func (e *Environment) Run(ctx context.Context) {
	var background sync.WaitGroup
	background.Go(func() { e.Authorizer.Run(ctx) })
	defer background.Wait()

	ticker := e.config.Clock.NewTicker(renewalInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			if err := e.renew(); err != nil {
				klog.FromContext(ctx).Error(err, "Could not renew the certificates of standalone mode; it is tried again", "after", renewalInterval)
			}
		}
	}
}

// renew makes the serving certificate and the kubeconfigs what they should be.
func (e *Environment) renew() error {
	if err := e.ensureServingCertificate(); err != nil {
		return err
	}
	for _, user := range localUsers() {
		if err := e.ensureKubeconfig(user); err != nil {
			return err
		}
	}
	return nil
}
