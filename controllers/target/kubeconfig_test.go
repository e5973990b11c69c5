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
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
)

const (
	soundCluster = `server: "https://canary.example:6443/canary"`
	soundUser    = `token: canary-token`
)

// C2, R15: each odd kubeconfig has its fault, which quotes nothing.
func TestC2OddKubeconfigs(t *testing.T) {
	all := oddKubeconfigs(t)
	require.Greater(t, len(all), 100)
	for _, odd := range all {
		t.Run(odd.name, func(t *testing.T) {
			access, err := ParseKubeconfig([]byte(odd.text), Allowances{})
			assert.Nil(t, access)
			var fault *Fault
			require.ErrorAs(t, err, &fault)
			assert.Equal(t, Fault{odd.field, odd.fault}, *fault)
			requireSilent(t, err)
			requireSilent(t, *fault)
		})
	}
}

// C2: what an administrator may allow, and what nobody may.
func TestC2Allowances(t *testing.T) {
	all := Allowances{InsecureTLS: true, ProxyURL: true}
	ca := encode(newAuthority(t).pem())
	for _, test := range []struct {
		name, cluster string
		want          *Fault
	}{
		{"insecure", soundCluster + ", insecure-skip-tls-verify: true", nil},
		{"insecure with an authority", soundCluster + `, insecure-skip-tls-verify: true, certificate-authority-data: "` + ca + `"`, &Fault{fieldClusterSkip, FaultCAInsecure}},
		{"HTTP proxy", soundCluster + ", proxy-url: 'http://canary.example:3128'", nil},
		{"HTTPS proxy", soundCluster + ", proxy-url: 'https://10.0.0.1/'", nil},
		{"SOCKS5 proxy", soundCluster + ", proxy-url: 'socks5://[fd00::1]:1080'", nil},
		{"another proxy", soundCluster + ", proxy-url: 'ftp://canary.example'", &Fault{fieldClusterProxy, FaultProxy}},
		{"proxy with a password", soundCluster + ", proxy-url: 'http://canary:canary@canary.example'", &Fault{fieldClusterProxy, FaultProxy}},
		{"proxy with a path", soundCluster + ", proxy-url: 'http://canary.example/canary'", &Fault{fieldClusterProxy, FaultProxy}},
		{"proxy without scheme", soundCluster + ", proxy-url: 'canary.example:3128'", &Fault{fieldClusterProxy, FaultProxy}},
		{"HTTP server", "server: 'http://canary.example'", &Fault{fieldClusterServer, FaultServer}},
	} {
		t.Run(test.name, func(t *testing.T) {
			access, err := ParseKubeconfig([]byte(kubeconfig(test.cluster, soundUser)), all)
			if test.want != nil {
				var fault *Fault
				require.ErrorAs(t, err, &fault)
				assert.Equal(t, test.want, fault)
				requireSilent(t, err)
				return
			}
			require.NoError(t, err)
			requireSilent(t, access)
			requireSilent(t, *access)
		})
	}
}

// C2: all that counts is taken over, and shown by nothing.
func TestC2SoundKubeconfig(t *testing.T) {
	authority := newAuthority(t)
	certificate, key := authority.issue(t)
	text := kubeconfig(soundCluster+`, tls-server-name: canary.test, disable-compression: true, certificate-authority-data: "`+encode(authority.pem())+`"`,
		`client-certificate-data: "`+encode(certificate)+`", client-key-data: "`+encode(key)+`", token: "canary-token\n"`)
	access, err := ParseKubeconfig([]byte(text), Allowances{})
	require.NoError(t, err)
	assert.Equal(t, "https://canary.example:6443/canary", access.Server())
	m := access.reveal()
	assert.Equal(t, material{
		server: m.server, serverName: "canary.test", ca: authority.pem(), certificate: certificate, key: key, token: "canary-token", plain: true,
	}, *m)
	requireSilent(t, access)
	requireSilent(t, *access)
	requireSilent(t, access.MarshalLog())
	requireSilent(t, struct{ access Access }{*access})
}

