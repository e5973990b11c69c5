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
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"entente.dev/entente/apiserver/encryption"
	"entente.dev/entente/apiserver/etcd"
	"entente.dev/entente/apiserver/etcd/datadir"
)

// Server is a server that is ready to run.
type Server struct {
	claim      *datadir.Claim
	generic    *genericapiserver.GenericAPIServer
	store      *etcd.Server
	mode       mode
	encryption *encryption.Encryption
	listener   net.Listener
	gateway    net.Listener // nil: this cluster can only join
	peering    *peers
	loopback   *http.Client
	stopEvents func()
}

// New claims the data folder, waits for an external store and the host cluster,
// binds the ports, starts the embedded store and puts the server together. What it
// started is stopped again when it fails, and else when Run returns or by Close.
func New(ctx context.Context, config CompletedConfig) (_ *Server, err error) {
	s := &Server{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if config.DataDir != "" {
		if s.claim, err = datadir.Acquire(config.DataDir); err != nil {
			return nil, fmt.Errorf("could not use --data-dir %s: %w", config.DataDir, err)
		}
	}
	etcdOptions := *config.Etcd
	etcdOptions.StorageConfig.Codec = config.api.Codecs.LegacyCodec(storageVersions()...)
	etcdOptions.StorageConfig.EncodeVersioner = storageVersions()
	// Before the port is bound: who connects to a server that cannot serve is to be
	// refused, not to wait.
	if !config.embedded() {
		if err := awaitStore(ctx, etcdOptions.StorageConfig); err != nil {
			return nil, err
		}
	}
	if s.mode, err = newMode(ctx, config); err != nil {
		return nil, err
	}
	port, err := s.listen(config.SecureServing.SecureServingOptions)
	if err != nil {
		return nil, err
	}
	if s.gateway, err = listenGateway(config.Peering); err != nil {
		return nil, err
	}
	if config.embedded() {
		s.store, err = etcd.Start(ctx, etcd.Config{Claim: s.claim, QuotaBackendBytes: config.QuotaBackendBytes})
		if err != nil {
			return nil, err
		}
		etcdOptions.StorageConfig.Transport.ServerList = []string{s.store.Endpoint()}
	}
	if err := s.mode.prepare(ctx, port); err != nil {
		return nil, err
	}
	if s.encryption, err = newEncryption(ctx, &etcdOptions, s.mode.keys()); err != nil {
		return nil, err
	}
	generic, sight, err := genericConfig(ctx, config, &etcdOptions, s.mode, s.encryption)
	if err != nil {
		return nil, err
	}
	if s.peering, err = newPeers(ctx, config, etcdOptions.StorageConfig, generic, s.mode, s.gateway); err != nil {
		return nil, err
	}
	if err := s.install(ctx, config, generic, sight); err != nil {
		return nil, err
	}
	return s, nil
}

// awaitStore waits until an external etcd answers, or ctx ends; the library gives
// up after 20 seconds.
func awaitStore(ctx context.Context, config storagebackend.Config) error {
	stop := make(chan struct{})
	defer close(stop)
	check, err := factory.CreateReadyCheck(config, stop)
	if err != nil {
		return fmt.Errorf("could not use --etcd-servers: %w", err)
	}
	said := false
	err = wait.PollUntilContextCancel(ctx, storeRetryInterval, true, func(context.Context) (bool, error) {
		err := check()
		if err != nil && !said {
			klog.FromContext(ctx).Error(err, "Not ready: waiting for etcd", "servers", config.Transport.ServerList)
			said = true
		}
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("gave up waiting for etcd at --etcd-servers: %w", err)
	}
	return nil
}

// storeRetryInterval is the time between two looks at an etcd that is away.
const storeRetryInterval = time.Second

// listen binds the port before the embedded store is started, so that a port in
// use is said at once, and that port 0 is known when kubeconfigs are written.
func (s *Server) listen(serving *genericoptions.SecureServingOptions) (port int, err error) {
	if serving.Listener == nil {
		address := net.JoinHostPort(serving.BindAddress.String(), strconv.Itoa(serving.BindPort))
		serving.Listener, serving.BindPort, err = genericoptions.CreateListener(serving.BindNetwork, address, net.ListenConfig{})
		if err != nil {
			return 0, fmt.Errorf("could not listen on --bind-address and --secure-port (%s): %w", address, err)
		}
	}
	s.listener = serving.Listener
	tcp, ok := serving.Listener.Addr().(*net.TCPAddr)
	if !ok {
		return 0, fmt.Errorf("could not serve on a listener of network %s", serving.Listener.Addr().Network())
	}
	return tcp.Port, nil
}

// LoopbackConfig returns the config of the privileged client that the embedded
// controllers use. It must not leave the process.
func (s *Server) LoopbackConfig() *rest.Config { return s.generic.LoopbackClientConfig }

// Address is where the server listens, host and port.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Run serves until ctx ends, then drains: it stops being ready, awaits the
// controllers and the requests in flight, and closes the store last. It fails if
// the embedded store fails.
func (s *Server) Run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, s.Close()) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if s.store != nil {
		go func() {
			select {
			case <-s.store.Done():
				cancel(fmt.Errorf("the embedded store has stopped: %w", s.store.Err()))
			case <-ctx.Done():
			}
		}()
	}
	// The mode outlives the server's context: it serves requests that are still
	// drained.
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	var affairs sync.WaitGroup
	affairs.Go(func() { s.mode.run(background) })
	affairs.Go(func() { s.encryption.Run(background) })
	affairs.Go(func() { s.peering.ledger.Run(background) })
	defer affairs.Wait()
	defer stop()

	affairs.Go(func() { s.releaseLoopback(ctx, background) })

	klog.FromContext(ctx).Info("Serving", "address", s.Address())
	if err := s.generic.PrepareRun().RunWithContext(ctx); err != nil {
		return fmt.Errorf("could not serve: %w", err)
	}
	if cause := context.Cause(ctx); s.store != nil && s.store.Err() != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// releaseLoopback closes connections of the controllers' client that are idle while
// the server drains: one that was dialled at the very end would be waited for.
func (s *Server) releaseLoopback(serving, drained context.Context) {
	select {
	case <-serving.Done():
	case <-drained.Done(): // it never served
	}
	wait.UntilWithContext(drained, func(context.Context) { utilnet.CloseIdleConnectionsFor(s.loopback.Transport) }, 100*time.Millisecond)
}

// Close stops what New started. It may be called more than once.
func (s *Server) Close() error {
	var errs []error
	if s.stopEvents != nil {
		s.stopEvents()
	}
	if s.generic != nil {
		s.generic.Destroy()
	}
	if s.peering != nil {
		errs = append(errs, s.peering.Close())
	}
	if s.encryption != nil {
		s.encryption.Close()
	}
	for _, listener := range []net.Listener{s.listener, s.gateway} {
		if listener == nil {
			continue
		}
		if err := listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	if s.claim != nil {
		errs = append(errs, s.claim.Release())
	}
	return errors.Join(errs...)
}

// controllerStopTimeout limits how long a shutdown waits for the controllers.
const controllerStopTimeout = 15 * time.Second
