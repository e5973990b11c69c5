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

// Package options turns command-line flags into the config of the server.
package options

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/compatibility"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/version"

	"entente.dev/entente/apiserver"
	"entente.dev/entente/apiserver/etcd"
	"entente.dev/entente/apiserver/host"
)

const (
	// DefaultSecurePort is the port that the server listens on without --secure-port.
	DefaultSecurePort = 8443
	// DefaultServiceName is the Service in the host cluster that leads to the server.
	DefaultServiceName = "entente-apiserver"
	// DefaultAccessNamespace is the namespace in the host cluster for certificates by which
	// workloads dial peers.
	DefaultAccessNamespace = "entente-access"
)

// Options are the flags of entente-apiserver.
type Options struct {
	Standalone        bool
	Host              apiserver.HostConfig
	DataDir           string
	QuotaBackendBytes int64
	ServeGroups       []string
	Peering           Peering
	Clusters          Clusters

	ServerRun     *genericoptions.ServerRunOptions
	Etcd          *genericoptions.EtcdOptions
	SecureServing *genericoptions.SecureServingOptionsWithLoopback
	Audit         *genericoptions.AuditOptions
	Features      *genericoptions.FeatureOptions
	Logs          *logs.Options
}

// New returns the options with their defaults.
func New() (*Options, error) {
	registry := compatibility.NewComponentGlobalsRegistry()
	if err := registry.Register("entente", compatibility.NewEffectiveVersionFromString(version.Get().GitVersion, "", ""), nil); err != nil {
		return nil, fmt.Errorf("could not set the version: %w", err)
	}
	if err := registry.Set(); err != nil {
		return nil, fmt.Errorf("could not set the version: %w", err)
	}
	clusters, err := newClusters()
	if err != nil {
		return nil, err
	}
	o := &Options{
		Host:              apiserver.HostConfig{ServiceName: DefaultServiceName, AccessNamespace: DefaultAccessNamespace, Impersonation: apiserver.ImpersonationAuto},
		QuotaBackendBytes: etcd.DefaultQuotaBackendBytes,
		ServeGroups:       apiserver.Groups()[:1],
		Peering:           newPeering(),
		Clusters:          clusters,
		ServerRun:         genericoptions.NewServerRunOptionsForComponent("entente", registry),
		Etcd:              NewEtcdOptions(),
		SecureServing:     genericoptions.NewSecureServingOptions().WithLoopback(),
		Audit:             genericoptions.NewAuditOptions(),
		Features:          genericoptions.NewFeatureOptions(),
		Logs:              logs.NewOptions(),
	}
	o.SecureServing.BindPort = DefaultSecurePort
	// Which addresses is decided by the mode, unless a flag does.
	o.SecureServing.BindAddress = nil
	o.SecureServing.ServerCert.CertDirectory = ""
	// Open watches are closed one by one when the server stops, not cut.
	o.ServerRun.ShutdownWatchTerminationGracePeriod = 10 * time.Second
	// Nothing of the process is shown unless somebody asks for it.
	o.Features.EnableProfiling = false
	return o, nil
}

// Flags returns the flags in named sections.
func (o *Options) Flags() cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets
	entente := sections.FlagSet("entente")
	entente.BoolVar(&o.Standalone, "standalone", o.Standalone,
		"Run without a host cluster: users, keys and RBAC manifests come from files in --data-dir, which the first start writes. Listens on 127.0.0.1 unless --bind-address says otherwise.")
	entente.StringVar(&o.Host.Kubeconfig, "kubeconfig", o.Host.Kubeconfig,
		"Kubeconfig of the host cluster, which says who users are and what they may do. Without it the ServiceAccount of the pod that the server runs in is used.")
	entente.StringVar(&o.Host.Namespace, "namespace", o.Host.Namespace,
		"Namespace in the host cluster that holds the server's Service and Secrets. Default: that of the pod, or "+host.DefaultNamespace+" outside of one.")
	entente.StringVar(&o.Host.ServiceName, "service-name", o.Host.ServiceName,
		"Name of the Service in the host cluster that the APIServices lead to. The serving certificate is made for it, unless --tls-cert-file gives one.")
	entente.StringVar(&o.Host.AccessNamespace, "access-namespace", o.Host.AccessNamespace,
		"Namespace in the host cluster that holds a Secret PEER-access for each peer, with the certificate by which workloads dial it. Nothing else is to be in it.")
	entente.StringVar((*string)(&o.Host.Impersonation), "impersonation", string(o.Host.Impersonation),
		"How the server does in the host cluster what workloads of peers ask for: constrained, limited to these users and to what they are granted, which takes a host of Kubernetes v1.36 or later; legacy, limited to these users; or auto, by the version of the host.")
	entente.StringVar(&o.DataDir, "data-dir", o.DataDir,
		"Folder for the embedded store and, in standalone mode, for keys, kubeconfigs and RBAC manifests. It is made if it is not there, and belongs to one process at a time. Not needed behind a host cluster with --etcd-servers.")
	entente.Int64Var(&o.QuotaBackendBytes, "etcd-quota-backend-bytes", o.QuotaBackendBytes,
		"Largest size of the embedded store's database, in bytes. At the limit the store refuses writes until space is freed.")

	entente.StringSliceVar(&o.ServeGroups, "serve-groups", o.ServeGroups,
		"API groups that are served: "+strings.Join(apiserver.Groups(), " and ")+". Behind a host cluster each needs its APIService, and none of its kinds may be there as a CustomResourceDefinition.")

	o.Peering.addFlags(sections.FlagSet("peering"))
	o.Clusters.addFlags(sections.FlagSet("clusters"))
	addExcept(sections.FlagSet("generic"), o.ServerRun.AddUniversalFlags,
		"emulated-version", "min-compatibility-version", "feature-gates", "emulation-forward-compatible", "runtime-config-emulation-forward-compatible")
	AddEtcdFlags(o.Etcd, sections.FlagSet("etcd"))
	addExcept(sections.FlagSet("secure serving"), o.SecureServing.AddFlags, "cert-dir")
	o.Audit.AddFlags(sections.FlagSet("auditing"))
	o.Features.AddFlags(sections.FlagSet("features"))
	logsapi.AddFlags(o.Logs, sections.FlagSet("logs"))
	return sections
}

