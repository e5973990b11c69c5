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

package target

import (
	"cmp"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"entente.dev/entente/peering/client"
)

// userAgent is who we are to a cluster, unless a config of our own says it.
const userAgent = "entente"

// Limits of what a body may have, after decompression, in bytes and in marks.
const (
	// Of an answer, which is an object of at most 1.5 MiB in etcd with whose fields are
	// managed.
	maxAnswer      = 4 << 20
	maxAnswerMarks = 256 << 10
	// Of an answer to what tells the version and which APIs there are.
	maxDiscovery      = 4 << 20
	maxDiscoveryMarks = 64 << 10
	// Of an answer that is not a success.
	maxRefusal      = 1 << 20
	maxRefusalMarks = 16 << 10
)

// Config is how to reach a cluster. The zero Config will do.
type Config struct {
	// Policy says which addresses may be dialled (P11).
	Policy client.Policy
	// Resolver resolves host names. Nil: that of the system.
	Resolver *net.Resolver
	// QPS and Burst limit the calls of Objects, and those of Mapper, a second and at once.
	// 0: 5 and 10; a negative QPS: no limit. Probe is not limited.
	QPS   float32
	Burst int
	// Timeout is for a call with the whole of its answer; 0: none but that of its context.
	Timeout time.Duration
	// Gate bounds the memory that all clients take that have the same: only as many answers
	// as it has room for are decoded at once. Nil: all of them.
	Gate chan struct{}
}

// Client is the way to one cluster. It is safe for concurrent use, and prints as a
// placeholder.
type Client struct {
	line *line
	// base is the URL of the API.
	base *url.URL
	// discovery gets answers of at most maxDiscovery.
	discovery *http.Client
	gate      chan struct{}
	dynamic   dynamic.Interface
	mapper    *mapper
}

// New returns a client of a cluster that a tenant gave. Nothing is dialled yet. Host names
// are taken from the root, not looked up in a search list: it would turn a name of another's
// choice into one of this cluster. If there is a proxy, it is its address that is checked
// by the policy, and of the cluster's only an IP address, not what a name resolves to there.
func New(access *Access, config Config) (*Client, error) {
	m := access.reveal()
	credentials := &rest.Config{
		Host:        m.server.String(),
		BearerToken: m.token,
		TLSClientConfig: rest.TLSClientConfig{
			Insecure: m.insecure, ServerName: m.serverName, CAData: m.ca, CertData: m.certificate, KeyData: m.key,
		},
		DisableCompression: m.plain,
		QPS:                config.QPS,
		Burst:              config.Burst,
		Timeout:            config.Timeout,
	}
	dial := (&dialer{config.Policy, config.Resolver}).dial
	return newClient(m.server, credentials, dial, proxyOf(m, config.Policy), config.Gate)
}

// Own returns a client of the host cluster, from our own config, as which it is free in where
// it leads and in what it reads. It is a user of that name, unless as is empty. A config with
// a Transport is refused. What is in files is read once, except a token.
func Own(config *rest.Config, as string) (*Client, error) {
	if config.Transport != nil {
		return nil, errors.New("could not use a config that has its own transport")
	}
	config = rest.CopyConfig(config)
	if as != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: as}
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, errors.New("could not use a config: its host is not one") // the cause quotes it
	}
	dial := config.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: connectTimeout}).DialContext
	}
	return newClient(base, config, dial, config.Proxy, nil)
}

func newClient(base *url.URL, credentials *rest.Config, dial dialFunc, proxy proxyFunc, gate chan struct{}) (*Client, error) {
	credentials.UserAgent = cmp.Or(credentials.UserAgent, userAgent)
	// The cause of a failure here could quote what it is about.
	encryption, err := rest.TLSConfigFor(credentials)
	if err != nil {
		return nil, errors.New("could not use the certificates")
	}
	if encryption == nil {
		encryption = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	line := newLine(dial, proxy, encryption, credentials.DisableCompression)
	transport, err := rest.HTTPWrappersForConfig(credentials, line)
	if err != nil {
		line.close()
		return nil, errors.New("could not use the credentials")
	}
	c := &Client{
		line:      line,
		base:      base,
		discovery: &http.Client{Transport: &bounded{transport, limits{maxDiscovery, maxDiscoveryMarks}}, Timeout: credentials.Timeout},
		gate:      gate,
	}
	// Without credentials: these are added below.
	config := &rest.Config{
		Host: base.String(), QPS: credentials.QPS, Burst: credentials.Burst, RateLimiter: credentials.RateLimiter,
		Timeout: credentials.Timeout, UserAgent: credentials.UserAgent,
		WarningHandlerWithContext: rest.NoWarnings{}, // which are logged otherwise (R15)
	}
	all := &http.Client{Transport: &bounded{transport, limits{maxAnswer, maxAnswerMarks}}, Timeout: credentials.Timeout}
	inner, err := dynamic.NewForConfigAndClient(config, all)
	if err != nil {
		line.close()
		return nil, errors.New("could not make a client")
	}
	c.dynamic = inner
	c.mapper = newMapper(c, limiterOf(credentials))
	return c, nil
}

// Objects reaches the objects of a resource, in a namespace or, without one, of the whole
// cluster.
func (c *Client) Objects(resource schema.GroupVersionResource, namespace string) Objects {
	all := c.dynamic.Resource(resource)
	if namespace == "" {
		return Objects{all, c.gate}
	}
	return Objects{all.Namespace(namespace), c.gate}
}

// Mapper tells what kinds there are, and keeps what it was told until it is reset. It asks
// for what it does not know yet only, which takes at most 30 s. If that fails, so does it, with
// a *Failure or what a call of Objects fails with: only a cluster that said what it has makes
// it say that there is no match. An empty group is that of the core. It is also a
// meta.ResettableRESTMapperWithContext.
func (c *Client) Mapper() meta.ResettableRESTMapper { return c.mapper }

// Close ends all calls and closes all connections. Calls after it fail. It may be called
// more than once.
func (c *Client) Close() { c.line.close() }
