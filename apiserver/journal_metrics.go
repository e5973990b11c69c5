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
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"
)

// gatewayMetrics count what other clusters do at the gateway.
type gatewayMetrics struct {
	requests    *metrics.CounterVec
	durations   *metrics.HistogramVec
	occurrences *metrics.CounterVec
	exchanges   *metrics.CounterVec
	exchanging  *metrics.HistogramVec
}

// newGatewayMetrics makes the metrics and registers them; register is a registry's
// Register. Where they are registered already, which happens only in a process that
// makes several servers, those are used.
func newGatewayMetrics(register func(metrics.Registerable) error) (*gatewayMetrics, error) {
	m := &gatewayMetrics{
		requests: metrics.NewCounterVec(&metrics.CounterOpts{
			Namespace: "entente", Subsystem: "gateway", Name: "requests_total", StabilityLevel: metrics.ALPHA,
			Help: "Requests of other clusters to the gateway, by path and status code; an empty path is one that is not served, code 0 a request that nobody waited for.",
		}, []string{"path", "code"}),
		durations: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Namespace: "entente", Subsystem: "gateway", Name: "request_duration_seconds", StabilityLevel: metrics.ALPHA,
			Help:    "How long requests to the gateway took, by path. Answers to a sync are held back until there is something to say.",
			Buckets: []float64{0.005, 0.02, 0.1, 0.5, 1, 5, 10, 16, 30},
		}, []string{"path"}),
		occurrences: metrics.NewCounterVec(&metrics.CounterOpts{
			Namespace: "entente", Subsystem: "gateway", Name: "occurrences_total", StabilityLevel: metrics.ALPHA,
			Help: "What happened at the gateway, by kind (InviteUsed, InviteRefused, PeerConfirmed, KeyRenewed, PeerLeft, PeerSuspended, OfferRefused, Unauthorized, RateLimited) and reason.",
		}, []string{"kind", "reason"}),
		exchanges: metrics.NewCounterVec(&metrics.CounterOpts{
			Namespace: "entente", Subsystem: "entrance", Name: "exchanges_total", StabilityLevel: metrics.ALPHA,
			Help: "Requests of workloads of other clusters to the API, once they are over, by status code (0: there was no answer) and the reason why they were refused or ended.",
		}, []string{"code", "reason"}),
		exchanging: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Namespace: "entente", Subsystem: "entrance", Name: "exchange_duration_seconds", StabilityLevel: metrics.ALPHA,
			Help:    "How long those took that the API has answered and that do not last as watches do, by verb.",
			Buckets: []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30},
		}, []string{"verb"}),
	}
	for _, err := range []error{
		registered(register, &m.requests),
		registered(register, &m.durations),
		registered(register, &m.occurrences),
		registered(register, &m.exchanges),
		registered(register, &m.exchanging),
	} {
		if err != nil {
			return nil, fmt.Errorf("could not register the metrics of the gateway: %w", err)
		}
	}
	return m, nil
}

// registered registers a metric, or puts the one in its place that was registered before.
func registered[M metrics.Registerable](register func(metrics.Registerable) error, metric *M) error {
	err := register(*metric)
	var before prometheus.AlreadyRegisteredError
	if errors.As(err, &before) {
		if existing, ok := before.ExistingCollector.(M); ok {
			*metric = existing
			return nil
		}
	}
	return err
}

func (m *gatewayMetrics) served(path, code string, duration time.Duration) {
	m.requests.WithLabelValues(path, code).Inc()
	m.durations.WithLabelValues(path).Observe(duration.Seconds())
}

func (m *gatewayMetrics) exchanged(code, reason string) {
	m.exchanges.WithLabelValues(code, reason).Inc()
}

func (m *gatewayMetrics) answered(verb string, duration time.Duration) {
	m.exchanging.WithLabelValues(verb).Observe(duration.Seconds())
}

func (m *gatewayMetrics) occurred(kind, reason string) {
	m.occurrences.WithLabelValues(kind, reason).Inc()
}
