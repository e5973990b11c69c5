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

// Package rules judges a PeeringCapability (G1): whether its rules are of such a kind that
// another cluster may have them, and where they apply. It is pure: what resources there
// are it is told.
//
// form.go is what a rule has to look like, forbidden.go what is never granted, consumers.go
// to whom, and host.go what the host cluster has to say about it.
//
// Every message of a verdict is one of a closed set of sentences, after the path of a
// field. None quotes what the field holds.
package rules
