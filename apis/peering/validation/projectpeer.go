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

package validation

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"entente.dev/entente/apis/peering"
	"entente.dev/entente/apis/validation"
)

// ValidateProjectPeer checks a ProjectPeer that is to be created.
func ValidateProjectPeer(peer *peering.ProjectPeer) field.ErrorList {
	return validation.Authoritative(apivalidation.ValidateObjectMeta(&peer.ObjectMeta, true, apivalidation.NameIsDNSLabel, field.NewPath("metadata")))
}

// ValidateProjectPeerUpdate checks a ProjectPeer that is to replace old, or whose status
// is.
func ValidateProjectPeerUpdate(peer, old *peering.ProjectPeer) field.ErrorList {
	return validation.Authoritative(apivalidation.ValidateObjectMetaUpdate(&peer.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata")))
}
