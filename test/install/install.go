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

// Package install puts Entente beside a control plane of package kube, as
// artifacts/deploy does it in a cluster, with what must differ where there are no
// nodes: Entente is a process on the loopback interface, the Service leads there,
// and the StatefulSet is left out. The process is Entente's ServiceAccount to the
// control plane, by a token as in a Pod, so that the shipped roles are what it has.
// Its gateway is on the loopback interface too, for others on the same machine.
package install

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/apis/generated/clientset/versioned"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/test/kube"
	"entente.dev/entente/test/process"
)

// What artifacts/deploy calls things.
const (
	Namespace       = "entente-system"
	AccessNamespace = "entente-access"
	ServiceAccount  = "entente-apiserver"
	service         = "entente-apiserver"
)

const (
	// startTimeout limits the time from the start of the process to kube-apiserver
	// passing requests on to it.
	startTimeout = 2 * time.Minute
	// StopGrace is how long the process may take to end: longer is a failure.
	StopGrace = 30 * time.Second
	// TokenLifetime is how long the token of the process is valid.
	TokenLifetime = 24 * time.Hour

	poll = 50 * time.Millisecond
)

// Options say how Entente is installed. The zero value of every field is its
// default.
type Options struct {
	// Binary is the program. Default: the one that process.Entente finds or builds.
	Binary string
	// Deploy is the folder that is given to kustomize. Default: artifacts/deploy of
	// the module.
	Deploy string
	// Clusters has Clusters and Releases served too; Deploy is artifacts/overlays/clusters by
	// default then. Target clusters may be on the loopback interface.
	Clusters bool
	// Dir is the folder for the log and the data, mode 0700. Default: entente/ in
	// the folder of the control plane.
	Dir string
	// Flags are added to the command line; the last of two equal flags wins.
	Flags []string
}

// Entente is Entente, installed beside a control plane.
type Entente struct {
	// User is who Entente is to kube-apiserver.
	User string
	// DataDir is its argument --data-dir.
	DataDir string
	// Log is the file with all it has printed.
	Log string

	cluster *kube.ControlPlane
	options Options
	// port is that of the API, gatewayPort that of the gateway.
	port, gatewayPort int
	// advertised are the gateways of all replicas, which share it.
	advertised *[]string
	shipped    []grant
	// clusterRoles are the rules of the shipped ClusterRoles.
	clusterRoles map[string][]rbacv1.PolicyRule
	died         chan error

	mu      sync.Mutex
	process *process.Process
}

// Install applies the manifests with the rights of the control plane's admin,
// starts Entente, and waits until kube-apiserver passes requests on to it. If that
// fails it does not keep running.
func Install(ctx context.Context, cluster *kube.ControlPlane, options Options) (*Entente, error) {
	e, err := New(ctx, cluster, options)
	if err != nil {
		return nil, err
	}
	if err := e.Start(); err != nil {
		return nil, err
	}
	if err := e.AwaitServed(ctx); err != nil {
		return nil, errors.Join(err, e.Stop())
	}
	return e, nil
}

// New applies the manifests, so that Entente can be started.
func New(ctx context.Context, cluster *kube.ControlPlane, options Options) (*Entente, error) {
	e := &Entente{
		User: kube.ServiceAccountUser(Namespace, ServiceAccount), cluster: cluster, options: options,
		advertised: &[]string{}, died: make(chan error, 1),
	}
	if err := e.prepare(ctx); err != nil {
		return nil, fmt.Errorf("could not install Entente in %s: %w", cluster.Name, err)
	}
	return e, nil
}

// Replica returns another one of the same installation. Its ports, folder and log are
// its own; kube-apiserver passes no request on to it. Each advertises the gateways of
// all, in the order in which they were made, so that all are to be made before one is
// started. It takes a store that can be shared: flag --etcd-servers.
func (e *Entente) Replica(ctx context.Context, name string) (*Entente, error) {
	replica := &Entente{
		User: e.User, cluster: e.cluster, options: e.options,
		advertised: e.advertised, shipped: e.shipped, died: make(chan error, 1),
	}
	replica.options.Dir = filepath.Join(e.options.Dir, name)
	if err := replica.settle(ctx); err != nil {
		return nil, fmt.Errorf("could not make another replica of Entente in %s: %w", e.cluster.Name, err)
	}
	return replica, nil
}

func (e *Entente) prepare(ctx context.Context) error {
	if err := e.complete(); err != nil {
		return err
	}
	if err := e.settle(ctx); err != nil {
		return err
	}
	if err := e.apply(ctx); err != nil {
		return err
	}
	return e.RenewToken(ctx)
}

// settle makes the folder and finds the ports of a process.
func (e *Entente) settle(ctx context.Context) error {
	if err := os.MkdirAll(e.options.Dir, 0o700); err != nil {
		return err
	}
	e.DataDir, e.Log = filepath.Join(e.options.Dir, "data"), filepath.Join(e.options.Dir, "entente-apiserver.log")
	var err error
	if e.port, err = kube.FreePort(ctx); err != nil {
		return err
	}
	if e.gatewayPort, err = kube.FreePort(ctx); err != nil {
		return err
	}
	*e.advertised = append(*e.advertised, e.Gateway())
	return nil
}

