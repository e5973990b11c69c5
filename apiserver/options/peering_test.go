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
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"entente.dev/entente/apiserver"
)

// parsed returns what a command line makes of the flags about peering.
func parsed(t *testing.T, args ...string) (*Peering, *pflag.FlagSet) {
	t.Helper()
	p := newPeering()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	p.addFlags(flags)
	require.NoError(t, flags.Parse(args))
	return &p, flags
}

// P11: what cannot be dialled, or read by the other side, is a fault that names its
// flag, before anything is touched.
func TestPeeringFlags(t *testing.T) {
	const canary = "canary-5d1e"
	tests := []struct {
		name       string
		args       []string
		standalone bool
		want       string // part of the error; empty: valid
	}{
		{name: "none"},
		{name: "endpoints", args: []string{"--gateway-endpoint=https://a.example", "--gateway-endpoint=https://a.example:9443", "--gateway-endpoint=https://192.0.2.1:9443", "--gateway-endpoint=https://[2001:db8::1]:9443"}},
		{name: "too many endpoints", args: []string{"--gateway-endpoint=https://a", "--gateway-endpoint=https://b", "--gateway-endpoint=https://c", "--gateway-endpoint=https://d", "--gateway-endpoint=https://e"}, want: "--gateway-endpoint: there may be 4 at most"},
		{name: "an endpoint twice", args: []string{"--gateway-endpoint=https://a", "--gateway-endpoint=https://a:443"}, want: "--gateway-endpoint: https://a:443 is there twice"},
		{name: "no scheme", args: []string{"--gateway-endpoint=a.example:9443"}, want: "--gateway-endpoint: number 1"},
		{name: "http", args: []string{"--gateway-endpoint=https://a", "--gateway-endpoint=http://b"}, want: "--gateway-endpoint: number 2"},
		{name: "a path", args: []string{"--gateway-endpoint=https://a/"}, want: "--gateway-endpoint: number 1"},
		{name: "a password", args: []string{"--gateway-endpoint=https://user:" + canary + "@a"}, want: "--gateway-endpoint: number 1"},
		{name: "a comma", args: []string{"--gateway-endpoint=https://a,https://b"}, want: "--gateway-endpoint: number 1"},
		{name: "loopback", args: []string{"--gateway-endpoint=https://127.0.0.2:9443"}, want: "--gateway-allow-local-endpoints"},
		{name: "loopback of IPv6", args: []string{"--gateway-endpoint=https://[::1]"}, want: "--gateway-allow-local-endpoints"},
		{name: "localhost", args: []string{"--gateway-endpoint=https://localhost"}, want: "--gateway-allow-local-endpoints"},
		{name: "below localhost", args: []string{"--gateway-endpoint=https://a.localhost"}, want: "--gateway-allow-local-endpoints"},
		{name: "not localhost", args: []string{"--gateway-endpoint=https://notlocalhost"}},
		{name: "loopback, allowed", args: []string{"--gateway-endpoint=https://127.0.0.2:9443", "--gateway-allow-local-endpoints"}},
		{name: "loopback, standalone", args: []string{"--gateway-endpoint=https://localhost:9443"}, standalone: true},
		{name: "link-local", args: []string{"--gateway-endpoint=https://169.254.169.254"}, standalone: true, want: "no other cluster can dial https://169.254.169.254"},
		{name: "unspecified", args: []string{"--gateway-endpoint=https://0.0.0.0"}, standalone: true, want: "no other cluster can dial"},
		{name: "unspecified of IPv6", args: []string{"--gateway-endpoint=https://[::]"}, standalone: true, want: "no other cluster can dial"},
		{name: "multicast", args: []string{"--gateway-endpoint=https://[ff02::1]"}, standalone: true, want: "no other cluster can dial"},

		{name: "any port", args: []string{"--gateway-port=0"}},
		{name: "a negative port", args: []string{"--gateway-port=-1"}, want: "--gateway-port: -1 is not a port"},
		{name: "too high a port", args: []string{"--gateway-port=65536"}, want: "--gateway-port: 65536 is not a port"},

		{name: "a proxy", args: []string{"--peer-proxy-url=http://user:" + canary + "@proxy.example:3128/"}},
		{name: "a proxy of SOCKS", args: []string{"--peer-proxy-url=socks5://user:" + canary + "@proxy"}},
		{name: "a proxy over TLS, which would be shown our certificate", args: []string{"--peer-proxy-url=https://user:" + canary + "@proxy"}, want: "--peer-proxy-url: it is not of the form"},
		{name: "no host of a proxy", args: []string{"--peer-proxy-url=http://user:" + canary + "@:3128"}, want: "--peer-proxy-url: it is not of the form"},
		{name: "no URL of a proxy", args: []string{"--peer-proxy-url=http://user:" + canary + "@proxy:port"}, want: "--peer-proxy-url: it is not of the form"},
		{name: "a path of a proxy", args: []string{"--peer-proxy-url=http://user:" + canary + "@proxy/path"}, want: "--peer-proxy-url: a proxy has no path"},

		{name: "networks", args: []string{"--deny-egress-cidrs=10.0.0.0/8,fd00::/8", "--deny-egress-cidrs=192.0.2.1/32"}},
		{name: "an address", args: []string{"--deny-egress-cidrs=10.0.0.1"}, want: `--deny-egress-cidrs: "10.0.0.1" is not of the form`},
		{name: "a mapped network", args: []string{"--deny-egress-cidrs=::ffff:10.0.0.0/104"}, want: "--deny-egress-cidrs: \"::ffff:10.0.0.0/104\" is to be written as a network of IPv4"},

		{name: "an alias", args: []string{"--cluster-alias=" + strings.Repeat("a", 56) + "Z9._+:/-"}},
		{name: "too long an alias", args: []string{"--cluster-alias=" + strings.Repeat("a", 65)}, want: "--cluster-alias: "},
		{name: "other characters in an alias", args: []string{"--cluster-alias=east wing"}, want: "--cluster-alias: "},
		{name: "a label without a prefix", args: []string{"--project-label=project"}},
		{name: "no label", args: []string{"--project-label="}, want: "--project-label: "},
		{name: "no key of a label", args: []string{"--project-label=a/b/c"}, want: "--project-label: "},
		{name: "other letters in an alias", args: []string{"--cluster-alias=öst"}, want: "--cluster-alias: "},

		{name: "a UUID", args: []string{"--cluster-uuid=0a1b2c3d-0000-4000-8000-00000000000f"}},
		{name: "a UUID in capitals", args: []string{"--cluster-uuid=0A1B2C3D-0000-4000-8000-00000000000F"}, want: "--cluster-uuid: "},
		{name: "no UUID", args: []string{"--cluster-uuid=east"}, want: `--cluster-uuid: "east" is not a UUID`},
		{name: "every fault at once", args: []string{"--gateway-port=-1", "--cluster-uuid=x", "--cluster-alias= "}, want: "--cluster-alias: "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, _ := parsed(t, test.args...)
			o, err := New()
			require.NoError(t, err)
			o.Peering, o.Standalone, o.DataDir = *p, test.standalone, "/data"
			err = o.Validate()
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.want)
			assert.NotContains(t, err.Error(), canary, "R15")
		})
	}
}

