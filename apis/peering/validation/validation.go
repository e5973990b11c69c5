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

// Package validation holds the rules for objects of the group
// peering.entente.dev that the tags on the served types cannot say: those that
// span fields, durations, and the characters of a version. Limits, enums,
// formats, uniqueness and what is required or immutable is declared on the types
// of each version and checked by generated code.
package validation

import (
	"fmt"
	"time"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"entente.dev/entente/apis/peering"
	"entente.dev/entente/apis/validation"
)

// Limits of spec.invite.tokenTTL.
const (
	MinTokenTTL = time.Minute
	MaxTokenTTL = 24 * time.Hour
)

// ValidateClusterPeer checks a ClusterPeer that is to be created. It reports
// every fault at once, and never quotes a sensitive value.
func ValidateClusterPeer(peer *peering.ClusterPeer) field.ErrorList {
	allErrs := apivalidation.ValidateObjectMeta(&peer.ObjectMeta, false, apivalidation.NameIsDNSLabel, field.NewPath("metadata"))
	return validation.Authoritative(append(allErrs, validateClusterPeerSpec(&peer.Spec, field.NewPath("spec"))...))
}

// ValidateClusterPeerUpdate checks a ClusterPeer that is to replace old.
func ValidateClusterPeerUpdate(peer, old *peering.ClusterPeer) field.ErrorList {
	allErrs := apivalidation.ValidateObjectMetaUpdate(&peer.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	return validation.Authoritative(append(allErrs, validateClusterPeerSpec(&peer.Spec, field.NewPath("spec"))...))
}

// ValidateClusterPeerStatusUpdate checks a ClusterPeer whose status is to
// replace that of old.
func ValidateClusterPeerStatusUpdate(peer, old *peering.ClusterPeer) field.ErrorList {
	allErrs := apivalidation.ValidateObjectMetaUpdate(&peer.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	return validation.Authoritative(append(allErrs, validation.Conditions(peer.Status.Conditions)...))
}

func validateClusterPeerSpec(spec *peering.ClusterPeerSpec, path *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	if spec.Invite != nil {
		if spec.Type == peering.ClusterPeerTypeJoin {
			allErrs = append(allErrs, field.Forbidden(path.Child("invite"), "may only be set with type Invite"))
		}
		allErrs = append(allErrs, validateTokenTTL(spec.Invite.TokenTTL, path.Child("invite", "tokenTTL"))...)
	}
	if spec.Join != nil && spec.Type == peering.ClusterPeerTypeInvite {
		allErrs = append(allErrs, field.Forbidden(path.Child("join"), "may only be set with type Join"))
	}
	return allErrs
}

func validateTokenTTL(ttl string, path *field.Path) field.ErrorList {
	if ttl == "" {
		return nil
	}
	duration, err := time.ParseDuration(ttl)
	if err != nil {
		return field.ErrorList{field.Invalid(path, ttl, "must be a duration such as 90m")}
	}
	if duration < MinTokenTTL || duration > MaxTokenTTL {
		return field.ErrorList{field.Invalid(path, ttl, fmt.Sprintf("must be from %v to %v", MinTokenTTL, MaxTokenTTL))}
	}
	return nil
}
