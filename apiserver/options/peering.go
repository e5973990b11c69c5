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
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	"entente.dev/entente/apiserver"
	"entente.dev/entente/controllers/projects"
	"entente.dev/entente/peering/connstring"
)

// DefaultGatewayPort is the port that the gateway listens on without --gateway-port.
const DefaultGatewayPort = 9443

const (
	maxAliasLength  = 64
	aliasCharacters = "._+:/-" // beside letters and digits
)

// Peering are the flags about peering with other clusters.
type Peering struct {
	GatewayBindAddress       net.IP
	GatewayPort              int
	Endpoints                []string
	AllowLocalEndpoints      bool
	ProxyURL                 ProxyURL
	DenyEgressCIDRs          []string
	ClusterAlias             string
	ProjectLabel             string
	ClusterUUID              string
	AcceptRestoredStore      bool
	AcceptChangedClusterUUID bool
	Workloads                apiserver.WorkloadLimits
}

// Limits for workloads, unless flags say otherwise.
const (
	defaultWorkloadQPS         = 100
	defaultWorkloadBurst       = 200
	defaultWorkloadMaxInFlight = 1024
)

func newPeering() Peering {
	return Peering{
		GatewayPort: DefaultGatewayPort, ProjectLabel: projects.DefaultLabel,
		Workloads: apiserver.WorkloadLimits{QPS: defaultWorkloadQPS, Burst: defaultWorkloadBurst, MaxInFlight: defaultWorkloadMaxInFlight},
	}
}

func (p *Peering) addFlags(flags *pflag.FlagSet) {
	flags.IPVar(&p.GatewayBindAddress, "gateway-bind-address", p.GatewayBindAddress,
		"Address that the gateway listens on, where other clusters connect. Default: every IPv4 address, or 127.0.0.1 with --standalone.")
	flags.IntVar(&p.GatewayPort, "gateway-port", p.GatewayPort,
		"Port that the gateway listens on. 0: one that is free. Not bound without --gateway-endpoint.")
	flags.StringArrayVar(&p.Endpoints, "gateway-endpoint", p.Endpoints,
		fmt.Sprintf("URL of the gateway as other clusters dial it, https://HOST or https://HOST:PORT; TLS must reach the gateway unbroken. Can be repeated, up to %d times. Without it this cluster can join others, but not invite them.", connstring.MaxEndpoints))
	flags.BoolVar(&p.AllowLocalEndpoints, "gateway-allow-local-endpoints", p.AllowLocalEndpoints,
		"Allow gateways on the loopback interface, this cluster's and others'. --standalone sets it.")
	flags.Var(&p.ProxyURL, "peer-proxy-url",
		"Proxy by which other clusters are dialled, http://HOST:PORT or socks5://HOST:PORT. No environment variable sets one.")
	flags.StringSliceVar(&p.DenyEgressCIDRs, "deny-egress-cidrs", p.DenyEgressCIDRs,
		"Networks in which no other cluster is dialled, whatever its name resolves to, for example those of this cluster's nodes, Pods and Services.")
	flags.StringVar(&p.ClusterAlias, "cluster-alias", p.ClusterAlias,
		fmt.Sprintf("Name of this cluster, as it shows in others. At most %d letters, digits and %s", maxAliasLength, aliasCharacters))
	flags.StringVar(&p.ProjectLabel, "project-label", p.ProjectLabel,
		"Key of the label by which a namespace belongs to a project; its value is the project's name. Projects of the same name in two clusters are paired.")
	flags.StringVar(&p.ClusterUUID, "cluster-uuid", p.ClusterUUID,
		"Identity of this cluster, a UUID in lower case. Default: what the host cluster says of itself (key cluster-uuid of the ConfigMap kube-system/d8-cluster-uuid, or else the UID of the namespace kube-system), or with --standalone one that the first start made.")
	flags.BoolVar(&p.AcceptRestoredStore, "accept-restored-store", p.AcceptRestoredStore,
		"Go on with a store that was restored from a copy, or emptied: open invites become void, and each peering is suspended until it is renewed.")
	flags.Float64Var(&p.Workloads.QPS, "workload-qps", p.Workloads.QPS,
		"How many requests a second the workloads of one peer may send to the host cluster, all together. More are answered 429.")
	flags.IntVar(&p.Workloads.Burst, "workload-burst", p.Workloads.Burst,
		"How many of them may come at once.")
	flags.IntVar(&p.Workloads.MaxInFlight, "workload-max-inflight", p.Workloads.MaxInFlight,
		"How many requests of the workloads of one peer, and of ours to one peer, may be under way at a time, watches included. More are answered 429.")
	flags.BoolVar(&p.AcceptChangedClusterUUID, "accept-changed-cluster-uuid", p.AcceptChangedClusterUUID,
		"Go on under another identity than the one under which this cluster has peered.")
}

// config returns what the flags say. They must be valid.
func (p *Peering) config(standalone bool) apiserver.PeeringConfig {
	config := apiserver.PeeringConfig{
		GatewayBindAddress:       p.GatewayBindAddress,
		GatewayPort:              p.GatewayPort,
		Endpoints:                slices.Clone(p.Endpoints),
		AllowLocalEndpoints:      p.AllowLocalEndpoints || standalone,
		ClusterAlias:             p.ClusterAlias,
		ProjectLabel:             p.ProjectLabel,
		ClusterUUID:              p.ClusterUUID,
		AcceptRestoredStore:      p.AcceptRestoredStore,
		AcceptChangedClusterUUID: p.AcceptChangedClusterUUID,
		Workloads:                p.Workloads,
	}
	if config.GatewayBindAddress == nil {
		config.GatewayBindAddress = defaultBindAddress(standalone)
	}
	config.ProxyURL, _ = p.ProxyURL.parse()
	config.DenyEgress, _ = p.denyEgress()
	return config
}

