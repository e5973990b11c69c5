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
	"crypto/x509"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"k8s.io/klog/v2/ktesting"
	testingclock "k8s.io/utils/clock/testing"
)

const patience = 20 * time.Second

func testContext(t *testing.T) context.Context {
	t.Helper()
	_, ctx := ktesting.NewTestContext(t)
	return ctx
}

func prepared(t *testing.T, config Config) *Environment {
	t.Helper()
	if config.Port == 0 {
		config.Port = 6443
	}
	e, err := Prepare(testContext(t), config)
	require.NoError(t, err)
	return e
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(content)
}

// contents are all files below dir, by path.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			files[path] = read(t, path)
		}
		return err
	}))
	return files
}

func certificateIn(t *testing.T, path string) *x509.Certificate {
	t.Helper()
	certificates, err := cert.CertsFromFile(path)
	require.NoError(t, err)
	require.Len(t, certificates, 1)
	return certificates[0]
}

func kubeconfig(t *testing.T, e *Environment, user string) *clientcmdapi.Config {
	t.Helper()
	config, err := clientcmd.LoadFromFile(e.Kubeconfigs[user])
	require.NoError(t, err)
	return config
}

func clientCertificate(t *testing.T, e *Environment, user string) *x509.Certificate {
	t.Helper()
	certificates, err := cert.ParseCertsPEM(kubeconfig(t, e, user).AuthInfos[user].ClientCertificateData)
	require.NoError(t, err)
	return certificates[0]
}

// verify checks a certificate as a TLS peer does.
func verify(t *testing.T, certificate *x509.Certificate, authorityFile string, now time.Time, usage x509.ExtKeyUsage) {
	t.Helper()
	pool, err := cert.NewPool(authorityFile)
	require.NoError(t, err)
	_, err = certificate.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{usage}})
	require.NoError(t, err)
}

// Design section 3: what the first start writes.
func TestFirstStart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	e := prepared(t, Config{DataDir: dir, ServingHosts: []string{"entente.example", "192.0.2.1", "::1"}})

	_, err := uuid.Parse(e.ClusterUUID)
	require.NoError(t, err)
	assert.Equal(t, e.ClusterUUID+"\n", read(t, filepath.Join(dir, "cluster-uuid")))

	serving := certificateIn(t, e.ServingCertFile)
	verify(t, serving, e.ServerCAFile, time.Now(), x509.ExtKeyUsageServerAuth)
	for _, host := range []string{"localhost", "127.0.0.1", "::1", "entente.example", "192.0.2.1"} {
		assert.NoError(t, serving.VerifyHostname(host), host)
	}
	assert.Len(t, serving.IPAddresses, 3)
	clientPool, err := cert.NewPool(e.ClientCAFile)
	require.NoError(t, err)
	_, err = serving.Verify(x509.VerifyOptions{Roots: clientPool})
	require.Error(t, err, "the authorities are apart: a serving certificate logs nobody in")

	groups := map[string]string{"admin": "entente:admins", "operator": "entente:operators", "viewer": "entente:viewers"}
	require.Len(t, e.Kubeconfigs, len(groups))
	for name, group := range groups {
		assert.Equal(t, filepath.Join(dir, name+".kubeconfig"), e.Kubeconfigs[name])
		certificate := clientCertificate(t, e, name)
		verify(t, certificate, e.ClientCAFile, time.Now(), x509.ExtKeyUsageClientAuth)
		assert.Equal(t, name, certificate.Subject.CommonName)
		assert.Equal(t, []string{group}, certificate.Subject.Organization)

		// What kubectl makes of the file.
		rest, err := clientcmd.BuildConfigFromFlags("", e.Kubeconfigs[name])
		require.NoError(t, err)
		assert.Equal(t, "https://127.0.0.1:6443", rest.Host)
		assert.Equal(t, read(t, e.ServerCAFile), string(rest.CAData))
		assert.NotEmpty(t, rest.KeyData)
	}
}

