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

// Package harness starts real servers for tests, in this process, with real TLS
// and ordinary users.
package harness

import (
	"context"
	"crypto/tls"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"entente.dev/entente/apis/generated/clientset/versioned"
	"entente.dev/entente/apiserver"
	"entente.dev/entente/apiserver/options"
)

// Users that every standalone server has.
const (
	Admin    = "admin"
	Operator = "operator"
	Viewer   = "viewer"
)

// deadline limits how long a test waits for something that should come at once.
const deadline = 30 * time.Second

// Server is a standalone server that runs in this process.
type Server struct {
	// Dir is its data folder.
	Dir string
	// Base is its URL, https://127.0.0.1:PORT.
	Base string
	// Server is the server itself.
	Server *apiserver.Server

	stop func() error
}

// Option changes how a server is started.
type Option func(*settings)

type settings struct {
	dir          string
	flags        []func(*options.Options)
	wrap         func(authorizer.Authorizer) authorizer.Authorizer
	transformers func(value.ResourceTransformers) value.ResourceTransformers
	configs      []func(*apiserver.Config)
}

// InDir starts the server on a folder that exists already or not, for restarts.
func InDir(dir string) Option { return func(s *settings) { s.dir = dir } }

// WithOptions changes the flags.
func WithOptions(change func(*options.Options)) Option {
	return func(s *settings) { s.flags = append(s.flags, change) }
}

// WithAuthorizer puts an authorizer of the test's making around the server's.
func WithAuthorizer(wrap func(authorizer.Authorizer) authorizer.Authorizer) Option {
	return func(s *settings) { s.wrap = wrap }
}

// WithTransformers puts something of the test's making around what encrypts.
func WithTransformers(wrap func(value.ResourceTransformers) value.ResourceTransformers) Option {
	return func(s *settings) { s.transformers = wrap }
}

// WithConfig changes what no flag does.
func WithConfig(change func(*apiserver.Config)) Option {
	return func(s *settings) { s.configs = append(s.configs, change) }
}

// Options is several options in one.
func Options(opts ...Option) Option {
	return func(s *settings) {
		for _, opt := range opts {
			opt(s)
		}
	}
}

// New returns a server that is not yet started, or why it cannot be made.
func New(t testing.TB, opts ...Option) (*Server, error) {
	t.Helper()
	settings := settings{}
	for _, opt := range opts {
		opt(&settings)
	}
	if settings.dir == "" {
		settings.dir = filepath.Join(t.TempDir(), "data")
	}
	o, err := options.New()
	require.NoError(t, err)
	o.Standalone = true
	o.DataDir = settings.dir
	o.SecureServing.BindPort = 0
	o.ServerRun.ShutdownWatchTerminationGracePeriod = time.Second
	for _, change := range settings.flags {
		change(o)
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	config := o.Config()
	config.WrapAuthorizer = settings.wrap
	config.WrapTransformers = settings.transformers
	for _, change := range settings.configs {
		change(&config)
	}
	completed, err := config.Complete()
	if err != nil {
		return nil, err
	}
	server, err := apiserver.New(context.WithoutCancel(t.Context()), completed)
	if err != nil {
		return nil, err
	}
	return &Server{Dir: settings.dir, Base: "https://" + server.Address(), Server: server}, nil
}

// Start starts a server, waits until it is ready and stops it when the test ends.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	s, err := New(t, opts...)
	require.NoError(t, err)
	s.Run(t)
	s.WaitReady(t)
	return s
}

// Run serves until the test ends or Stop is called.
func (s *Server) Run(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Background()))
	result := make(chan error, 1)
	go func() { result <- s.Server.Run(ctx) }()
	stopped := false
	s.stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-result
	}
	t.Cleanup(func() { require.NoError(t, s.stop(), "the server did not stop cleanly") })
}

// Stop stops the server and returns what it ended with.
func (s *Server) Stop() error { return s.stop() }

// WaitReady waits until /readyz says so.
func (s *Server) WaitReady(t testing.TB) {
	t.Helper()
	client := s.HTTP(t, "")
	Eventually(t, "the server is ready", func(ctx context.Context) bool {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Base+"/readyz", nil)
		require.NoError(t, err)
		resp, err := client.Do(req)
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// Eventually polls until a condition holds, and fails the test at a deadline.
func Eventually(t testing.TB, what string, condition func(context.Context) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, deadline, true, func(ctx context.Context) (bool, error) {
		return condition(ctx), nil
	})
	require.NoError(t, err, "did not happen in %v: %s", deadline, what)
}

// Kubeconfig is the path of a user's kubeconfig.
func (s *Server) Kubeconfig(user string) string {
	return filepath.Join(s.Dir, user+".kubeconfig")
}

// RESTConfig returns a client config for a user; it is the caller's to change.
func (s *Server) RESTConfig(t testing.TB, user string) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig(user))
	require.NoError(t, err)
	config.QPS = -1
	return config
}

// Client returns the generated client for a user.
func (s *Server) Client(t testing.TB, user string) versioned.Interface {
	t.Helper()
	client, err := versioned.NewForConfig(s.RESTConfig(t, user))
	require.NoError(t, err)
	return client
}

// HTTP returns an HTTP client that presents a user's certificate, or none if user
// is empty.
func (s *Server) HTTP(t testing.TB, user string) *http.Client {
	t.Helper()
	config := s.RESTConfig(t, Admin)
	if user != "" {
		config = s.RESTConfig(t, user)
	}
	tlsConfig, err := rest.TLSConfigFor(config)
	require.NoError(t, err)
	if user == "" {
		tlsConfig.Certificates, tlsConfig.GetClientCertificate = nil, func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return &tls.Certificate{}, nil
		}
	}
	transport := &http.Transport{TLSClientConfig: tlsConfig}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// File writes a file into a new folder of the test and returns its path.
func File(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}