func (p *Peering) validate(standalone bool) (errs []error) {
	if p.GatewayPort < 0 || p.GatewayPort > 65535 {
		errs = append(errs, fmt.Errorf("--gateway-port: %d is not a port", p.GatewayPort))
	}
	errs = append(errs, p.validateEndpoints(p.AllowLocalEndpoints || standalone)...)
	if _, err := p.ProxyURL.parse(); err != nil {
		errs = append(errs, fmt.Errorf("--peer-proxy-url: %w", err))
	}
	if _, err := p.denyEgress(); err != nil {
		errs = append(errs, fmt.Errorf("--deny-egress-cidrs: %w", err))
	}
	if len(p.ClusterAlias) > maxAliasLength || strings.ContainsFunc(p.ClusterAlias, notOfAlias) {
		errs = append(errs, fmt.Errorf("--cluster-alias: it may have at most %d letters, digits and %s", maxAliasLength, aliasCharacters))
	}
	for _, fault := range validation.IsQualifiedName(p.ProjectLabel) {
		errs = append(errs, fmt.Errorf("--project-label: %q is not the key of a label: %s", p.ProjectLabel, fault))
	}
	if p.ClusterUUID != "" && !connstring.IsUUID(p.ClusterUUID) {
		errs = append(errs, fmt.Errorf("--cluster-uuid: %q is not a UUID in lower case", p.ClusterUUID))
	}
	if p.Workloads.QPS < 1 || math.IsInf(p.Workloads.QPS, 0) || math.IsNaN(p.Workloads.QPS) || p.Workloads.Burst < 1 || p.Workloads.MaxInFlight < 1 {
		errs = append(errs, errors.New("--workload-qps, --workload-burst and --workload-max-inflight: they are to be 1 at least"))
	}
	return errs
}

func (p *Peering) validateEndpoints(allowLocal bool) (errs []error) {
	if len(p.Endpoints) > connstring.MaxEndpoints {
		errs = append(errs, fmt.Errorf("--gateway-endpoint: there may be %d at most", connstring.MaxEndpoints))
	}
	seen := sets.New[string]()
	for i, endpoint := range p.Endpoints {
		host, port := split(endpoint)
		switch {
		case !connstring.IsEndpoint(endpoint):
			// It may have been meant to hold a password.
			errs = append(errs, fmt.Errorf("--gateway-endpoint: number %d is not of the form https://HOST or https://HOST:PORT, with a host name in lower case or an IP address", i+1))
		case seen.Has(host + " " + port):
			errs = append(errs, fmt.Errorf("--gateway-endpoint: %s is there twice", endpoint))
		case nowhere(host):
			errs = append(errs, fmt.Errorf("--gateway-endpoint: no other cluster can dial %s", endpoint))
		case local(host) && !allowLocal:
			errs = append(errs, fmt.Errorf("--gateway-endpoint: other clusters cannot dial %s; if they are on this machine, --gateway-allow-local-endpoints allows it", endpoint))
		}
		seen.Insert(host + " " + port)
	}
	return errs
}

// split returns host and port of an endpoint; of what is none, anything.
func split(endpoint string) (host, port string) {
	parsed, err := url.Parse(endpoint)
	if err != nil {
		return "", ""
	}
	if port = parsed.Port(); port == "" {
		port = "443"
	}
	return parsed.Hostname(), port
}

// local tells whether a host is this machine to whoever dials it.
func local(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// nowhere tells whether a host is an address that leads to no machine in particular.
func nowhere(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.IsUnspecified() || ip.IsMulticast() || ip.IsLinkLocalUnicast())
}

func (p *Peering) denyEgress() ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	for _, text := range p.DenyEgressCIDRs {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%q is not of the form ADDRESS/BITS", text)
		}
		if prefix.Addr().Is4In6() {
			return nil, fmt.Errorf("%q is to be written as a network of IPv4", text)
		}
		prefixes = append(prefixes, prefix.Masked())
	}
	return prefixes, nil
}

func notOfAlias(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(aliasCharacters, r)
}

// ProxyURL is a flag that may hold a password: it prints without.
type ProxyURL struct{ text string }

var _ pflag.Value = &ProxyURL{}

// Set takes anything: the flag's own error would quote it.
func (u *ProxyURL) Set(text string) error {
	u.text = text
	return nil
}

// String returns the URL without user and password.
func (u ProxyURL) String() string {
	parsed, err := u.parse()
	if err != nil {
		return "(not a proxy)"
	}
	if parsed == nil {
		return ""
	}
	return parsed.Scheme + "://" + parsed.Host
}

// GoString is String.
func (u ProxyURL) GoString() string { return u.String() }

// Type says in the help what it is.
func (*ProxyURL) Type() string { return "url" }

// parse returns nil if there is none. Its errors quote nothing.
func (u ProxyURL) parse() (*url.URL, error) {
	if u.text == "" {
		return nil, nil
	}
	parsed, err := url.Parse(u.text)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "socks5" || parsed.Hostname() == "" {
		return nil, errors.New("it is not of the form http://HOST:PORT or socks5://HOST:PORT")
	}
	if parsed.Path != "" && parsed.Path != "/" || parsed.RawQuery != "" || parsed.ForceQuery || parsed.Fragment != "" {
		return nil, errors.New("a proxy has no path, query or fragment")
	}
	return parsed, nil
}
