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

package apiserver

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"

	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/utils/clock"

	"entente.dev/entente/peering/gateway"
)

// PeeringConfig says how this cluster peers with others.
type PeeringConfig struct {
	// GatewayBindAddress and GatewayPort are where the gateway listens, if there are
	// Endpoints. Port 0: one that is free.
	GatewayBindAddress net.IP
	GatewayPort        int
	// GatewayListener, if set, is what the gateway listens on instead. Tests use it.
	GatewayListener net.Listener
	// Endpoints are URLs of the gateway, as other clusters dial it. Without one this
	// cluster can only join others.
	Endpoints []string
	// AllowLocalEndpoints allows gateways, our own and others', on the loopback
	// interface.
	AllowLocalEndpoints bool
	// ProxyURL is the proxy by which other clusters are dialled; nil: none. It may hold a
	// password.
	ProxyURL *url.URL
	// DenyEgress are addresses that are not dialled, whatever another cluster says.
	DenyEgress []netip.Prefix
	// ClusterAlias is the name that this cluster gives itself. It may be empty.
	ClusterAlias string
	// ProjectLabel is the key of the label that says of a namespace to which project it
	// belongs (G4).
	ProjectLabel string
	// ClusterUUID is the identity of this cluster; empty: what its host cluster, or the
	// data folder, says.
	ClusterUUID string
	// AcceptRestoredStore says that the store is known to have been restored from a
	// copy, or emptied (S2).
	AcceptRestoredStore bool
	// AcceptChangedClusterUUID says that the identity is known to be another one than
	// that which this cluster has peered under.
	AcceptChangedClusterUUID bool
	// Limits of the gateway; what is not set has the gateway's defaults. Benchmarks raise
	// them.
	Limits gateway.Limits
	// Workloads are limits for the requests of workloads.
	Workloads WorkloadLimits
	// Clock is what invites, certificates and beats go by. Without it, the clock of the
	// machine. Tests set it forward.
	Clock clock.WithTicker
}

// WorkloadLimits keep the workloads of one peer from asking too much of the host cluster,
// and ours from asking too much of one peer. What is 0 has the default.
type WorkloadLimits struct {
	// QPS and Burst are how many requests a second workloads of one peer may send here.
	QPS   float64
	Burst int
	// MaxInFlight is how many requests of one peer, and to one, may be under way, watches
	// included.
	MaxInFlight int
}

// listenGateway binds the port of the gateway, if other clusters are to dial it.
func listenGateway(config PeeringConfig) (net.Listener, error) {
	if len(config.Endpoints) == 0 {
		return nil, nil
	}
	if config.GatewayListener != nil {
		return config.GatewayListener, nil
	}
	address := net.JoinHostPort(config.GatewayBindAddress.String(), strconv.Itoa(config.GatewayPort))
	listener, _, err := genericoptions.CreateListener("", address, net.ListenConfig{})
	if err != nil {
		return nil, fmt.Errorf("could not listen on --gateway-bind-address and --gateway-port (%s): %w", address, err)
	}
	return listener, nil
}

// GatewayAddress is where the gateway listens, host and port; empty: it does not.
func (s *Server) GatewayAddress() string {
	if s.gateway == nil {
		return ""
	}
	return s.gateway.Addr().String()
}
