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

// Package kube starts real Kubernetes control planes as processes on the loopback
// interface: etcd, kube-apiserver and kube-controller-manager, without nodes and
// without containers. Tests use it by Start, commands by New.
//
// RBAC and aggregation are on, as on any cluster. Outside this package nobody
// needs to be system:masters: AddUser makes ordinary users, Grant and Bind say
// what they may do. An extension server outside the cluster is registered by a
// Service of type ExternalName `localhost` and the port in its APIService.
package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"entente.dev/entente/test/process"
)

const (
	// Admin is the user that every control plane has, in group system:masters.
	// It is for making things ready, not for what a test is about.
	Admin = "admin"

	// startTimeout limits the time from Start to ready; 5 to 15 seconds are usual.
	startTimeout = 3 * time.Minute
	// changeTimeout limits how long the control plane may take to follow a change.
	changeTimeout = time.Minute
	// stopGrace is how long a process gets to end by itself. Its data is not
	// needed any more, so nothing is lost if that is too short.
	stopGrace = 2 * time.Second
	// poll is the time between two looks at something awaited.
	poll = 50 * time.Millisecond
	// startAttempts is how often other ports are tried.
	startAttempts = 4
)

// Options say how a control plane is started. The zero value of every field but
// Dir is its default.
type Options struct {
	// Dir is the folder for all its files, the kubeconfigs among them. It is made,
	// with mode 0700. A control plane starts with a new state: New refuses a
	// folder that another one has used.
	Dir string
	// Bin is the folder with the binaries. Default: the one that FindBin finds.
	Bin string
	// Name is what kubeconfigs call the cluster. Default `kube`.
	Name string
	// APIServerFlags and ControllerManagerFlags are added to the flags of
	// kube-apiserver and kube-controller-manager; the last of two equal flags wins.
	APIServerFlags         []string
	ControllerManagerFlags []string
	// FeatureGates are set for both.
	FeatureGates map[string]bool
}

// ControlPlane is a control plane. Its methods may be called from several
// goroutines, those that start and stop something excepted.
type ControlPlane struct {
	// Dir is the folder for its files. Logs are in logs/, NAME.log a process.
	Dir string
	// Name is what kubeconfigs call it.
	Name string

	options Options
	pki     *pki
	socket  string
	// unmake removes the folder of the socket, if that is not Dir.
	unmake func() error
	// apiPort and managerPort are the ports of kube-apiserver and
	// kube-controller-manager.
	apiPort, managerPort int
	died                 chan error

	mu                       sync.Mutex
	etcd, apiServer, manager *process.Process
}

// New makes the certificates and folders of a control plane that Start starts.
func New(options Options) (*ControlPlane, error) {
	if options.Dir == "" {
		return nil, errors.New("could not make a control plane: no folder given")
	}
	if options.Name == "" {
		options.Name = "kube"
	}
	if options.Bin == "" {
		bin, err := FindBin()
		if err != nil {
			return nil, err
		}
		options.Bin = bin
	}
	dir, err := filepath.Abs(options.Dir)
	if err != nil {
		return nil, fmt.Errorf("could not make a control plane: %w", err)
	}
	c := &ControlPlane{Dir: dir, Name: options.Name, options: options, died: make(chan error, 1)}
	if err := c.prepare(); err != nil {
		return nil, fmt.Errorf("could not make a control plane: %w", err)
	}
	return c, nil
}

func (c *ControlPlane) prepare() error {
	if _, err := os.Stat(c.path("pki")); err == nil {
		return fmt.Errorf("another one has used %s", c.Dir)
	}
	for _, folder := range []string{"", "pki", "logs", "tokens", "components"} {
		if err := os.MkdirAll(c.path(folder), 0o700); err != nil {
			return err
		}
	}
	var err error
	if c.pki, err = newPKI(c.path("pki"), c.Name); err != nil {
		return err
	}
	return os.WriteFile(c.path("audit-policy.yaml"), []byte(auditPolicy), 0o600)
}