// Design section 3: folders 0700, files 0600, whatever the umask is.
func TestPermissions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	e := prepared(t, Config{DataDir: dir})
	require.NoError(t, os.Chmod(e.KeysDir, 0o755))
	prepared(t, Config{DataDir: dir})

	count := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := entry.Info()
		require.NoError(t, err)
		want := fs.FileMode(0o600)
		if entry.IsDir() {
			want = 0o700
		}
		assert.Equal(t, want, info.Mode().Perm(), path)
		count++
		return nil
	}))
	assert.Equal(t, 17, count, "3 folders, 6 keys and certificates, 3 kubeconfigs, the UUID, 4 manifests")
}

// Design section 3: CA, users and cluster UUID survive restarts.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	first := prepared(t, Config{DataDir: dir})
	before := contents(t, dir)
	second := prepared(t, Config{DataDir: dir})
	assert.Equal(t, before, contents(t, dir), "nothing is written again")
	assert.Equal(t, first.ClusterUUID, second.ClusterUUID)
}

// Design section 3: the kubeconfigs say where the server is, now.
func TestNewPort(t *testing.T) {
	dir := t.TempDir()
	e := prepared(t, Config{DataDir: dir, Port: 6443})
	before := clientCertificate(t, e, "viewer")

	// What a user has added, or changed for access from elsewhere, stays.
	own := kubeconfig(t, e, "viewer")
	own.Contexts["mine"] = &clientcmdapi.Context{Cluster: "entente", AuthInfo: "viewer", Namespace: "here"}
	own.CurrentContext = "mine"
	own.Clusters["entente"].Server = "https://entente.example:6443"
	require.NoError(t, clientcmd.WriteToFile(*own, e.Kubeconfigs["viewer"]))

	e = prepared(t, Config{DataDir: dir, Port: 7443})
	assert.Equal(t, "https://127.0.0.1:7443", kubeconfig(t, e, "admin").Clusters["entente"].Server)
	viewer := kubeconfig(t, e, "viewer")
	assert.Equal(t, "https://entente.example:7443", viewer.Clusters["entente"].Server)
	assert.Equal(t, "mine", viewer.CurrentContext)
	assert.Equal(t, before, clientCertificate(t, e, "viewer"), "the user stays the same")
}

func TestLostFiles(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(t *testing.T, e *Environment)
	}{
		"kubeconfig": {
			change: func(t *testing.T, e *Environment) { require.NoError(t, os.Remove(e.Kubeconfigs["admin"])) },
		},
		"empty kubeconfig": {
			change: func(t *testing.T, e *Environment) { require.NoError(t, os.Truncate(e.Kubeconfigs["admin"], 0)) },
		},
		"kubeconfig without lists": {
			change: func(t *testing.T, e *Environment) {
				require.NoError(t, os.WriteFile(e.Kubeconfigs["admin"], []byte("apiVersion: v1\nkind: Config\n"), 0o600))
			},
		},
		"serving certificate": {
			change: func(t *testing.T, e *Environment) { require.NoError(t, os.Remove(e.ServingCertFile)) },
		},
		"serving key": {
			change: func(t *testing.T, e *Environment) { require.NoError(t, os.Remove(e.ServingKeyFile)) },
		},
		"damaged serving certificate": {
			change: func(t *testing.T, e *Environment) {
				require.NoError(t, os.WriteFile(e.ServingCertFile, []byte("damaged"), 0o600))
			},
		},
		"client authority, as a whole": {
			change: func(t *testing.T, e *Environment) {
				require.NoError(t, os.Remove(e.ClientCAFile))
				require.NoError(t, os.Remove(keyFile(e.ClientCAFile)))
			},
		},
		"server authority, as a whole": {
			change: func(t *testing.T, e *Environment) {
				require.NoError(t, os.Remove(e.ServerCAFile))
				require.NoError(t, os.Remove(keyFile(e.ServerCAFile)))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tc.change(t, prepared(t, Config{DataDir: dir}))
			e := prepared(t, Config{DataDir: dir})
			verify(t, clientCertificate(t, e, "admin"), e.ClientCAFile, time.Now(), x509.ExtKeyUsageClientAuth)
			verify(t, certificateIn(t, e.ServingCertFile), e.ServerCAFile, time.Now(), x509.ExtKeyUsageServerAuth)
			key, err := readKey(e.ServingKeyFile)
			require.NoError(t, err)
			assert.True(t, key.Fits(certificateIn(t, e.ServingCertFile)))
			assert.Equal(t, read(t, e.ServerCAFile), string(kubeconfig(t, e, "admin").Clusters["entente"].CertificateAuthorityData))
		})
	}
}

