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

package clusterpeer

// ConditionReady is the type of the condition that says whether a peering works.
const ConditionReady = "Ready"

// Reasons of the condition Ready; Events about a ClusterPeer have the same (P13).
const (
	// ReasonActive means that the peering works: status True.
	ReasonActive = "Active"
	// ReasonWaitingForConnectionString means that a ClusterPeer of type Join lacks
	// its connection string.
	ReasonWaitingForConnectionString = "WaitingForConnectionString"
	// ReasonWaitingForPeer means that all is ready here and the other cluster has
	// not been in touch yet.
	ReasonWaitingForPeer = "WaitingForPeer"
	// ReasonInvalidConnectionString means that the connection string is malformed
	// or damaged; the message names the part.
	ReasonInvalidConnectionString = "InvalidConnectionString"
	// ReasonSensitiveAccessDenied means that Entente may not read the connection
	// string: it lacks permission on clusterpeers/sensitive.
	ReasonSensitiveAccessDenied = "SensitiveAccessDenied"
)