// R15: the password of a proxy is in no log line and in no error, at any verbosity.
func TestR15ProxyPasswordIsNotPrinted(t *testing.T) {
	const canary = "canary-77ab"
	for text, want := range map[string]string{
		"http://user:" + canary + "@proxy.example:3128":      `--peer-proxy-url="http://proxy.example:3128"`,
		"http://" + canary + "@proxy.example:3128":           `--peer-proxy-url="http://proxy.example:3128"`,
		"http://user:" + canary + "@proxy.example:port":      `--peer-proxy-url="(not a proxy)"`,
		"http://user:" + canary + "%zz@proxy.example:3128":   `--peer-proxy-url="(not a proxy)"`,
		"http://user@proxy.example:3128/?token=" + canary:    `--peer-proxy-url="(not a proxy)"`,
		"https://user:" + canary + "@proxy.example:3128":     `--peer-proxy-url="(not a proxy)"`,
		"http://proxy.example:3128/?user=user&key=" + canary: `--peer-proxy-url="(not a proxy)"`,
	} {
		p, flags := parsed(t, "--peer-proxy-url="+text)
		var log bytes.Buffer
		restore := klog.CaptureState()
		klog.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log), textlogger.Verbosity(10))))
		var level klog.Level
		require.NoError(t, level.Set("10"))
		cliflag.PrintFlags(flags)
		klog.Flush()
		restore.Restore()
		assert.Contains(t, strings.ReplaceAll(log.String(), `\"`, `"`), want)
		for _, printed := range []string{log.String(), fmt.Sprintf("%v %+v %#v", p, p, p), fmt.Sprintf("%v %+v %#v", *p, *p, *p), flags.FlagUsages()} {
			assert.NotContains(t, printed, canary, text)
		}
	}
}

// What the flags say is what the server gets.
func TestPeeringConfig(t *testing.T) {
	p, _ := parsed(t)
	assert.Equal(t, apiserver.PeeringConfig{
		GatewayBindAddress: net.IPv4zero, GatewayPort: 9443, Endpoints: []string(nil), ProjectLabel: "peering.entente.dev/project",
		Workloads: apiserver.WorkloadLimits{QPS: 100, Burst: 200, MaxInFlight: 1024},
	}, p.config(false))
	config := p.config(true)
	assert.Equal(t, "127.0.0.1", config.GatewayBindAddress.String(), "standalone")
	assert.True(t, config.AllowLocalEndpoints, "standalone")

	p, _ = parsed(t, "--gateway-bind-address=192.0.2.1", "--gateway-port=1", "--gateway-endpoint=https://a", "--gateway-endpoint=https://b",
		"--gateway-allow-local-endpoints", "--peer-proxy-url=http://user:password@proxy", "--deny-egress-cidrs=10.1.2.3/8,fd00::/8",
		"--cluster-alias=east", "--project-label=example.com/team", "--cluster-uuid=0a1b2c3d-0000-4000-8000-00000000000f", "--accept-restored-store", "--accept-changed-cluster-uuid",
		"--workload-qps=1.5", "--workload-burst=2", "--workload-max-inflight=3")
	config = p.config(true)
	require.NotNil(t, config.ProxyURL)
	assert.Equal(t, "http://user:password@proxy", config.ProxyURL.String())
	config.ProxyURL = nil
	assert.Equal(t, apiserver.PeeringConfig{
		GatewayBindAddress: net.ParseIP("192.0.2.1"), GatewayPort: 1, Endpoints: []string{"https://a", "https://b"},
		AllowLocalEndpoints: true, DenyEgress: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")},
		ClusterAlias: "east", ProjectLabel: "example.com/team", ClusterUUID: "0a1b2c3d-0000-4000-8000-00000000000f", AcceptRestoredStore: true, AcceptChangedClusterUUID: true,
		Workloads: apiserver.WorkloadLimits{QPS: 1.5, Burst: 2, MaxInFlight: 3},
	}, config)
}
