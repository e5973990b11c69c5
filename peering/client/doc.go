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

// Package client dials the gateways of other clusters: to join, to keep in touch, to
// carry the requests of workloads there, and our own to see whether it is there as others
// see it.
//
// Everything that comes back is hostile (P11). The address that is dialled is checked
// after resolving, by Policy; the other side is recognised by pins or by its own trust
// bundle, never by the authorities of the system; answers are bounded, of one content
// type, and never followed anywhere else. An error is a *Failure, made of closed sets:
// no byte of an answer, of a certificate or of DNS is in it.
package client