func (c *ControlPlane) path(elements ...string) string {
	return filepath.Join(append([]string{c.Dir}, elements...)...)
}

// URL is where kube-apiserver serves.
func (c *ControlPlane) URL() string { return "https://127.0.0.1:" + strconv.Itoa(c.apiPort) }

// CA is the certificate authority of kube-apiserver's serving certificate, in PEM.
func (c *ControlPlane) CA() []byte { return c.pki.cluster.pem }

// Start starts all processes and waits until the control plane is of use. If that
// fails nothing keeps running.
func (c *ControlPlane) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := c.start(ctx); err != nil {
		return errors.Join(fmt.Errorf("could not start control plane %s: %w", c.Name, err), c.Stop())
	}
	return nil
}

func (c *ControlPlane) start(ctx context.Context) error {
	if err := c.startEtcd(ctx); err != nil {
		return err
	}
	var err error
	// A port that is free now may be another's a moment later.
	for range startAttempts {
		if c.apiPort, err = FreePort(ctx); err != nil {
			return err
		}
		if err = c.StartAPIServer(ctx); !portTaken(err) {
			break
		}
	}
	if err != nil {
		return err
	}
	for range startAttempts {
		if c.managerPort, err = FreePort(ctx); err != nil {
			return err
		}
		if err = c.startControllerManager(ctx); !portTaken(err) {
			break
		}
	}
	if err != nil {
		return err
	}
	return c.awaitContents(ctx)
}

func portTaken(err error) bool {
	return err != nil && strings.Contains(err.Error(), "address already in use")
}

// StartAPIServer starts kube-apiserver, after StopAPIServer on the same port and
// with the same data, and waits until it is ready.
func (c *ControlPlane) StartAPIServer(ctx context.Context) error {
	if err := c.writeKubeconfigs(); err != nil {
		return err
	}
	p, err := c.run("kube-apiserver", c.apiServerFlags())
	if err != nil {
		return err
	}
	c.set(&c.apiServer, p)
	config, err := c.RESTConfig(Admin)
	if err != nil {
		return err
	}
	if err := awaitOK(ctx, p, config, c.URL()+"/readyz"); err != nil {
		return err
	}
	c.watch(p)
	return nil
}

// StopAPIServer stops kube-apiserver. The others go on and find nobody.
func (c *ControlPlane) StopAPIServer() error {
	return c.stop(&c.apiServer)
}

// PauseAPIServer halts kube-apiserver: connections stay, answers don't come.
func (c *ControlPlane) PauseAPIServer() error {
	return c.get(&c.apiServer).Signal(syscall.SIGSTOP)
}

// ResumeAPIServer ends what PauseAPIServer began.
func (c *ControlPlane) ResumeAPIServer() error {
	return c.get(&c.apiServer).Signal(syscall.SIGCONT)
}

func (c *ControlPlane) startControllerManager(ctx context.Context) error {
	p, err := c.run("kube-controller-manager", c.controllerManagerFlags())
	if err != nil {
		return err
	}
	c.set(&c.manager, p)
	config := &rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: c.CA()}}
	if err := awaitOK(ctx, p, config, "https://127.0.0.1:"+strconv.Itoa(c.managerPort)+"/healthz"); err != nil {
		return err
	}
	c.watch(p)
	return nil
}

// Stop stops whatever runs. It may be called at any time and again.
func (c *ControlPlane) Stop() error {
	err := errors.Join(c.stop(&c.manager), c.stop(&c.apiServer), c.stop(&c.etcd))
	if c.unmake != nil {
		err = errors.Join(err, c.unmake())
		c.unmake = nil
	}
	return err
}

// Died gets the error of the first process that ended without having been stopped.
func (c *ControlPlane) Died() <-chan error { return c.died }

