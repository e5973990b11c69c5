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

package controllers

import (
	"context"
	"crypto/rand"

	"entente.dev/entente/apis/generated/informers/externalversions"
	"entente.dev/entente/controllers/access"
	"entente.dev/entente/controllers/capability"
	"entente.dev/entente/controllers/clusterpeer"
	"entente.dev/entente/controllers/dataaccess"
	"entente.dev/entente/controllers/grant"
	"entente.dev/entente/controllers/offer"
	"entente.dev/entente/controllers/peeringca"
	"entente.dev/entente/controllers/peerprovider"
	"entente.dev/entente/controllers/peersync"
	"entente.dev/entente/controllers/projectpeer"
	"entente.dev/entente/controllers/selfcheck"
	"entente.dev/entente/controllers/tokenexchange"
	"entente.dev/entente/controllers/workloadtoken"
	"entente.dev/entente/peering/protocol"
)

// making makes every controller there is.
type making struct {
	config      Config
	factory     externalversions.SharedInformerFactory
	host        *hostView // nil without a host cluster
	model       *access.Model
	providers   *peerprovider.Controller
	controllers []controller
}

// all makes them. Those that others ask come first.
func (m *making) all() error {
	for _, step := range []func() error{
		m.hostView, m.access,
		m.peeringCA, m.peerProvider, m.tokenExchange, m.clusterPeer, m.offer, m.peerSync, m.dataAccess, m.selfCheck, m.capability, m.projectPeer, m.grant,
		m.clusters,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (m *making) add(name string, run func(context.Context) error) {
	m.controllers = append(m.controllers, controller{name: name, run: run})
}

func (m *making) hostView() (err error) {
	if m.config.Host == nil {
		return nil
	}
	if m.host, err = newHostView(m.config); err != nil {
		return err
	}
	m.controllers = append(m.controllers, m.host.controllers()...)
	return nil
}

func (m *making) access() (err error) {
	config := access.Config{
		ClusterPeers: m.factory.Peering().V1alpha1().ClusterPeers(),
		Capabilities: m.factory.Peering().V1alpha1().PeeringCapabilities(),
		Ledger:       m.config.Ledger,
	}
	if m.host != nil {
		config.Resources, config.Projects = m.host.resources, m.host.projects
	}
	m.model, err = access.New(config)
	return err
}

func (m *making) peeringCA() error {
	c, err := peeringca.New(peeringca.Config{
		Ledger:      m.config.Ledger,
		ClusterUUID: m.config.Self.ClusterUUID,
		Clock:       m.config.Clock,
	})
	if err == nil {
		m.add(peeringca.Name, c.Run)
	}
	return err
}

// serves tells whether workloads of peers are let in: they come by the gateway, to the host
// cluster.
func (m *making) serves() bool { return m.host != nil && len(m.config.Self.Endpoints) > 0 }

func (m *making) peerProvider() (err error) {
	m.providers, err = peerprovider.New(peerprovider.Config{
		Client:       m.config.Client,
		ClusterPeers: m.factory.Peering().V1alpha1().ClusterPeers(),
		Providers:    m.factory.Peering().V1alpha1().TokenExchangeProviders(),
		Plans:        m.model,
		Ledger:       m.config.Ledger,
		ClusterUUID:  m.config.Self.ClusterUUID,
		Serves:       m.serves(),
		Recorder:     m.config.Recorder,
		Clock:        m.config.Clock,
	})
	if err == nil {
		m.add(peerprovider.Name, m.providers.Run)
	}
	return err
}

func (m *making) tokenExchange() error {
	c, err := tokenexchange.New(tokenexchange.Config{
		Client:       m.config.Client,
		Providers:    m.factory.Peering().V1alpha1().TokenExchangeProviders(),
		ClusterPeers: m.factory.Peering().V1alpha1().ClusterPeers(),
		Ledger:       m.config.Ledger,
		Claims:       m.config.Claims,
		Serves:       m.serves(),
		Verifier: func(issuer protocol.Issuer, peerUUID string) error {
			_, err := workloadtoken.New(issuer, peerUUID, m.config.Self.ClusterUUID, m.config.Clock)
			return err
		},
		Clock: m.config.Clock,
	})
	if err == nil {
		m.add(tokenexchange.Name, c.Run)
	}
	return err
}

// dataAccess makes nothing without a host cluster: there are no workloads.
func (m *making) dataAccess() error {
	if m.host == nil {
		return nil
	}
	c, err := dataaccess.New(dataaccess.Config{
		Ledger:   m.config.Ledger,
		Informer: m.factory.Peering().V1alpha1().ClusterPeers(),
		Connect:  dataaccess.Dialing(m.config.Dialer),
		Secrets:  m.config.Host.Client.CoreV1().Secrets(m.config.Host.AccessNamespace),
		Recorder: m.config.Recorder,
		Clock:    m.config.Clock,
	})
	if err == nil {
		m.add(dataaccess.Name, c.Run)
	}
	return err
}

func (m *making) clusterPeer() error {
	c, err := clusterpeer.New(clusterpeer.Config{
		Client:      m.config.Client,
		Informer:    m.factory.Peering().V1alpha1().ClusterPeers(),
		Recorder:    m.config.Recorder,
		Clock:       m.config.Clock,
		Ledger:      m.config.Ledger,
		Plans:       m.model,
		Providers:   m.providers,
		Dialer:      clusterpeer.NewDialer(m.config.Dialer),
		Self:        m.config.Self,
		Host:        m.host != nil,
		TokenRandom: rand.Reader,
	})
	if err == nil {
		m.add(clusterpeer.Name, c.Run)
	}
	return err
}

func (m *making) offer() error {
	c, err := offer.New(offer.Config{
		Ledger:         m.config.Ledger,
		Informer:       m.factory.Peering().V1alpha1().ClusterPeers(),
		Plans:          m.model,
		Recorder:       m.config.Recorder,
		Issuer:         m.config.Issuer,
		PeeringVersion: m.config.PeeringVersion,
		Alias:          m.config.Alias,
		Clock:          m.config.Clock,
	})
	if err == nil {
		m.add(offer.Name, c.Run)
	}
	return err
}

func (m *making) peerSync() error {
	c, err := peersync.New(peersync.Config{
		Ledger:   m.config.Ledger,
		Connect:  peersync.Dialing(m.config.Dialer),
		Self:     m.config.Self,
		Specs:    m.config.Specs,
		Contacts: m.config.Contacts,
		Clock:    m.config.Clock,
	})
	if err == nil {
		m.add(peersync.Name, c.Run)
	}
	return err
}

func (m *making) selfCheck() error {
	c, err := selfcheck.New(selfcheck.Config{
		Client:    m.config.Client,
		Informer:  m.factory.Peering().V1alpha1().ClusterPeers(),
		Ledger:    m.config.Ledger,
		Endpoints: m.config.Self.Endpoints,
		Probe:     m.config.Dialer.Probe,
		Clock:     m.config.Clock,
	})
	if err == nil {
		m.add(selfcheck.Name, c.Run)
	}
	return err
}

func (m *making) capability() error {
	config := capability.Config{
		Client:   m.config.Client,
		Informer: m.factory.Peering().V1alpha1().PeeringCapabilities(),
		Recorder: m.config.Recorder,
		Clock:    m.config.Clock,
	}
	if m.host != nil {
		config.Resources = m.host.resources
	}
	c, err := capability.New(config)
	if err == nil {
		m.add(capability.Name, c.Run)
	}
	return err
}

func (m *making) projectPeer() error {
	c, err := projectpeer.New(projectpeer.Config{
		Client:       m.config.Client,
		ClusterPeers: m.factory.Peering().V1alpha1().ClusterPeers(),
		ProjectPeers: m.factory.Peering().V1alpha1().ProjectPeers(),
		Plans:        m.model,
		Clock:        m.config.Clock,
	})
	if err == nil {
		m.add(projectpeer.Name, c.Run)
	}
	return err
}

// grant makes nothing without a host cluster: there is nobody to grant anything.
func (m *making) grant() error {
	if m.host == nil {
		return nil
	}
	c, err := grant.New(grant.Config{
		Client:   m.config.Client,
		Informer: m.factory.Peering().V1alpha1().ClusterPeers(),
		Plans:    m.model,
		Ledger:   m.config.Ledger,
		Host:     m.config.Host.Bulk.RbacV1(),
		Objects:  m.host.granted.Rbac().V1(),
		Recorder: m.config.Recorder,
		Clock:    m.config.Clock,

		Self:        m.config.Host.Self,
		Constrained: m.config.Host.ConstrainedImpersonation,
	})
	if err == nil {
		m.add(grant.Name, c.Run)
	}
	return err
}
