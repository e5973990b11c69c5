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

package etcd

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"
)

const (
	metricsNamespace = "entente"
	metricsSubsystem = "etcd"
)

// RegisterMetrics registers the sizes of the store with a registry; register is
// its CustomRegister, for example legacyregistry.CustomRegister. The metrics are
// read when they are asked for, and absent after Close.
//
// A registry shows one store. Where there is one already, which happens only in
// a process that starts several servers, this one takes its place. Other errors
// are the registry's.
func (s *Server) RegisterMetrics(register func(metrics.StableCollector) error) error {
	err := register(newSizeCollector(s))
	var registered prometheus.AlreadyRegisteredError
	if errors.As(err, &registered) {
		if existing, ok := registered.ExistingCollector.(*sizeCollector); ok {
			existing.server.Store(s)
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("could not register the metrics of the embedded store: %w", err)
	}
	return nil
}

type sizeCollector struct {
	metrics.BaseStableCollector
	server              atomic.Pointer[Server]
	total, inUse, quota *metrics.Desc
}

func newSizeCollector(server *Server) *sizeCollector {
	desc := func(name, help string) *metrics.Desc {
		fullName := metrics.BuildFQName(metricsNamespace, metricsSubsystem, name)
		return metrics.NewDesc(fullName, help, nil, nil, metrics.ALPHA, "")
	}
	c := &sizeCollector{
		total: desc("db_total_size_bytes", "Size of the file of the embedded etcd's database, free pages included."),
		inUse: desc("db_in_use_bytes", "Bytes in use in the embedded etcd's database."),
		quota: desc("quota_bytes", "Size of the embedded etcd's database above which writes are refused."),
	}
	c.server.Store(server)
	return c
}

// DescribeWithStability implements metrics.StableCollector.
func (c *sizeCollector) DescribeWithStability(descs chan<- *metrics.Desc) {
	descs <- c.total
	descs <- c.inUse
	descs <- c.quota
}

// CollectWithStability implements metrics.StableCollector.
func (c *sizeCollector) CollectWithStability(values chan<- metrics.Metric) {
	server := c.server.Load()
	if server.Err() != nil {
		return
	}
	backend := server.etcd.Server.Backend()
	gauge := func(desc *metrics.Desc, value int64) {
		values <- metrics.NewLazyConstMetric(desc, metrics.GaugeValue, float64(value))
	}
	gauge(c.total, backend.Size())
	gauge(c.inUse, backend.SizeInUse())
	gauge(c.quota, server.quota)
}
