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
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A fault of the flags is said with the name of the flag, before anything is touched.
func TestValidate(t *testing.T) {
	tests := []struct {
		name string
		set  func(*Options)
		want []string // parts of the error; none: valid
	}{
		{"standalone", func(o *Options) { o.Standalone, o.DataDir = true, "/data" }, nil},
		{"standalone without a folder", func(o *Options) { o.Standalone = true }, []string{"--data-dir is needed"}},
		{"standalone with a host", func(o *Options) { o.Standalone, o.DataDir, o.Host.Kubeconfig = true, "/data", "/kubeconfig" }, []string{"--kubeconfig and --standalone exclude each other"}},
		{"behind a host", func(o *Options) { o.DataDir = "/data" }, nil},
		{"behind a host, external etcd", func(o *Options) { o.Etcd.StorageConfig.Transport.ServerList = []string{"https://etcd:2379"} }, nil},
		{"behind a host without a store", func(*Options) {}, []string{"--data-dir is needed, or --etcd-servers"}},
		{"no namespace", func(o *Options) { o.DataDir, o.Host.Namespace = "/data", "Not_A_Namespace" }, []string{"--namespace: "}},
		{"no service", func(o *Options) { o.DataDir, o.Host.ServiceName = "/data", "" }, []string{"--service-name: "}},
		{"no namespace for access", func(o *Options) { o.DataDir, o.Host.AccessNamespace = "/data", "" }, []string{"--access-namespace: "}},
		{"access where the server is", func(o *Options) {
			o.DataDir, o.Host.Namespace, o.Host.AccessNamespace = "/data", "mine", "mine"
		}, []string{"--access-namespace: it is that of the server"}},
		{"access where the server is by default", func(o *Options) { o.DataDir, o.Host.AccessNamespace = "/data", "entente-system" }, []string{"--access-namespace: it is that of the server"}},
		{"no requests", func(o *Options) { o.DataDir, o.Peering.Workloads.QPS = "/data", 0 }, []string{"--workload-qps, "}},
		{"a rate that is none", func(o *Options) { o.DataDir, o.Peering.Workloads.QPS = "/data", math.NaN() }, []string{"--workload-qps, "}},
		{"no burst", func(o *Options) { o.DataDir, o.Peering.Workloads.Burst = "/data", 0 }, []string{"--workload-burst"}},
		{"nothing in flight", func(o *Options) { o.DataDir, o.Peering.Workloads.MaxInFlight = "/data", -1 }, []string{"--workload-max-inflight"}},
		{"some impersonation", func(o *Options) { o.DataDir, o.Host.Impersonation = "/data", "some" }, []string{"--impersonation: it is not one of auto, constrained and legacy"}},
		{"every fault at once", func(o *Options) { o.Host.Namespace, o.Host.ServiceName = "a.b", "-" }, []string{"--data-dir", "--namespace: ", "--service-name: "}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o, err := New()
			require.NoError(t, err)
			o.SecureServing.BindPort = 8443
			test.set(o)
			err = o.Validate()
			if len(test.want) == 0 {
				require.NoError(t, err)
				return
			}
			for _, want := range test.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

// Nobody listens on every address without having a host cluster, or a flag that says
// so.
func TestBindAddress(t *testing.T) {
	for standalone, want := range map[bool]string{true: "127.0.0.1", false: "0.0.0.0"} {
		o, err := New()
		require.NoError(t, err)
		o.Standalone = standalone
		assert.Equal(t, want, o.Config().SecureServing.BindAddress.String())
	}
}

// Flags of the library that mean nothing here are not there.
func TestFlags(t *testing.T) {
	o, err := New()
	require.NoError(t, err)
	sections := o.Flags()
	has := func(name string) bool {
		for _, section := range sections.FlagSets {
			if section.Lookup(name) != nil {
				return true
			}
		}
		return false
	}
	for _, name := range []string{
		"kubeconfig", "namespace", "service-name", "standalone", "data-dir", "etcd-servers", "tls-cert-file", "enable-priority-and-fairness",
		"serve-groups", "cluster-resync", "release-delete-timeout", "feature-gates",
	} {
		assert.True(t, has(name), name)
	}
	for _, name := range []string{"authentication-kubeconfig", "authorization-kubeconfig", "storage-backend", "enable-admission-plugins", "emulated-version"} {
		assert.False(t, has(name), name)
	}
}