func (e *Entente) complete() error {
	var err error
	if e.options.Binary == "" {
		if e.options.Binary, err = process.Entente(); err != nil {
			return err
		}
	}
	if e.options.Deploy == "" {
		root, err := process.ModuleRoot()
		if err != nil {
			return err
		}
		e.options.Deploy = filepath.Join(root, "artifacts", "deploy")
		if e.options.Clusters {
			e.options.Deploy = filepath.Join(root, "artifacts", "overlays", "clusters")
		}
	}
	if e.options.Dir == "" {
		e.options.Dir = filepath.Join(e.cluster.Dir, "entente")
	}
	return nil
}

// apply applies the manifests for the port that Entente has.
func (e *Entente) apply(ctx context.Context) error {
	shipped, err := e.cluster.MustKubectl(ctx, kube.Admin, "", "kustomize", e.options.Deploy)
	if err != nil {
		return err
	}
	m, err := outsideCluster(shipped, e.port)
	if err != nil {
		return err
	}
	e.shipped, e.clusterRoles = m.grants, m.clusterRoles
	_, err = e.cluster.MustKubectl(ctx, kube.Admin, m.yaml, "apply", "-f", "-")
	return err
}

// Binds says of a RoleBinding of a shipped ClusterRole to Entente that it is there.
func (e *Entente) Binds(namespace, name, clusterRole string) error {
	rules, shipped := e.clusterRoles[clusterRole]
	if !shipped {
		return fmt.Errorf("could not take the binding into account: no ClusterRole %s is shipped", clusterRole)
	}
	e.shipped = append(e.shipped, grant{kind: "RoleBinding", namespace: namespace, name: name, roleKind: "ClusterRole", role: clusterRole, rules: rules})
	return nil
}

// RenewToken gets another token, which is valid for TokenLifetime; the running
// process finds it by itself.
func (e *Entente) RenewToken(ctx context.Context) error {
	_, err := e.cluster.ServiceAccountKubeconfig(ctx, Namespace, ServiceAccount, TokenLifetime)
	return err
}

// Start starts the process, after Stop with the data it has. The flags are for this
// process only, after those of Options. It does not wait: AwaitReady and AwaitServed do.
func (e *Entente) Start(flags ...string) error {
	p, err := process.Start(process.Command{
		Name: "entente-apiserver",
		Path: e.options.Binary,
		Args: slices.Concat(e.flags(), e.options.Flags, flags),
		Log:  e.Log,
	})
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.process = p
	go func() {
		<-p.Ended()
		if p.Awaited() {
			return
		}
		select {
		case e.died <- p.Err():
		default: // The first one tells enough.
		}
	}()
	return nil
}

func (e *Entente) flags() []string {
	flags := []string{
		"--kubeconfig=" + e.cluster.Kubeconfig(e.User),
		"--namespace=" + Namespace,
		"--service-name=" + service,
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(e.port),
		"--data-dir=" + e.DataDir,
		"--gateway-bind-address=127.0.0.1",
		"--gateway-port=" + strconv.Itoa(e.gatewayPort),
		"--gateway-allow-local-endpoints",
		"--cluster-alias=" + e.cluster.Name,
	}
	if e.options.Clusters {
		flags = append(flags, "--serve-groups="+peeringv1alpha1.GroupName+","+corev1alpha1.GroupName, "--cluster-allow-local-endpoints")
	}
	for _, endpoint := range *e.advertised {
		flags = append(flags, "--gateway-endpoint="+endpoint)
	}
	return flags
}

// Died gets the error of a process that ended without having been stopped.
func (e *Entente) Died() <-chan error { return e.died }

// Process is the process that was started last, nil before Start.
func (e *Entente) Process() *process.Process {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.process
}

// Stop stops the process, if it runs. That it had to be killed is an error.
func (e *Entente) Stop() error {
	if p := e.Process(); p != nil {
		return p.Stop(StopGrace)
	}
	return nil
}

// Pause halts the process: connections stay, answers don't come.
func (e *Entente) Pause() error { return e.Process().Signal(syscall.SIGSTOP) }

// Resume ends what Pause began.
func (e *Entente) Resume() error { return e.Process().Signal(syscall.SIGCONT) }

// URL is where the process serves; whoever is not kube-apiserver has to
// authenticate by a token of the control plane.
func (e *Entente) URL() string { return "https://127.0.0.1:" + strconv.Itoa(e.port) }

// Gateway is where the process serves other clusters on this machine.
func (e *Entente) Gateway() string { return "https://127.0.0.1:" + strconv.Itoa(e.gatewayPort) }

// AwaitReady waits until the process says it is ready, or has ended.
func (e *Entente) AwaitReady(ctx context.Context) error {
	// Its certificate is for the Service, from an authority of its own; what is asked
	// is nothing to protect.
	client, err := rest.HTTPClientFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	return e.await(ctx, "it is ready", func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.URL()+"/readyz", nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("/readyz answers %s", resp.Status)
		}
		return nil
	})
}

// Client returns the generated client for a user of the control plane.
func (e *Entente) Client(user string) (versioned.Interface, error) {
	config, err := e.cluster.RESTConfig(user)
	if err != nil {
		return nil, err
	}
	return versioned.NewForConfig(config)
}

// await polls until check has nothing to complain about or the process has ended.
func (e *Entente) await(ctx context.Context, what string, check func(context.Context) error) error {
	p := e.Process()
	last := errors.New("not looked yet")
	err := wait.PollUntilContextTimeout(ctx, poll, startTimeout, true, func(ctx context.Context) (bool, error) {
		if err := p.Err(); err != nil {
			return false, err
		}
		last = check(ctx)
		return last == nil, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("could not wait until Entente is of use: %s: %w; the end of its log:\n%s", what, last, p.Tail())
	}
	return err
}
