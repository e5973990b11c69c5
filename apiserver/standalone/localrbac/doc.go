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

// Package localrbac authorizes requests by RBAC manifests in a folder: Roles,
// ClusterRoles, RoleBindings and ClusterRoleBindings of rbac.authorization.k8s.io/v1,
// with the meaning that they have in a Kubernetes cluster. It needs no cluster.
//
// What it reads: the files *.yaml, *.yml and *.json of one folder, not of its
// subfolders, whose names do not begin with a dot; several documents a file, of
// at most 1 MiB. Decoding is strict. A file with any fault grants nothing, and
// neither does one that its group or others may write; the other files count.
// A folder that its group or others may write grants nothing at all.
//
// Nothing is special here: no user, no group, no name. The privileged group
// system:masters is left to an authorizer in front of this one. Aggregated
// ClusterRoles are not supported, and neither are lists.
package localrbac