// C2: other ways of writing a sound kubeconfig.
func TestC2WaysOfWriting(t *testing.T) {
	sound := kubeconfig(soundCluster, soundUser)
	for name, text := range map[string]string{
		"JSON":                          `{"kind":"Config","apiVersion":"v1","current-context":"a","clusters":[{"name":"a","cluster":{"server":"https://a.example"}}],"users":[{"name":"a","user":{"token":"12\u0061"}}],"contexts":[{"name":"a","context":{"cluster":"a","user":"a"}}]}`,
		"without kind and version":      strings.Replace(sound, "apiVersion: v1\nkind: Config\n", "", 1),
		"a byte order mark":             "\ufeff" + sound,
		"CRLF":                          strings.ReplaceAll(sound, "\n", "\r\n"),
		"document start and end":        "---\n" + sound + "...\n",
		"an anchor that nothing uses":   strings.Replace(sound, "users:", "users: &all", 1),
		"a token of digits":             strings.Replace(sound, "canary-token", "0123", 1),
		"a token that is like a date":   strings.Replace(sound, "canary-token", "2026-01-02", 1),
		"null for what is not there":    strings.Replace(sound, "token: ", "exec: null, tokenFile: ~, as-groups: [], token: ", 1),
		"a key of another letter case":  strings.Replace(sound, "token: ", "EXEC: {}, token: ", 1),
		"an address instead of a name":  strings.Replace(sound, "canary.example", "[fd00::1]", 1),
		"a name with a dot at the end":  strings.Replace(sound, "canary.example", "Canary.Example.", 1),
		"what is not known":             sound + "canary: [1, {a: b}]\n",
		"a block of base64 in its data": strings.Replace(sound, "\n  cluster: {"+soundCluster+"}", "\n  cluster:\n    "+soundCluster+"\n    certificate-authority-data: |\n"+folded(encode(newAuthority(t).pem())), 1),
	} {
		t.Run(name, func(t *testing.T) {
			access, err := ParseKubeconfig([]byte(text), Allowances{})
			require.NoError(t, err)
			assert.NotEmpty(t, access.reveal().token)
			requireSilent(t, access)
		})
	}
	access, err := ParseKubeconfig([]byte(strings.Replace(sound, "canary-token", "0123", 1)), Allowances{})
	require.NoError(t, err)
	assert.Equal(t, "0123", access.reveal().token)
}

func folded(text string) string {
	var lines strings.Builder
	for len(text) > 64 {
		lines.WriteString("      " + text[:64] + "\n")
		text = text[64:]
	}
	return lines.String() + "      " + text + "\n"
}

// C2: a field that client-go learns is looked at here before it is let pass.
func TestC2KnownFields(t *testing.T) {
	for _, test := range []struct {
		of    any
		known []string
	}{
		{clientcmdv1.Config{}, []string{"kind", "apiVersion", "preferences", "clusters", "users", "contexts", "current-context", "extensions"}},
		{clientcmdv1.Context{}, []string{"cluster", "user", "namespace", "extensions"}},
		{clientcmdv1.Cluster{}, []string{
			"server", "tls-server-name", "insecure-skip-tls-verify", "certificate-authority", "certificate-authority-data", "proxy-url",
			"disable-compression", "extensions",
		}},
		{clientcmdv1.AuthInfo{}, []string{
			"client-certificate", "client-certificate-data", "client-key", "client-key-data", "token", "tokenFile", "as", "as-uid", "as-groups",
			"as-user-extra", "username", "password", "auth-provider", "exec", "extensions",
		}},
	} {
		var fields []string
		for i := range reflect.TypeOf(test.of).NumField() {
			name, _, _ := strings.Cut(reflect.TypeOf(test.of).Field(i).Tag.Get("json"), ",")
			fields = append(fields, name)
		}
		assert.ElementsMatch(t, test.known, fields)
	}
}

// C2: a client key that takes seconds to use is not used.
func TestC2LongRSA(t *testing.T) {
	assert.True(t, isUsable(&x509.Certificate{PublicKey: &rsa.PublicKey{N: bits(8192)}}))
	assert.False(t, isUsable(&x509.Certificate{PublicKey: &rsa.PublicKey{N: bits(8193)}}))
}

func TestFault(t *testing.T) {
	assert.EqualError(t, &Fault{"users[].user.as", FaultImpersonate}, "users[].user.as: impersonation is not done")
	assert.EqualError(t, &Fault{Text: FaultEmpty}, "it is empty")
	assert.False(t, errors.Is(&Fault{}, &Fault{}))
}
