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

package protocol

import (
	"fmt"
	"io"
)

// A JoinRequest carries a token: it prints without. Only an encoder of JSON writes it
// out, to send it. (If it stands in a field that is not exported, fmt does not ask it;
// do not put it there.)

const joinRequestText = "join request <omitted>"

// String returns what it is and no more.
func (m JoinRequest) String() string { return joinRequestText }

// GoString returns what String does.
func (m JoinRequest) GoString() string { return joinRequestText }

// Format writes what String does, whatever the verb.
func (m JoinRequest) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, joinRequestText) }

// MarshalLog returns what String does, for structured logs.
func (m JoinRequest) MarshalLog() any { return joinRequestText }