// NewEtcdOptions returns the options of the store with their defaults.
func NewEtcdOptions() *genericoptions.EtcdOptions {
	return genericoptions.NewEtcdOptions(storagebackend.NewDefaultConfig("/registry/entente.dev", nil))
}

// AddEtcdFlags adds the flags of the store, and of its encryption.
func AddEtcdFlags(o *genericoptions.EtcdOptions, flags *pflag.FlagSet) {
	addExcept(flags, o.AddFlags,
		"storage-backend", "storage-media-type", "etcd-servers-overrides", "default-watch-cache-size", "watch-cache-sizes")
	flags.Lookup("encryption-provider-config").Usage = "File with an EncryptionConfiguration that says how objects are encrypted in the store: with keys in the file, or by a KMS v2 plugin. It must leave none of the server's resources in the clear. Without it a key is generated on first start."
	flags.Lookup("encryption-provider-config-automatic-reload").Usage = "Follow changes of the file of --encryption-provider-config. One that cannot be used, or that would leave a resource in the clear, is not taken."
}

// addExcept adds the flags of the library except those that have no meaning here:
// nobody is to set one in vain.
func addExcept(flags *pflag.FlagSet, add func(*pflag.FlagSet), without ...string) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	add(all)
	all.VisitAll(func(flag *pflag.Flag) {
		if !slices.Contains(without, flag.Name) {
			flags.AddFlag(flag)
		}
	})
}

// Validate reports every fault of the flags at once.
func (o *Options) Validate() error {
	var errs []error
	etcdOptions := *o.Etcd
	embedded := len(etcdOptions.StorageConfig.Transport.ServerList) == 0
	if o.Standalone {
		errs = append(errs, o.validateStandalone()...)
	} else {
		errs = append(errs, o.validateHost(embedded)...)
	}
	errs = append(errs, validateGroups(o.ServeGroups)...)
	errs = append(errs, o.Peering.validate(o.Standalone)...)
	errs = append(errs, o.Clusters.validate()...)
	if embedded {
		// The embedded store is known when it has started.
		etcdOptions.StorageConfig.Transport.ServerList = []string{"embedded"}
	}
	errs = append(errs, etcdOptions.Validate()...)
	errs = append(errs, o.ServerRun.Validate()...)
	errs = append(errs, o.SecureServing.Validate()...)
	errs = append(errs, o.Audit.Validate()...)
	errs = append(errs, o.Features.Validate()...)
	return utilerrors.NewAggregate(errs)
}

func (o *Options) validateStandalone() (errs []error) {
	if o.DataDir == "" {
		errs = append(errs, errors.New("--data-dir is needed"))
	}
	if o.Host.Kubeconfig != "" {
		errs = append(errs, errors.New("--kubeconfig and --standalone exclude each other: a standalone server has no host cluster"))
	}
	return errs
}

func (o *Options) validateHost(embedded bool) (errs []error) {
	if o.DataDir == "" && embedded {
		errs = append(errs, errors.New("--data-dir is needed, or --etcd-servers"))
	}
	if o.Host.Namespace != "" {
		for _, fault := range validation.IsDNS1123Label(o.Host.Namespace) {
			errs = append(errs, fmt.Errorf("--namespace: %s", fault))
		}
	}
	for _, fault := range validation.IsDNS1123Label(o.Host.ServiceName) {
		errs = append(errs, fmt.Errorf("--service-name: %s", fault))
	}
	for _, fault := range validation.IsDNS1123Label(o.Host.AccessNamespace) {
		errs = append(errs, fmt.Errorf("--access-namespace: %s", fault))
	}
	if o.Host.AccessNamespace == cmp.Or(o.Host.Namespace, host.DefaultNamespace) {
		errs = append(errs, errors.New("--access-namespace: it is that of the server itself, whose Secrets are for nobody else"))
	}
	switch o.Host.Impersonation {
	case apiserver.ImpersonationAuto, apiserver.ImpersonationConstrained, apiserver.ImpersonationLegacy:
	default:
		errs = append(errs, errors.New("--impersonation: it is not one of auto, constrained and legacy"))
	}
	return errs
}

// Config returns the config of the server. The options must be valid.
func (o *Options) Config() apiserver.Config {
	if o.SecureServing.BindAddress == nil {
		o.SecureServing.BindAddress = defaultBindAddress(o.Standalone)
	}
	return apiserver.Config{
		Standalone:        o.Standalone,
		Host:              o.Host,
		DataDir:           o.DataDir,
		QuotaBackendBytes: o.QuotaBackendBytes,
		ServeGroups:       o.ServeGroups,
		Peering:           o.Peering.config(o.Standalone),
		Clusters:          o.Clusters.config(o.Standalone),
		ServerRun:         o.ServerRun,
		Etcd:              o.Etcd,
		SecureServing:     o.SecureServing,
		Audit:             o.Audit,
		Features:          o.Features,
	}
}

// defaultBindAddress keeps a standalone server to this machine.
func defaultBindAddress(standalone bool) net.IP {
	if standalone {
		return net.IPv4(127, 0, 0, 1)
	}
	return net.IPv4zero
}
