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

// Package standalone stands in for the host cluster where there is none: it
// makes the users, the certificates and the rights that a host would bring, in
// the data folder, on first start, and finds them there again later.
//
//	DIR/keys/                certificate authorities, keys, serving certificate
//	DIR/NAME.kubeconfig      for each of the users admin, operator and viewer
//	DIR/cluster-uuid         the identity of this cluster
//	DIR/rbac/                RBAC manifests, the users' own from then on
//
// All of it is for the owner of the process only (folders 0700, files 0600).
// The caller holds the data folder (package datadir) while it uses this package.
package standalone
