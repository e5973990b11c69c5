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
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// faultTexts are all.
func faultTexts() []FaultText {
	return []FaultText{
		FaultEmpty, FaultSize, FaultEncoding, FaultSyntax, FaultDocuments, FaultAlias, FaultDepth, FaultRepeated, FaultNotMap, FaultType, FaultBase64,
		FaultKind, FaultAPIVersion, FaultMissing, FaultDuplicate, FaultDangling, FaultFile, FaultImpersonate, FaultBasicAuth, FaultNotAllowed, FaultServer,
		FaultServerName, FaultProxy, FaultCA, FaultCAInsecure, FaultPair, FaultNoKey, FaultNoCert, FaultToken, FaultNoLogin, FaultLogin, FaultLoginAmazon,
		FaultLoginGoogle, FaultLoginAzure, FaultLoginOIDC, FaultLoginOcean,
	}
}

func faultFields() []string {
	return []string{
		"", fieldKind, fieldAPIVersion, fieldCurrent, fieldContexts, fieldContextCluster, fieldContextUser, fieldClusters, fieldClusterServer,
		fieldClusterName, fieldClusterSkip, fieldClusterCAFile, fieldClusterCA, fieldClusterProxy, fieldClusterPlain, fieldUsers, fieldUser, fieldUserExec,
		fieldUserProvider, fieldUserCertFile, fieldUserCert, fieldUserKeyFile, fieldUserKey, fieldUserToken, fieldUserTokenFile, fieldUserAs,
		fieldUserAsUID, fieldUserAsGroups, fieldUserAsExtra, fieldUserName, fieldUserPassword,
	}
}

// C2: whatever it is, it brings an access to an https server, or a fault of the closed set.
func FuzzParseKubeconfig(f *testing.F) {
	for _, odd := range oddKubeconfigs(f) {
		if len(odd.text) < 8<<10 {
			f.Add([]byte(odd.text), false, false)
		}
	}
	certificate, key := newAuthority(f).issue(f)
	f.Add([]byte(kubeconfig(soundCluster, soundUser)), true, true)
	f.Add([]byte(kubeconfig(soundCluster+", insecure-skip-tls-verify: true, proxy-url: 'socks5://a'", soundUser)), true, true)
	f.Add([]byte(kubeconfig(soundCluster, `client-certificate-data: "`+encode(certificate)+`", client-key-data: "`+encode(key)+`"`)), false, false)
	texts, fields := faultTexts(), faultFields()
	f.Fuzz(func(t *testing.T, data []byte, insecure, proxy bool) {
		access, err := ParseKubeconfig(data, Allowances{InsecureTLS: insecure, ProxyURL: proxy})
		if err != nil {
			var fault *Fault
			require.True(t, errors.As(err, &fault))
			assert.Contains(t, texts, fault.Text)
			assert.Contains(t, fields, fault.Field)
			assert.Nil(t, access)
			return
		}
		server, err := url.Parse(access.Server())
		require.NoError(t, err)
		assert.Equal(t, "https", server.Scheme)
		assert.NotEmpty(t, server.Hostname())
		assert.Nil(t, server.User)
		m := access.reveal()
		assert.False(t, m.insecure && !insecure)
		assert.False(t, m.proxy != nil && !proxy)
		assert.False(t, strings.ContainsAny(m.token, " \r\n\x00"))
		assert.Equal(t, access.Fingerprint(), access.Fingerprint())
		c, err := New(access, Config{})
		require.NoError(t, err)
		c.Close()
	})
}
