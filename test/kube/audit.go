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

package kube

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// auditPolicy records who did what and how it was decided, no bodies. What the
// control plane does itself is left out: it is most of the traffic.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  users: [admin]
  nonResourceURLs: ["/readyz*", "/healthz*", "/livez*"]
- level: None
  users: ["system:apiserver", "system:kube-controller-manager"]
- level: None
  userGroups: ["system:serviceaccounts:kube-system"]
- level: Metadata
`

func (c *ControlPlane) auditLog() string { return c.path("logs", "audit.log") }

// Audit reads what kube-apiserver has recorded so far, in order. An event is
// written when its request is over, which may be a moment after the caller has got
// the answer; a watch has one more event, at its start.
func (c *ControlPlane) Audit() ([]auditv1.Event, error) {
	content, err := os.ReadFile(c.auditLog())
	if err != nil {
		return nil, fmt.Errorf("could not read the audit log: %w", err)
	}
	var events []auditv1.Event
	for line := range bytes.Lines(content) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // It is being written.
		}
		var event auditv1.Event
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, fmt.Errorf("could not read the audit log: event %d: %w", len(events)+1, err)
		}
		events = append(events, event)
	}
	return events, nil
}
