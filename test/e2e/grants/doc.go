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

// Package grants holds the controller of grants against a real kube-apiserver, with
// Entente's own ServiceAccount, the rights and the policies that are shipped: objects are
// made and deleted as RBAC has it, in time, and what others do to them is found out. No
// Entente runs; what is to be granted is made up.
package grants
