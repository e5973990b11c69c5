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
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// C2: the same is checked of what is given apart.
func TestC2Token(t *testing.T) {
	ca := newAuthority(t).pem()
	for _, test := range []struct {
		name, server string
		ca           []byte
		token        string
		want         *Fault
	}{
		{"sound", "https://canary.example", ca, "canary", nil},
		{"line feed", "https://canary.example", ca, "canary\n", nil},
		{"authorities of the system", "https://canary.example", nil, "canary", nil},
		{"no server", "", ca, "canary", &Fault{"server", FaultMissing}},
		{"server without TLS", "http://canary.example", ca, "canary", &Fault{"server", FaultServer}},
		{"CA", "https://canary.example", []byte(canary), "canary", &Fault{"ca", FaultCA}},
		{"no token", "https://canary.example", ca, "\n", &Fault{"token", FaultMissing}},
		{"token", "https://canary.example", ca, "canary canary", &Fault{"token", FaultToken}},
	} {
		t.Run(test.name, func(t *testing.T) {
			access, err := Token(test.server, test.ca, []byte(test.token))
			requireFault(t, test.want, err)
			if test.want == nil {
				assert.Equal(t, "canary", access.reveal().token)
				requireSilent(t, access)
			}
		})
	}
}

func TestC2ClientCertificate(t *testing.T) {
	authority := newAuthority(t)
	certificate, key := authority.issue(t)
	for _, test := range []struct {
		name, server           string
		ca, certificate, keyIn []byte
		want                   *Fault
	}{
		{"sound", "https://canary.example", authority.pem(), certificate, key, nil},
		{"server", "https://canary.example?canary", authority.pem(), certificate, key, &Fault{"server", FaultServer}},
		{"CA", "https://canary.example", key, certificate, key, &Fault{"ca", FaultCA}},
		{"neither", "https://canary.example", nil, nil, nil, &Fault{"certificate", FaultMissing}},
		{"no certificate", "https://canary.example", nil, nil, key, &Fault{"certificate", FaultMissing}},
		{"no key", "https://canary.example", nil, certificate, nil, &Fault{"key", FaultNoKey}},
		{"pair", "https://canary.example", nil, authority.pem(), key, &Fault{"certificate", FaultPair}},
	} {
		t.Run(test.name, func(t *testing.T) {
			access, err := ClientCertificate(test.server, test.ca, test.certificate, test.keyIn)
			requireFault(t, test.want, err)
			if test.want == nil {
				requireSilent(t, access)
			}
		})
	}
}

func requireFault(t *testing.T, want *Fault, err error) {
	t.Helper()
	if want == nil {
		require.NoError(t, err)
		return
	}
	var fault *Fault
	require.ErrorAs(t, err, &fault)
	assert.Equal(t, want, fault)
	requireSilent(t, err)
}

// C3: a change of anything that matters is a change of the fingerprint.
func TestC3Fingerprint(t *testing.T) {
	authority := newAuthority(t)
	certificate, key := authority.issue(t)
	all := Allowances{InsecureTLS: true, ProxyURL: true}
	pair := `client-certificate-data: "` + encode(certificate) + `", client-key-data: "` + encode(key) + `"`
	seen := map[[32]byte]string{}
	for _, text := range []string{
		kubeconfig(soundCluster, soundUser),
		kubeconfig(`server: "https://canary.example:6443/canar"`, `token: ycanary-token`),
		kubeconfig(`server: "https://canary.example:6443"`, soundUser),
		kubeconfig(soundCluster, `token: canary-token2`),
		kubeconfig(soundCluster+", tls-server-name: canary", soundUser),
		kubeconfig(soundCluster+", insecure-skip-tls-verify: true", soundUser),
		kubeconfig(soundCluster+", disable-compression: true", soundUser),
		kubeconfig(soundCluster+", proxy-url: 'http://canary'", soundUser),
		kubeconfig(soundCluster+`, certificate-authority-data: "`+encode(authority.pem())+`"`, soundUser),
		kubeconfig(soundCluster, pair),
		kubeconfig(soundCluster, pair+", "+soundUser),
	} {
		access, err := ParseKubeconfig([]byte(text), all)
		require.NoError(t, err)
		assert.NotContains(t, seen, access.Fingerprint())
		seen[access.Fingerprint()] = text

		// What does not matter: names, and what else there is.
		other := strings.NewReplacer("canary-user", "someone", "canary-cluster", "somewhere", "namespace: canary", "namespace: b").Replace(text)
		require.NotEqual(t, text, other)
		again, err := ParseKubeconfig([]byte(other), all)
		require.NoError(t, err)
		assert.Equal(t, access.Fingerprint(), again.Fingerprint())
	}
	access, err := ParseKubeconfig([]byte(kubeconfig(soundCluster, soundUser)), all)
	require.NoError(t, err)
	token, err := Token("https://canary.example:6443/canary", nil, []byte("canary-token"))
	require.NoError(t, err)
	assert.Equal(t, access.Fingerprint(), token.Fingerprint())
}
