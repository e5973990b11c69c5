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
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"entente.dev/entente/apiserver/entrance"
	"entente.dev/entente/peering/gateway"
	"entente.dev/entente/peering/protocol"
)

var _ entrance.Auditor = &journal{}

// Keys of annotations of audit events about exchanges, beside those of the others.
const (
	auditCapability = "peering.entente.dev/capability"
	auditToken      = "peering.entente.dev/token-sha256"
	auditPeer       = "peering.entente.dev/cluster-peer"
)

// Exchanged records a request of a workload of another cluster to the API (G7): one event
// of audit when it is over and, of one that lasts, one when it begins. They are about what
// is asked of the API, so that a policy chooses them like any others.
func (j *journal) Exchanged(exchange entrance.Exchange) {
	if !exchange.Begins {
		j.metrics.exchanged(strconv.Itoa(exchange.Code), string(exchange.Reason))
		if exchange.Request != nil && exchange.Code != 0 && !exchange.Refused && !exchange.Lasts {
			j.metrics.answered(exchange.Request.Verb, exchange.Duration)
		}
	}
	if exchange.Flood || j.backend == nil || j.policy == nil {
		return
	}
	attributes := attributesOf(exchange)
	stage := auditinternal.StageResponseComplete
	if exchange.Begins {
		stage = auditinternal.StageResponseStarted
	}
	wanted := j.policy.EvaluatePolicyRule(attributes)
	if wanted.Level.Less(auditinternal.LevelMetadata) || slices.Contains(wanted.OmitStages, stage) {
		return
	}
	j.backend.ProcessEvents(eventOf(exchange, attributes, stage))
}

// attributesOf returns what a policy is asked about.
func attributesOf(exchange entrance.Exchange) authorizer.AttributesRecord {
	group := protocol.UserGroup(exchange.Peer.ClusterUUID)
	attributes := authorizer.AttributesRecord{User: &user.DefaultInfo{Name: exchange.User, Groups: []string{group}}}
	if exchange.User == "" {
		// It is known which cluster it is of, and no more.
		attributes.User = &user.DefaultInfo{Name: group}
	}
	if asked := exchange.Request; asked != nil {
		attributes.Verb, attributes.Path, attributes.ResourceRequest = asked.Verb, asked.Path, asked.IsResourceRequest
		attributes.APIGroup, attributes.APIVersion = asked.APIGroup, asked.APIVersion
		attributes.Resource, attributes.Subresource = asked.Resource, asked.Subresource
		attributes.Namespace, attributes.Name = asked.Namespace, asked.Name
	}
	return attributes
}

func eventOf(exchange entrance.Exchange, attributes authorizer.AttributesRecord, stage auditinternal.Stage) *auditinternal.Event {
	event := &auditinternal.Event{
		Level: auditinternal.LevelMetadata, AuditID: types.UID(exchange.ID), Stage: stage,
		RequestURI: protocol.PathAPI + exchange.Capability + short(attributes.Path), Verb: attributes.Verb,
		RequestReceivedTimestamp: metav1.NewMicroTime(exchange.Began),
		StageTimestamp:           metav1.NewMicroTime(exchange.Began.Add(max(exchange.Duration, time.Duration(0)))),
		Annotations:              map[string]string{},
	}
	event.User.Username, event.User.Groups = attributes.User.GetName(), attributes.User.GetGroups()
	if exchange.Code != 0 {
		event.ResponseStatus = &metav1.Status{Code: int32(exchange.Code)}
	}
	if attributes.ResourceRequest {
		event.ObjectRef = &auditinternal.ObjectReference{
			APIGroup: short(attributes.APIGroup), APIVersion: short(attributes.APIVersion), Resource: short(attributes.Resource), Subresource: short(attributes.Subresource),
			Namespace: short(attributes.Namespace), Name: short(attributes.Name),
		}
	}
	if exchange.Peer.Source.IsValid() {
		event.SourceIPs = []string{exchange.Peer.Source.String()}
	}
	for key, value := range map[string]string{
		auditReason:      string(exchange.Reason),
		auditCapability:  exchange.Capability,
		auditToken:       exchange.Token.String(),
		auditPeer:        exchange.Peer.Name,
		auditCluster:     exchange.Peer.ClusterUUID,
		auditFingerprint: fingerprint(gateway.Request{Key: exchange.Peer.Key}),
	} {
		if value != "" {
			event.Annotations[key] = value
		}
	}
	return event
}

// maxPath is how much of a path is written down, in bytes: a peer is not to fill the log by
// what it asks for. What there is has shorter names.
const maxPath = 256

// short returns the beginning of a path, or of a part of one. Those are ASCII.
func short(path string) string { return path[:min(len(path), maxPath)] }
