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

package host

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/component-base/version"
	"k8s.io/utils/clock"
)

// DefaultNamespace is the namespace of the server outside of a pod, unless said.
const DefaultNamespace = "entente-system"

// podFolder is where Kubernetes puts the credentials of its ServiceAccount into a pod,
// and the name of its namespace.
const podFolder = "/var/run/secrets/kubernetes.io/serviceaccount"

// reviewTimeout limits one TokenReview or SubjectAccessReview.
const reviewTimeout = 10 * time.Second

// Limits of the client that makes many objects: a project of some hundred namespaces is
// granted within seconds, and the host cluster is not flooded.
const (
	bulkTimeout = 10 * time.Second
	bulkQPS     = 100
	bulkBurst   = 200
)

// Limits of the client that reads credentials: some thousand clusters are probed every ten
// seconds.
const (
	readingQPS   = 500
	readingBurst = 1000
)

// Config says which cluster is the host.
type Config struct {
	// Kubeconfig is the path of a kubeconfig file. Empty: the ServiceAccount of the
	// pod that this process runs in.
	Kubeconfig string
	// Namespace is the one in the host cluster that holds the server's Service and
	// Secrets. Empty: the pod's, or DefaultNamespace outside of one.
	Namespace string
	// Clock times retries and probes. Without it, the clock of the machine.
	Clock clock.WithTicker

	// podFolder takes the place of the constant of that name in tests.
	podFolder string
}

// Host is the host cluster as this server reaches it.
type Host struct {
	// Namespace is the server's own one in the host cluster.
	Namespace string
	// Client has no time-out, for informers.
	Client kubernetes.Interface
	// Bulk is for who makes many objects at a time. One request has a time-out.
	Bulk kubernetes.Interface
	// Credentials reads Secrets and ConfigMaps that Clusters name, one for each probe.
	Credentials kubernetes.Interface
	// Discovery tells which kinds there are.
	Discovery discovery.DiscoveryInterfaceWithContext
	// Dynamic reaches kinds that are not known here.
	Dynamic dynamic.Interface

	// config reaches the cluster. It holds credentials.
	config   *rest.Config
	metadata metadata.Interface
	urgent   kubernetes.Interface
	clock    clock.WithTicker

	facts facts // set by Await
}

// New reads credentials and asks nobody. It fails, naming the flag at fault, if
// there are none, or they cannot be read.
func New(config Config) (*Host, error) {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	if config.podFolder == "" {
		config.podFolder = podFolder
	}
	restConfig, err := credentials(config)
	if err != nil {
		return nil, err
	}
	h := &Host{Namespace: config.Namespace, config: restConfig, clock: config.Clock}
	if h.Namespace == "" {
		h.Namespace = ownNamespace(config)
	}
	restConfig.UserAgent = "entente-apiserver/" + version.Get().GitVersion
	if h.Client, err = kubernetes.NewForConfig(restConfig); err != nil {
		return nil, fmt.Errorf("could not make a client of the host cluster: %w", err)
	}
	h.Discovery = discovery.ToDiscoveryInterfaceWithContext(h.Client.Discovery())
	if h.Dynamic, err = dynamic.NewForConfig(restConfig); err != nil {
		return nil, fmt.Errorf("could not make a client of the host cluster: %w", err)
	}
	if h.metadata, err = metadata.NewForConfig(restConfig); err != nil {
		return nil, fmt.Errorf("could not make a client of the host cluster: %w", err)
	}
	// Reviews stand in the way of every request, and a lease that is not renewed in time
	// is lost: they have a limit of their own, in time and not in number.
	urgent := rest.CopyConfig(restConfig)
	urgent.Timeout = reviewTimeout
	urgent.QPS = -1
	if h.urgent, err = kubernetes.NewForConfig(urgent); err != nil {
		return nil, fmt.Errorf("could not make a client of the host cluster: %w", err)
	}
	bulk := rest.CopyConfig(restConfig)
	bulk.Timeout = bulkTimeout
	bulk.QPS, bulk.Burst = bulkQPS, bulkBurst
	if h.Bulk, err = kubernetes.NewForConfig(bulk); err != nil {
		return nil, fmt.Errorf("could not make a client of the host cluster: %w", err)
	}
	reading := rest.CopyConfig(restConfig)
	reading.Timeout = bulkTimeout
	reading.QPS, reading.Burst = readingQPS, readingBurst
	if h.Credentials, err = kubernetes.NewForConfig(reading); err != nil {
		return nil, fmt.Errorf("could not make a client of the host cluster: %w", err)
	}
	return h, nil
}

// Config returns how the host cluster is reached. It holds credentials.
func (h *Host) Config() *rest.Config { return rest.CopyConfig(h.config) }

func credentials(config Config) (*rest.Config, error) {
	if config.Kubeconfig == "" {
		return podCredentials(config.podFolder)
	}
	return kubeconfigCredentials(config.Kubeconfig)
}

// podCredentials are those of the ServiceAccount of this pod. The library's own function
// would take the system's authorities for the cluster's if that file cannot be read.
func podCredentials(folder string) (*rest.Config, error) {
	address, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if address == "" || port == "" {
		return nil, errors.New("could not find the host cluster: --kubeconfig is not given, and this process does not run in a pod; without a host cluster --standalone is needed")
	}
	config := &rest.Config{
		Host:            "https://" + net.JoinHostPort(address, port),
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(folder, "ca.crt")},
		// Read again as long as this process lives: the kubelet renews it.
		BearerTokenFile: filepath.Join(folder, "token"),
	}
	token, err := os.ReadFile(config.BearerTokenFile)
	if err == nil && len(token) == 0 {
		err = fmt.Errorf("%s is empty", config.BearerTokenFile)
	}
	if err == nil {
		_, err = certutil.NewPool(config.CAFile)
	}
	if err != nil {
		return nil, fmt.Errorf("could not use the ServiceAccount of this pod: %w", err)
	}
	return config, nil
}

func kubeconfigCredentials(path string) (*rest.Config, error) {
	loaded, err := clientcmd.LoadFromFile(path)
	if pathError := (*fs.PathError)(nil); errors.As(err, &pathError) {
		return nil, fmt.Errorf("could not read --kubeconfig: %w", err)
	}
	if err != nil {
		// The decoder's error may quote the file, and the file holds credentials.
		return nil, fmt.Errorf("could not read --kubeconfig %s: it is not a kubeconfig", path)
	}
	if err := clientcmd.ResolveLocalPaths(loaded); err != nil {
		return nil, fmt.Errorf("could not use --kubeconfig %s: %w", path, err)
	}
	config, err := clientcmd.NewDefaultClientConfig(*loaded, nil).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, fmt.Errorf("could not use --kubeconfig %s: it names no cluster", path)
	}
	if err != nil {
		return nil, fmt.Errorf("could not use --kubeconfig %s: %w", path, err)
	}
	return config, nil
}

func ownNamespace(config Config) string {
	if config.Kubeconfig == "" {
		if content, err := os.ReadFile(filepath.Join(config.podFolder, "namespace")); err == nil && strings.TrimSpace(string(content)) != "" {
			return strings.TrimSpace(string(content))
		}
	}
	return DefaultNamespace
}
