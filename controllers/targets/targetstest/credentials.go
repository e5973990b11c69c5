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

package targetstest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"entente.dev/entente/controllers/targets"
)

// Kubeconfig returns one with a user as YAML has it.
func Kubeconfig(server string, ca []byte, user string) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: it
contexts: [{name: it, context: {cluster: it, user: it}}]
clusters: [{name: it, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: it, user: %s}]
`, server, base64.StdEncoding.EncodeToString(ca), user)
}

// Certificate returns a client certificate of that common name, and its key, in PEM.
func Certificate(t testing.TB, name string) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}

// Credentials are those of all Clusters. The zero Credentials has none. It implements
// targets.Credentials.
type Credentials struct {
	lock    sync.Mutex
	secrets map[string][]byte
	maps    map[string][]byte
	reads   int
	fails   error
	hook    func(ctx context.Context, namespace, name string)
}

var _ targets.Credentials = &Credentials{}

// Secret implements targets.Credentials.
func (c *Credentials) Secret(ctx context.Context, namespace, name, key string) ([]byte, error) {
	return c.read(ctx, func() map[string][]byte { return c.secrets }, namespace, name, key)
}

// ConfigMap implements targets.Credentials.
func (c *Credentials) ConfigMap(ctx context.Context, namespace, name, key string) ([]byte, error) {
	return c.read(ctx, func() map[string][]byte { return c.maps }, namespace, name, key)
}

func (c *Credentials) read(ctx context.Context, from func() map[string][]byte, namespace, name, key string) ([]byte, error) {
	c.lock.Lock()
	c.reads++
	hook := c.hook
	c.lock.Unlock()
	if hook != nil {
		hook(ctx, namespace, name)
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.fails != nil {
		return nil, c.fails
	}
	values := from()
	if _, found := values[namespace+"/"+name]; !found {
		return nil, targets.ErrAbsent
	}
	value, found := values[namespace+"/"+name+"/"+key]
	if !found {
		return nil, targets.ErrNoKey
	}
	return value, nil
}

// Put puts a value at a key of a Secret.
func (c *Credentials) Put(namespace, name, key string, value []byte) {
	c.lock.Lock()
	defer c.lock.Unlock()
	put(&c.secrets, namespace, name, key, value)
}

// PutMap puts a value at a key of a ConfigMap.
func (c *Credentials) PutMap(namespace, name, key string, value []byte) {
	c.lock.Lock()
	defer c.lock.Unlock()
	put(&c.maps, namespace, name, key, value)
}

func put(values *map[string][]byte, namespace, name, key string, value []byte) {
	if *values == nil {
		*values = map[string][]byte{}
	}
	(*values)[namespace+"/"+name] = nil
	(*values)[namespace+"/"+name+"/"+key] = value
}

// Clear takes all Secrets and ConfigMaps away.
func (c *Credentials) Clear() {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.secrets, c.maps = nil, nil
}

// Fails has all reads fail; nil: none.
func (c *Credentials) Fails(err error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.fails = err
}

// Before has something happen before each read; nil: nothing.
func (c *Credentials) Before(hook func(ctx context.Context, namespace, name string)) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.hook = hook
}

// Reads is how many reads there were.
func (c *Credentials) Reads() int {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.reads
}
