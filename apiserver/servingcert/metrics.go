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

package servingcert

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"
)

// RegisterMetrics registers when the certificate that is served expires; register
// is the CustomRegister of a registry. The metric is absent while that certificate
// is provisional.
//
// A registry shows one Manager. Where there is one already, which happens only in a
// process that starts several servers, this one takes its place.
func (m *Manager) RegisterMetrics(register func(metrics.StableCollector) error) error {
	err := register(newExpiryCollector(m))
	var registered prometheus.AlreadyRegisteredError
	if errors.As(err, &registered) {
		if existing, ok := registered.ExistingCollector.(*expiryCollector); ok {
			existing.manager.Store(m)
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("could not register the metrics of the serving certificate: %w", err)
	}
	return nil
}

type expiryCollector struct {
	metrics.BaseStableCollector
	manager atomic.Pointer[Manager]
	expiry  *metrics.Desc
}

func newExpiryCollector(manager *Manager) *expiryCollector {
	c := &expiryCollector{expiry: metrics.NewDesc("entente_serving_certificate_expiration_timestamp_seconds",
		"When the serving certificate from the Secret expires, in seconds since 1970.", nil, nil, metrics.ALPHA, "")}
	c.manager.Store(manager)
	return c
}

// DescribeWithStability implements metrics.StableCollector.
func (c *expiryCollector) DescribeWithStability(descs chan<- *metrics.Desc) { descs <- c.expiry }

// CollectWithStability implements metrics.StableCollector.
func (c *expiryCollector) CollectWithStability(values chan<- metrics.Metric) {
	if inUse := c.manager.Load().inUse.Load(); !inUse.provisional() {
		values <- metrics.NewLazyConstMetric(c.expiry, metrics.GaugeValue, float64(inUse.leaf.NotAfter.Unix()))
	}
}
