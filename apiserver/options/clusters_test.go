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

package options

import (
	"net"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/apiserver"
)

// commandLine returns what a command line makes of all flags, or why it cannot be read.
func commandLine(t *testing.T, args ...string) (*Options, error) {
	t.Helper()
	o, err := New()
	require.NoError(t, err)
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, section := range o.Flags().FlagSets {
		flags.AddFlagSet(section)
	}
	return o, flags.Parse(append([]string{"--data-dir=/data"}, args...))
}

// K4, C3, C5: a fault of the flags about target clusters is said with the name of the flag,
// before anything is touched.
func TestClusterFlags(t *testing.T) {
	const peering, convoy = "peering.entente.dev", "core.convoy.kumodo.io"
	for _, test := range []struct {
		name string
		args []string
		want string // part of the error; empty: valid
	}{
		{name: "none"},
		{name: "both groups", args: []string{"--serve-groups=" + peering + "," + convoy}},
		{name: "both groups, a flag each", args: []string{"--serve-groups=" + convoy, "--serve-groups=" + peering}},
		{name: "a group twice", args: []string{"--serve-groups=" + peering + "," + convoy + "," + convoy}},
		{name: "no groups are the default", args: []string{"--serve-groups="}},
		{name: "an unknown group", args: []string{"--serve-groups=" + peering + ",example.org"}, want: `--serve-groups: "example.org" is not one of ` + peering + " and " + convoy},
		{name: "a group with its version", args: []string{"--serve-groups=" + peering + "," + convoy + "/v1alpha1"}, want: `--serve-groups: "` + convoy + `/v1alpha1" is not one of`},
		{name: "all groups, by a star", args: []string{"--serve-groups=*"}, want: `--serve-groups: "*" is not one of`},
		{name: "without the peering group", args: []string{"--serve-groups=" + convoy}, want: "--serve-groups: " + peering + " is always served, and is to be listed"},

		{name: "a second", args: []string{"--cluster-resync=1s"}},
		{name: "less than a second", args: []string{"--cluster-resync=999ms"}, want: "--cluster-resync: "},
		{name: "never", args: []string{"--cluster-resync=0"}, want: "--cluster-resync: "},
		{name: "before", args: []string{"--cluster-resync=-10m"}, want: "--cluster-resync: "},
		{name: "no unit", args: []string{"--cluster-resync=10"}, want: "--cluster-resync"},

		{name: "at once", args: []string{"--release-delete-timeout=0"}},
		{name: "before it began", args: []string{"--release-delete-timeout=-1s"}, want: "--release-delete-timeout: it is negative"},
		{name: "no time", args: []string{"--release-delete-timeout=soon"}, want: "--release-delete-timeout"},

		{name: "a feature", args: []string{"--feature-gates=ClusterAuthTokenAndCert=true"}},
		{name: "all that is alpha", args: []string{"--feature-gates=AllAlpha=true"}},
		{name: "an unknown feature", args: []string{"--feature-gates=ClusterAuthToken=true"}, want: "unrecognized feature gate: ClusterAuthToken"},
		{name: "a feature of the library", args: []string{"--feature-gates=APIServerTracing=true"}, want: "unrecognized feature gate: APIServerTracing"},
		{name: "half a feature", args: []string{"--feature-gates=ClusterAuthTokenAndCert=maybe"}, want: "ClusterAuthTokenAndCert=maybe"},

		{name: "what may be allowed", args: []string{"--cluster-allow-local-endpoints", "--cluster-allow-insecure-tls", "--cluster-allow-proxy-url"}},
		{name: "every fault at once", args: []string{"--serve-groups=x", "--cluster-resync=0", "--release-delete-timeout=-1s"}, want: "--release-delete-timeout: it is negative"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o, err := commandLine(t, test.args...)
			if err == nil {
				err = o.Validate()
			}
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.want)
		})
	}
}

// K4, C1–C5: what the flags say is what the server gets. Without them only the peering group
// is served, and nothing is allowed to target clusters that is not safe; a standalone server,
// which is on this machine, may have them on the loopback interface.
func TestClusterConfig(t *testing.T) {
	plain := apiserver.ClustersConfig{Resync: 10 * time.Minute, ReleaseDeleteTimeout: 10 * time.Minute}
	changed := func(change func(*apiserver.ClustersConfig)) apiserver.ClustersConfig {
		config := plain
		change(&config)
		return config
	}
	for _, test := range []struct {
		name   string
		args   []string
		groups []string
		want   apiserver.ClustersConfig
	}{
		{"the defaults", nil, []string{"peering.entente.dev"}, plain},
		{"standalone", []string{"--standalone"}, []string{"peering.entente.dev"}, changed(func(c *apiserver.ClustersConfig) { c.AllowLocalEndpoints = true })},
		{"both groups", []string{"--serve-groups=peering.entente.dev,core.convoy.kumodo.io"}, []string{"peering.entente.dev", "core.convoy.kumodo.io"}, plain},
		{"a feature is off", []string{"--feature-gates=ClusterAuthTokenAndCert=false"}, []string{"peering.entente.dev"}, plain},
		{"a feature is on", []string{"--feature-gates=ClusterAuthTokenAndCert=true"}, []string{"peering.entente.dev"}, changed(func(c *apiserver.ClustersConfig) { c.TokenAndCert = true })},
		{"local addresses", []string{"--cluster-allow-local-endpoints"}, []string{"peering.entente.dev"}, changed(func(c *apiserver.ClustersConfig) { c.AllowLocalEndpoints = true })},
		{"insecure TLS", []string{"--cluster-allow-insecure-tls"}, []string{"peering.entente.dev"}, changed(func(c *apiserver.ClustersConfig) { c.AllowInsecureTLS = true })},
		{"proxies", []string{"--cluster-allow-proxy-url"}, []string{"peering.entente.dev"}, changed(func(c *apiserver.ClustersConfig) { c.AllowProxyURL = true })},
		{"times", []string{"--cluster-resync=1m", "--release-delete-timeout=0"}, []string{"peering.entente.dev"}, apiserver.ClustersConfig{Resync: time.Minute}},
	} {
		t.Run(test.name, func(t *testing.T) {
			o, err := commandLine(t, test.args...)
			require.NoError(t, err)
			require.NoError(t, o.Validate())
			o.SecureServing.BindAddress = net.IPv4(127, 0, 0, 1)
			config := o.Config()
			assert.Equal(t, test.groups, config.ServeGroups)
			assert.Equal(t, test.want, config.Clusters)
		})
	}
}

// C1: the gates are ours alone, and each process has its own: to open one opens it nowhere
// else.
func TestFeatureGates(t *testing.T) {
	open, err := commandLine(t, "--feature-gates=ClusterAuthTokenAndCert=true")
	require.NoError(t, err)
	closed, err := commandLine(t)
	require.NoError(t, err)
	assert.True(t, open.Config().Clusters.TokenAndCert)
	assert.False(t, closed.Config().Clusters.TokenAndCert)
	sections := closed.Flags()
	usage := sections.FlagSet("clusters").Lookup("feature-gates").Usage
	assert.Contains(t, usage, "ClusterAuthTokenAndCert=true|false (ALPHA - default=false)")
	assert.NotContains(t, usage, "APIServer", "a gate of the library")
}
