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

package target

import (
	"encoding/json"
	"fmt"
	"io"
)

// placeholder is what is shown of an Access, in every way of showing a value: not even the
// server, since a kubeconfig is in a Secret as a whole.
const placeholder = "<omitted>"

// String tells nothing.
func (a Access) String() string { return placeholder }

// GoString tells nothing.
func (a Access) GoString() string { return placeholder }

// Format tells nothing, whatever the verb.
func (a Access) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, placeholder) }

// MarshalLog tells nothing.
func (a Access) MarshalLog() any { return placeholder }

// MarshalJSON tells nothing: nothing stores an Access, but loggers encode what holds one.
func (a Access) MarshalJSON() ([]byte, error) { return json.Marshal(placeholder) }

// String tells nothing.
func (c *Client) String() string { return placeholder }

// Format tells nothing, whatever the verb.
func (c *Client) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, placeholder) }

// MarshalLog tells nothing.
func (c *Client) MarshalLog() any { return placeholder }
