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

package kube

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"entente.dev/entente/test/process"
)

// FindBin is the folder with the binaries that ENTENTE_KUBE_BIN names, or else
// bin/kube in the working folder or one above it.
func FindBin() (string, error) {
	return process.Find("ENTENTE_KUBE_BIN", "kube", "kube")
}

// serviceRange is where Services get their addresses from. Nothing leads there
// without nodes; firstService is that of Service kubernetes.
const (
	serviceRange = "10.96.0.0/16"
	firstService = "10.96.0.1"
)

// frontProxyName is the common name of kube-apiserver towards extension servers.
const frontProxyName = "front-proxy-client"

// makeSocketFolder says where the socket of etcd is: in Dir, or in a new folder
// among the temporary files if that is too long for a socket, or has characters
// that a URL would change.
func (c *ControlPlane) makeSocketFolder() error {
	const longest = 107
	c.socket = c.path("etcd.sock")
	if len(c.socket) <= longest && (&url.URL{Path: c.socket}).String() == c.socket {
		return nil
	}
	folder, err := os.MkdirTemp("", "kube-")
	if err != nil {
		return fmt.Errorf("could not make a folder for the socket of etcd: %w", err)
	}
	c.unmake = func() error { return os.RemoveAll(folder) }
	c.socket = filepath.Join(folder, "etcd.sock")
	return nil
}

// startEtcd starts etcd and waits until it listens: on a unix socket in a private
// folder, so that nobody else on the machine gets past the API.
func (c *ControlPlane) startEtcd(ctx context.Context) error {
	if err := c.makeSocketFolder(); err != nil {
		return err
	}
	endpoint := (&url.URL{Scheme: "unix", Path: c.socket}).String()
	// Peers there are none, and etcd insists on a listener for them.
	peer := "http://127.0.0.1:0"
	p, err := c.run("etcd", []string{
		"--name=default",
		"--data-dir=" + c.path("etcd"),
		"--listen-client-urls=" + endpoint,
		"--advertise-client-urls=" + endpoint,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=default=" + peer,
		// The data need not survive the machine.
		"--unsafe-no-fsync",
		"--log-level=warn",
	})
	if err != nil {
		return err
	}
	c.set(&c.etcd, p)
	defer c.watch(p)
	return eventually(ctx, func(ctx context.Context) (bool, error) {
		if err := p.Err(); err != nil {
			return false, err
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", c.socket)
		if err != nil {
			return false, nil //nolint:nilerr // It does not listen yet.
		}
		return true, conn.Close()
	})
}

func (c *ControlPlane) apiServerFlags() []string {
	return c.withFeatureGates([]string{
		"--etcd-servers=" + (&url.URL{Scheme: "unix", Path: c.socket}).String(),
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(c.apiPort),
		"--advertise-address=127.0.0.1",
		// A loopback address is none for an Endpoints object.
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=" + serviceRange,
		"--tls-cert-file=" + c.pki.file("apiserver.crt"),
		"--tls-private-key-file=" + c.pki.file("apiserver.key"),

		"--authorization-mode=RBAC",
		"--client-ca-file=" + c.pki.file("ca.crt"),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + c.pki.file("sa.pub"),
		"--service-account-signing-key-file=" + c.pki.file("sa.key"),

		"--requestheader-client-ca-file=" + c.pki.file("front-proxy-ca.crt"),
		"--requestheader-allowed-names=" + frontProxyName,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + c.pki.file("front-proxy-client.crt"),
		"--proxy-client-key-file=" + c.pki.file("front-proxy-client.key"),
		"--enable-aggregator-routing=false",

		"--audit-policy-file=" + c.path("audit-policy.yaml"),
		"--audit-log-path=" + c.auditLog(),
		"--audit-log-format=json",
		"--audit-log-mode=blocking",
		"--audit-log-maxsize=4096",

		// At this level it says when it has read a certificate again.
		"--v=2",
	}, c.options.APIServerFlags)
}

func (c *ControlPlane) controllerManagerFlags() []string {
	kubeconfig := c.Kubeconfig(controllerManagerUser)
	return c.withFeatureGates([]string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(c.managerPort),
		"--tls-cert-file=" + c.pki.file("controller-manager.crt"),
		"--tls-private-key-file=" + c.pki.file("controller-manager.key"),
		"--leader-elect=false",
		"--use-service-account-credentials=true",
		"--root-ca-file=" + c.pki.file("ca.crt"),
		"--service-account-private-key-file=" + c.pki.file("sa.key"),
		// Tests wait for namespaces to go and owned objects to be collected.
		"--kube-api-qps=200",
		"--kube-api-burst=400",
		"--concurrent-namespace-syncs=20",
	}, c.options.ControllerManagerFlags)
}

func (c *ControlPlane) withFeatureGates(flags, more []string) []string {
	flags = append(flags, more...)
	gates := make([]string, 0, len(c.options.FeatureGates))
	for gate, on := range c.options.FeatureGates {
		gates = append(gates, gate+"="+strconv.FormatBool(on))
	}
	if len(gates) > 0 {
		slices.Sort(gates)
		flags = append(flags, "--feature-gates="+strings.Join(gates, ","))
	}
	return flags
}
