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

package sensitive

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"
)

// Metrics counts what an operator of the server must know about redaction.
type Metrics struct {
	decisionErrors *metrics.CounterVec
}

// NewMetrics makes the metrics under a namespace such as "entente" and registers
// them; register is a registry's Register. Where they are registered already,
// which happens only in a process that makes several servers, those are used.
func NewMetrics(namespace string, register func(metrics.Registerable) error) (*Metrics, error) {
	errorsTotal := metrics.NewCounterVec(&metrics.CounterOpts{
		Namespace:      namespace,
		Subsystem:      "sensitive",
		Name:           "decision_errors_total",
		Help:           "Answers that were redacted because the right to see sensitive values could not be checked, by resource and verb.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"resource", "verb"})
	err := register(errorsTotal)
	var registered prometheus.AlreadyRegisteredError
	if errors.As(err, &registered) {
		if existing, ok := registered.ExistingCollector.(*metrics.CounterVec); ok {
			return &Metrics{decisionErrors: existing}, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("could not register the metrics of redaction: %w", err)
	}
	return &Metrics{decisionErrors: errorsTotal}, nil
}

func (m *Metrics) decisionFailed(resource, verb string) {
	if m != nil {
		m.decisionErrors.WithLabelValues(resource, verb).Inc()
	}
}
