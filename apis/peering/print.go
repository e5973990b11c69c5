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

package peering

import (
	"encoding/json"
)

// Placeholder stands where a sensitive value is left out.
const Placeholder = "<omitted>"

// The types that hold a sensitive value, or a type that does, print without it
// in every way that fmt and the logging libraries have of printing a value: %v
// and %+v call String, %#v calls GoString, structured logs call MarshalLog.

func (in JoinSpec) redacted() JoinSpec {
	in.ConnectionString = omit(in.ConnectionString)
	return in
}

func (in InviteStatus) redacted() InviteStatus {
	in.ConnectionString = omit(in.ConnectionString)
	return in
}

func (in ClusterPeerSpec) redacted() ClusterPeerSpec {
	in.Join = redactedPointer(in.Join)
	return in
}

func (in ClusterPeerStatus) redacted() ClusterPeerStatus {
	in.Invite = redactedPointer(in.Invite)
	return in
}

func (in ClusterPeer) redacted() ClusterPeer {
	in.Spec, in.Status = in.Spec.redacted(), in.Status.redacted()
	return in
}

func (in ClusterPeerList) redacted() ClusterPeerList {
	items := make([]ClusterPeer, len(in.Items))
	for i := range in.Items {
		items[i] = in.Items[i].redacted()
	}
	in.Items = items
	return in
}

type loggableJoinSpec JoinSpec

// String prints the value without what is sensitive in it.
func (in JoinSpec) String() string { return printed(in.MarshalLog()) }

// GoString prints the value without what is sensitive in it.
func (in JoinSpec) GoString() string { return in.String() }

// MarshalLog is what structured logs show of the value.
func (in JoinSpec) MarshalLog() any { return loggableJoinSpec(in.redacted()) }

type loggableInviteStatus InviteStatus

// String prints the value without what is sensitive in it.
func (in InviteStatus) String() string { return printed(in.MarshalLog()) }

// GoString prints the value without what is sensitive in it.
func (in InviteStatus) GoString() string { return in.String() }

// MarshalLog is what structured logs show of the value.
func (in InviteStatus) MarshalLog() any { return loggableInviteStatus(in.redacted()) }

type loggableClusterPeerSpec ClusterPeerSpec

// String prints the value without what is sensitive in it.
func (in ClusterPeerSpec) String() string { return printed(in.MarshalLog()) }

// GoString prints the value without what is sensitive in it.
func (in ClusterPeerSpec) GoString() string { return in.String() }

// MarshalLog is what structured logs show of the value.
func (in ClusterPeerSpec) MarshalLog() any { return loggableClusterPeerSpec(in.redacted()) }

type loggableClusterPeerStatus ClusterPeerStatus

// String prints the value without what is sensitive in it.
func (in ClusterPeerStatus) String() string { return printed(in.MarshalLog()) }

// GoString prints the value without what is sensitive in it.
func (in ClusterPeerStatus) GoString() string { return in.String() }

// MarshalLog is what structured logs show of the value.
func (in ClusterPeerStatus) MarshalLog() any { return loggableClusterPeerStatus(in.redacted()) }

type loggableClusterPeer ClusterPeer

// String prints the value without what is sensitive in it.
func (in ClusterPeer) String() string { return printed(in.MarshalLog()) }

// GoString prints the value without what is sensitive in it.
func (in ClusterPeer) GoString() string { return in.String() }

// MarshalLog is what structured logs show of the value.
func (in ClusterPeer) MarshalLog() any { return loggableClusterPeer(in.redacted()) }

type loggableClusterPeerList ClusterPeerList

// String prints the value without what is sensitive in it.
func (in ClusterPeerList) String() string { return printed(in.MarshalLog()) }

// GoString prints the value without what is sensitive in it.
func (in ClusterPeerList) GoString() string { return in.String() }

// MarshalLog is what structured logs show of the value.
func (in ClusterPeerList) MarshalLog() any { return loggableClusterPeerList(in.redacted()) }

// MarshalJSON encodes the value without what is sensitive in it: nothing stores or
// serves this type, but loggers encode what holds it.
func (in JoinSpec) MarshalJSON() ([]byte, error) {
	return json.Marshal(loggableJoinSpec(in.redacted()))
}

// MarshalJSON encodes the value without what is sensitive in it: nothing stores or
// serves this type, but loggers encode what holds it.
func (in InviteStatus) MarshalJSON() ([]byte, error) {
	return json.Marshal(loggableInviteStatus(in.redacted()))
}

func omit(value string) string {
	if value == "" {
		return ""
	}
	return Placeholder
}

func redactedPointer[T interface{ redacted() T }](in *T) *T {
	if in == nil {
		return nil
	}
	out := (*in).redacted()
	return &out
}

func printed(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return Placeholder
	}
	return string(text)
}
