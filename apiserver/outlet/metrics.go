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

package outlet

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"
)

// outletMetrics count what workloads ask of peers.
type outletMetrics struct{ requests *metrics.CounterVec }

// newMetrics makes the metrics and registers them, unless register is nil. Where they are
// registered already, which happens only in a process that makes several servers, those
// are used.
func newMetrics(register func(metrics.Registerable) error) (*outletMetrics, error) {
	requests := metrics.NewCounterVec(&metrics.CounterOpts{
		Namespace: "entente", Subsystem: "outlet", Name: "requests_total", StabilityLevel: metrics.ALPHA,
		Help: "Requests of workloads to peers that have ended, by status code; one that nobody knows is other, and code 0 a request that was not answered.",
	}, []string{"code"})
	if register == nil {
		return &outletMetrics{requests}, nil
	}
	err := register(requests)
	var before prometheus.AlreadyRegisteredError
	if errors.As(err, &before) {
		if existing, ok := before.ExistingCollector.(*metrics.CounterVec); ok {
			return &outletMetrics{existing}, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("could not register the metrics of the outlet: %w", err)
	}
	return &outletMetrics{requests}, nil
}

// answered counts a request. Of status codes there is no end: the peer chooses them.
func (m *outletMetrics) answered(code int) {
	label := "other"
	if code == 0 || http.StatusText(code) != "" {
		label = strconv.Itoa(code)
	}
	m.requests.WithLabelValues(label).Inc()
}

// answer keeps the status code of an answer.
type answer struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(code int) {
	if a.code == 0 {
		a.code = code
	}
	a.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(data []byte) (int, error) {
	if a.code == 0 {
		a.code = http.StatusOK
	}
	return a.ResponseWriter.Write(data)
}

// Hijack implements http.Hijacker.
func (a *answer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	connection, both, err := http.NewResponseController(a.ResponseWriter).Hijack()
	if err == nil {
		a.code = http.StatusSwitchingProtocols
	}
	return connection, both, err
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
