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
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/klog/v2"

	"entente.dev/entente/apiserver/etcd/datadir"
)

// closeTimeout limits Close. It is longer than etcd's own limit for open
// requests, so that it strikes only when something hangs.
const closeTimeout = 20 * time.Second

// storeFolder is the folder of the store below the data folder.
const storeFolder = "etcd"

// ErrClosed is what Err answers after Close.
var ErrClosed = errors.New("the embedded store is closed")

// Server is a running embedded store. Its methods may be called at once from
// several goroutines.
type Server struct {
	etcd     *embed.Etcd
	endpoint string
	quota    int64
	failure  *failure
	log      *logCore

	// undo gives back what Start took, last taken first.
	undo []func() error

	closing         chan struct{}
	closeOnce       func() error
	stopMaintenance context.CancelFunc
	background      sync.WaitGroup

	done chan struct{}
	mu   sync.Mutex
	err  error
}

// Start runs the embedded store and returns when it serves.
//
// Canceling ctx ends a start that is under way and, later on, the maintenance
// of the store; the store itself runs until Close, because those who write to
// it have to stop first.
//
// Errors wrap datadir.ErrInUse, datadir.ErrNewerFormat or datadir.ErrInsecure
// where one of them is the cause. Nothing is left running then.
func Start(ctx context.Context, config Config) (*Server, error) {
	s, err := start(ctx, config.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("could not start the embedded store: %w", err)
	}
	return s, nil
}

func start(ctx context.Context, config Config) (_ *Server, err error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	s := &Server{
		quota:   config.QuotaBackendBytes,
		failure: newFailure(),
		closing: make(chan struct{}),
		done:    make(chan struct{}),

		stopMaintenance: func() {},
	}
	s.closeOnce = sync.OnceValue(s.close)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()

	claim := config.Claim
	if claim == nil {
		if claim, err = datadir.Acquire(config.Dir); err != nil {
			return nil, err
		}
		s.undo = append(s.undo, claim.Release)
	}
	data := filepath.Join(claim.Path(), storeFolder)
	if err := ensurePrivateFolder(data); err != nil {
		return nil, err
	}
	socket, removeSocket, err := makeSocketFolder(claim.Path())
	if err != nil {
		return nil, err
	}
	s.undo = append(s.undo, removeSocket)
	s.endpoint = "unix://" + socket

	s.log = newLogCore(klog.FromContext(ctx))
	logger := newZapLogger(s.log, s.failure)
	s.etcd, err = launch(embedConfig(data, socket, config.QuotaBackendBytes, logger), s.failure)
	if err != nil {
		return nil, err
	}
	if err := s.awaitReady(ctx, config.StartTimeout); err != nil {
		return nil, err
	}
	// The folder keeps others out; the mode of the socket says so once more.
	if err := os.Chmod(socket, 0o600); err != nil {
		return nil, fmt.Errorf("could not protect the socket: %w", err)
	}

	maintenance, cancel := context.WithCancel(ctx)
	s.stopMaintenance = cancel
	s.background.Go(s.watch)
	s.background.Go(func() { s.maintain(maintenance, config) })
	return s, nil
}

// ensurePrivateFolder makes a folder that only its owner may open, or makes an
// existing one so.
func ensurePrivateFolder(path string) error {
	if err := datadir.EnsureFolder(path); err != nil {
		return err
	}
	if err := os.Chmod(path, 0o700); err != nil {
		return fmt.Errorf("could not protect the folder %s: %w", path, err)
	}
	return nil
}

func (s *Server) awaitReady(ctx context.Context, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-s.etcd.Server.ReadyNotify():
		return nil
	case <-s.etcd.Server.StopNotify():
		return errors.New("etcd stopped")
	case err := <-s.etcd.Err():
		return servingError(err)
	case <-s.failure.occurred():
		return s.failure.err()
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return fmt.Errorf("etcd was not ready within %s", limit)
	}
}

// watch waits for the end of the store, be it wanted or not.
func (s *Server) watch() {
	select {
	case <-s.closing:
	case <-s.etcd.Server.StopNotify():
		s.fail(errors.New("etcd stopped"))
	case err := <-s.etcd.Err():
		s.fail(servingError(err))
	case <-s.failure.occurred():
		s.fail(s.failure.err())
	}
}

// servingError is why etcd no longer listens; it need not give a reason.
func servingError(err error) error {
	if err == nil {
		return errors.New("etcd stopped listening")
	}
	return fmt.Errorf("etcd stopped listening: %w", err)
}

// fail notes why the store ended; the first reason stays.
func (s *Server) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
		close(s.done)
	}
}

// Endpoint is the URL of the store for an etcd v3 client: unix:///PATH.
func (s *Server) Endpoint() string {
	return s.endpoint
}

// Done is closed when the store has ended: it was closed, or it died and Err
// says why. A store that died does not come back; the process should end.
func (s *Server) Done() <-chan struct{} {
	return s.done
}

// Err is nil while the store serves, ErrClosed after Close, and otherwise the
// reason of its death. It is cheap enough for a health check.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Close stops the store, removes its socket and, if Start claimed it, releases
// the data folder. Its clients should be gone: it waits some seconds for open
// requests. Calling it again does nothing and answers the same.
//
// An error says that the store could not be stopped within 20 seconds (the data
// folder stays locked until the process ends), or what could not be removed.
func (s *Server) Close() error {
	return s.closeOnce()
}

func (s *Server) close() error {
	s.fail(ErrClosed)
	close(s.closing)
	s.stopMaintenance()
	failedBefore := s.failure.err() != nil
	if s.log != nil {
		s.log.shuttingDown.Store(true)
	}

	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.background.Wait()
		if s.etcd != nil {
			s.etcd.Close()
		}
	}()
	timer := time.NewTimer(closeTimeout)
	defer timer.Stop()
	select {
	case <-stopped:
	case <-timer.C:
		return fmt.Errorf("could not stop the embedded store within %s", closeTimeout)
	}

	var errs []error
	if cause := s.failure.err(); cause != nil && !failedBefore {
		errs = append(errs, fmt.Errorf("could not stop the embedded store well: %w", cause))
	}
	for _, undo := range slices.Backward(s.undo) {
		errs = append(errs, undo())
	}
	return errors.Join(errs...)
}