// Logs is the end of what each process has printed.
func (c *ControlPlane) Logs() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var logs strings.Builder
	for _, p := range []*process.Process{c.etcd, c.apiServer, c.manager} {
		if p != nil {
			fmt.Fprintf(&logs, "--- the end of the log of %s:\n%s\n", p.Name(), p.Tail())
		}
	}
	return logs.String()
}

// PIDs are the numbers of the processes that were started last, by name.
func (c *ControlPlane) PIDs() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	pids := map[string]int{}
	for _, p := range []*process.Process{c.etcd, c.apiServer, c.manager} {
		if p != nil {
			pids[p.Name()] = p.PID()
		}
	}
	return pids
}

func (c *ControlPlane) run(name string, flags []string) (*process.Process, error) {
	return process.Start(process.Command{
		Name: name,
		Path: filepath.Join(c.options.Bin, name),
		Args: flags,
		Log:  c.path("logs", name+".log"),
	})
}

// watch tells Died of the end of a process that was ready.
func (c *ControlPlane) watch(p *process.Process) {
	go func() {
		<-p.Ended()
		if p.Awaited() {
			return
		}
		select {
		case c.died <- p.Err():
		default: // The first one tells enough.
		}
	}()
}

func (c *ControlPlane) get(slot **process.Process) *process.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return *slot
}

func (c *ControlPlane) set(slot **process.Process, p *process.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*slot = p
}

// stop stops a process, if it runs. That it had to be killed is not said: how
// Kubernetes drains is not ours to judge.
func (c *ControlPlane) stop(slot **process.Process) error {
	p := c.get(slot)
	if p == nil {
		return nil
	}
	if err := p.Stop(stopGrace); err != nil && !errors.Is(err, process.ErrKilled) {
		return err
	}
	return nil
}

// awaitOK waits until a process answers 200, or has ended.
func awaitOK(ctx context.Context, p *process.Process, config *rest.Config, url string) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("could not ask %s: %w", p.Name(), err)
	}
	defer client.CloseIdleConnections()
	last := errors.New("not asked yet")
	err = wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		if err := p.Err(); err != nil {
			return false, err
		}
		last = getOK(ctx, client, url)
		return last == nil, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("%s is not ready (%w); the end of its log:\n%s", p.Name(), last, p.Tail())
	}
	return err
}

func getOK(ctx context.Context, client *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", url, resp.Status)
	}
	return nil
}

// awaitContents waits for what a fresh cluster gets from its own controllers and
// what others take for granted.
func (c *ControlPlane) awaitContents(ctx context.Context) error {
	client, err := c.Clientset(Admin)
	if err != nil {
		return err
	}
	contents := map[string]func(context.Context) error{
		"namespace kube-system": func(ctx context.Context) error {
			_, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
			return err
		},
		// Made by kube-controller-manager, once namespace default is there.
		"the ServiceAccount of namespace default": func(ctx context.Context) error {
			_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
			return err
		},
		"the ConfigMap " + authenticationConfigMap: func(ctx context.Context) error {
			_, err := authentication(ctx, client)
			return err
		},
	}
	for what, get := range contents {
		err := eventually(ctx, func(ctx context.Context) (bool, error) {
			err := get(ctx)
			if apierrors.IsNotFound(err) {
				return false, nil
			}
			return err == nil, err
		})
		if err != nil {
			return fmt.Errorf("could not find %s: %w", what, err)
		}
	}
	return nil
}

// eventually polls until a condition holds, it fails, or changeTimeout is over.
func eventually(ctx context.Context, condition wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextTimeout(ctx, poll, changeTimeout, true, condition)
}

// RESTConfig returns a client config for a user; it is the caller's to change.
func (c *ControlPlane) RESTConfig(user string) (*rest.Config, error) {
	return loadKubeconfig(c.Kubeconfig(user))
}

// Clientset returns the Kubernetes clients for a user.
func (c *ControlPlane) Clientset(user string) (kubernetes.Interface, error) {
	config, err := c.RESTConfig(user)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}