// Design section 3: certificates are renewed when close to expiry, at start and
// while the server runs.
func TestRenewal(t *testing.T) {
	current := goleak.IgnoreCurrent()
	defer goleak.VerifyNone(t, current)
	dir := t.TempDir()
	clock := testingclock.NewFakeClock(time.Now())
	e := prepared(t, Config{DataDir: dir, Clock: clock})
	admin, serving := clientCertificate(t, e, "admin"), certificateIn(t, e.ServingCertFile)
	servingKey := read(t, e.ServingKeyFile)

	clock.Step(200 * 24 * time.Hour)
	e = prepared(t, Config{DataDir: dir, Clock: clock})
	assert.Equal(t, admin, clientCertificate(t, e, "admin"), "it is good for a while yet")

	clock.Step(60 * 24 * time.Hour)
	e = prepared(t, Config{DataDir: dir, Clock: clock})
	renewed := clientCertificate(t, e, "admin")
	assert.NotEqual(t, admin.SerialNumber, renewed.SerialNumber)
	assert.Greater(t, renewed.NotAfter, admin.NotAfter)
	assert.NotEqual(t, serving.SerialNumber, certificateIn(t, e.ServingCertFile).SerialNumber)
	assert.Equal(t, servingKey, read(t, e.ServingKeyFile), "only one of the two files changes")

	ctx, cancel := context.WithCancel(testContext(t))
	var background sync.WaitGroup
	background.Go(func() { e.Run(ctx) })
	require.Eventually(t, func() bool { return clock.Waiters() == 2 }, patience, 5*time.Millisecond)
	clock.Step(260 * 24 * time.Hour)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.NotEqual(c, renewed.SerialNumber, clientCertificate(t, e, "admin").SerialNumber)
	}, patience, 10*time.Millisecond)
	cancel()
	background.Wait()
	verify(t, clientCertificate(t, e, "admin"), e.ClientCAFile, clock.Now(), x509.ExtKeyUsageClientAuth)
	verify(t, certificateIn(t, e.ServingCertFile), e.ServerCAFile, clock.Now(), x509.ExtKeyUsageServerAuth)
}

// A certificate does not outlive its authority, and an authority that has
// expired is for a person to replace.
func TestExpiredAuthority(t *testing.T) {
	dir := t.TempDir()
	clock := testingclock.NewFakeClock(time.Now())
	e := prepared(t, Config{DataDir: dir, Clock: clock})
	authority := certificateIn(t, e.ServerCAFile)

	clock.SetTime(authority.NotAfter.Add(-24 * time.Hour))
	e = prepared(t, Config{DataDir: dir, Clock: clock})
	verify(t, certificateIn(t, e.ServingCertFile), e.ServerCAFile, clock.Now(), x509.ExtKeyUsageServerAuth)
	assert.Equal(t, authority.NotAfter, certificateIn(t, e.ServingCertFile).NotAfter)

	clock.Step(48 * time.Hour)
	_, err := Prepare(testContext(t), Config{DataDir: dir, Port: 6443, Clock: clock})
	require.ErrorContains(t, err, "it expired on")
	require.ErrorContains(t, err, "delete")
}
