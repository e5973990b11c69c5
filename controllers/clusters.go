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
	"errors"
	"time"

	"k8s.io/client-go/tools/events"

	"entente.dev/entente/controllers/cluster"
	"entente.dev/entente/controllers/release"
	"entente.dev/entente/controllers/targets"
)

// Clusters is what the controllers of target clusters need.
type Clusters struct {
	// Targets says how target clusters are connected to.
	Targets targets.Config
	// Resync is after what time a Cluster that cannot be used is looked at again, and a
	// Release applied again.
	Resync time.Duration
	// ReleaseDeleteTimeout is for how long what a deleted Release has in its target is tried
	// to be deleted.
	ReleaseDeleteTimeout time.Duration
	// Recorder records Events about Clusters and Releases. Required.
	Recorder events.EventRecorder
}

// clusters makes the controllers of Clusters and of Releases, which share the connections to
// target clusters.
func (m *making) clusters() error {
	config := m.config.Clusters
	if config == nil {
		return nil
	}
	if config.Recorder == nil {
		return errors.New("what is needed to deal with target clusters is not complete")
	}
	pool, err := targets.NewPool(config.Targets)
	if err != nil {
		return err
	}
	group := m.factory.Core().V1alpha1()
	probing := cluster.Config{
		Client:   m.config.Client,
		Clusters: group.Clusters(),
		Releases: group.Releases(),
		Pool:     pool,
		Resync:   config.Resync,
		Recorder: config.Recorder,
		Clock:    m.config.Clock,
	}
	var terminating func(string) bool
	if m.host != nil {
		terminating = m.host.terminating
	}
	probing.Terminating = terminating
	clusters, err := cluster.New(probing)
	if err != nil {
		return err
	}
	m.add(cluster.Name, clusters.Run)
	releases, err := release.New(release.Config{
		Client:        m.config.Client,
		Clusters:      group.Clusters(),
		Releases:      group.Releases(),
		Pool:          pool,
		Terminating:   terminating,
		Ledger:        m.config.Ledger,
		Resync:        config.Resync,
		DeleteTimeout: config.ReleaseDeleteTimeout,
		Recorder:      config.Recorder,
		Clock:         m.config.Clock,
	})
	if err == nil {
		m.add(release.Name, releases.Run)
	}
	return err
}
