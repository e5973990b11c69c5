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

// Package validation holds the rules for objects of the group core.convoy.kumodo.io that the
// tags on the served types cannot say: those that span fields, durations, and what is inside
// of raw objects. Limits, enums, formats, uniqueness and what is required or immutable is
// declared on the types of each version and checked by generated code.
//
// No error quotes what a Release brings, nor an address, nor a value of the metadata: some of
// it is a secret, by mistake or not (R15). A spec that is as it was is not checked again.
package validation

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"entente.dev/entente/apis/core"
	"entente.dev/entente/apis/validation"
)

// Limits of a Cluster.
const (
	// MaxClusterSpecBytes is that of spec, as JSON.
	MaxClusterSpecBytes = 256 << 10
	// MaxTimeout is the limit of spec.agentless.connectionParameters.timeout.
	MaxTimeout = time.Hour
	// MaxMetadata and MaxMetadataBytes are those of spec.metadata: entries, and the bytes of
	// its keys and values together.
	MaxMetadata      = 256
	MaxMetadataBytes = 64 << 10
	// MaxAPIVersions and MaxAPIVersionsBytes are those of status.discoveredAPIVersions:
	// entries, and what they come to, without quotes and commas.
	MaxAPIVersions      = 4096
	MaxAPIVersionsBytes = 64 << 10
	// MaxVersion is that of the versions in a status, in characters.
	MaxVersion = 256
)

// withheld is in the place of a value that an error does not quote.
var withheld = field.OmitValueType{}

// ValidateCluster checks a Cluster that is to be created. It reports every fault at once.
func ValidateCluster(cluster *core.Cluster) field.ErrorList {
	allErrs := validateObjectMeta(&cluster.ObjectMeta, nil)
	return validation.Authoritative(append(allErrs, validateClusterSpec(&cluster.Spec, field.NewPath("spec"))...))
}

// ValidateClusterUpdate checks a Cluster that is to replace old.
func ValidateClusterUpdate(cluster, old *core.Cluster) field.ErrorList {
	allErrs := validateObjectMeta(&cluster.ObjectMeta, &old.ObjectMeta)
	if !apiequality.Semantic.DeepEqual(cluster.Spec, old.Spec) {
		allErrs = append(allErrs, validateClusterSpec(&cluster.Spec, field.NewPath("spec"))...)
	}
	return validation.Authoritative(allErrs)
}

// ValidateClusterStatusUpdate checks a Cluster whose status is to replace that of old.
func ValidateClusterStatusUpdate(cluster, old *core.Cluster) field.ErrorList {
	allErrs := validateObjectMeta(&cluster.ObjectMeta, &old.ObjectMeta)
	status, path := &cluster.Status, field.NewPath("status")
	if agent := status.AgentStatus; agent != nil {
		path := path.Child("agentStatus")
		if agent.RegisteredAt.IsZero() {
			allErrs = append(allErrs, field.Required(path.Child("registeredAt"), ""))
		}
		allErrs = append(allErrs, validateLength(agent.AgentVersion, MaxVersion, path.Child("agentVersion"))...)
	}
	versions := status.DiscoveredAPIVersions
	const brackets, quotesAndComma = 1, 3 // one of the two, as there is a comma less than texts
	allErrs = append(allErrs, validateList(versions, MaxAPIVersions, MaxAPIVersionsBytes+brackets+quotesAndComma*len(versions), path.Child("discoveredAPIVersions"))...)
	allErrs = append(allErrs, validateLength(status.DiscoveredVersion, MaxVersion, path.Child("discoveredVersion"))...)
	return validation.Authoritative(append(allErrs, validateConditions(status.Conditions, path.Child("conditions"))...))
}

func validateClusterSpec(spec *core.ClusterSpec, path *field.Path) field.ErrorList {
	if sizeOf(spec) > MaxClusterSpecBytes {
		return field.ErrorList{field.TooLong(path, "", MaxClusterSpecBytes)}
	}
	allErrs := validateBlocks(path, "connectionMode", string(spec.ConnectionMode), []block{
		{string(core.ConnectionModeAgent), "agent", spec.Agent != nil},
		{string(core.ConnectionModeAgentless), "agentless", spec.Agentless != nil},
		{string(core.ConnectionModeInCluster), "", false},
	})
	if spec.Agentless != nil {
		allErrs = append(allErrs, validateAgentless(spec.Agentless, path.Child("agentless"))...)
	}
	for _, to := range spec.References() {
		if to.Key == "" || to.Whole {
			continue // that a key is required is declared
		}
		for _, fault := range utilvalidation.IsConfigMapKey(to.Key) {
			allErrs = append(allErrs, field.Invalid(to.Path.Child("key"), to.Key, fault))
		}
	}
	return append(allErrs, validateMetadata(spec.Metadata, path.Child("metadata"))...)
}

// block is a part of a spec that is there with one value of another field, and with no other.
type block struct {
	value string // of the other field
	name  string // of the block; empty: there is none with this value
	set   bool
}

// validateBlocks checks that of some blocks the one of a value is there and no other. From a
// value that there is not nothing follows; it is refused by generated code.
func validateBlocks(path *field.Path, member, value string, blocks []block) field.ErrorList {
	known := false
	var allErrs field.ErrorList
	for _, b := range blocks {
		known = known || b.value == value
		switch {
		case b.value == value && b.name != "" && !b.set:
			allErrs = append(allErrs, field.Required(path.Child(b.name), fmt.Sprintf("must be there with %s %s", member, b.value)))
		case b.value != value && b.set:
			allErrs = append(allErrs, field.Forbidden(path.Child(b.name), fmt.Sprintf("may only be set with %s %s", member, b.value)))
		}
	}
	if !known {
		return nil
	}
	return allErrs
}

func validateAgentless(spec *core.ClusterAgentlessModeSpec, path *field.Path) field.ErrorList {
	allErrs := validateServer(spec.Server, path.Child("server"))
	auth := &spec.Auth
	allErrs = append(allErrs, validateBlocks(path.Child("auth"), "type", string(auth.Type), []block{
		{string(core.AuthTypeClientCert), "clientCert", auth.ClientCert != nil},
		{string(core.AuthTypeExecPlugin), "execPlugin", auth.ExecPlugin != nil},
		{string(core.AuthTypeKubeconfig), "kubeconfig", auth.Kubeconfig != nil},
		{string(core.AuthTypeOIDC), "oidc", auth.OIDC != nil},
		{string(core.AuthTypeToken), "token", auth.Token != nil},
	})...)
	if auth.OIDC != nil {
		client := &auth.OIDC.ClientAuth
		allErrs = append(allErrs, validateBlocks(path.Child("auth", "oidc", "clientAuth"), "type", string(client.Type), []block{
			{string(core.OIDCClientAuthClientSecret), "clientSecret", client.ClientSecret != nil},
			{string(core.OIDCClientAuthPrivateKeyJWT), "privateKeyJWT", client.PrivateKeyJWT != nil},
			{string(core.OIDCClientAuthTLSClientAuth), "tlsClientAuth", client.TLSClientAuth != nil},
		})...)
	}
	if spec.ConnectionParameters != nil {
		allErrs = append(allErrs, validateTimeout(spec.ConnectionParameters, path.Child("connectionParameters", "timeout"))...)
	}
	return allErrs
}

// validateServer checks that an address holds no credential, and nothing that a log or a
// terminal could take for something else. What it may be beyond that, the connection shows.
func validateServer(server string, path *field.Path) field.ErrorList {
	switch {
	case strings.ContainsRune(server, '@'):
		return field.ErrorList{field.Invalid(path, withheld, "must not hold a user or a password: what they are for belongs in a Secret")}
	case strings.ContainsFunc(server, unicode.IsControl):
		return field.ErrorList{field.Invalid(path, withheld, "must not hold control characters")}
	}
	return nil
}

func validateTimeout(parameters *core.ClusterConnectionParametersSpec, path *field.Path) field.ErrorList {
	switch timeout := parameters.Timeout; {
	case timeout == nil:
		return field.ErrorList{field.Required(path, "")}
	case timeout.Duration <= 0 || timeout.Duration > MaxTimeout:
		return field.ErrorList{field.Invalid(path, timeout.Duration.String(), "must be more than 0, and at most 1h")}
	}
	return nil
}

func validateMetadata(metadata map[string]string, path *field.Path) field.ErrorList {
	var allErrs field.ErrorList
	if len(metadata) > MaxMetadata {
		allErrs = append(allErrs, field.TooMany(path, len(metadata), MaxMetadata))
	}
	size := 0
	for key, value := range metadata {
		size += len(key) + len(value)
	}
	if size > MaxMetadataBytes {
		allErrs = append(allErrs, field.TooLong(path, "", MaxMetadataBytes))
	}
	if _, ok := metadata[""]; ok {
		allErrs = append(allErrs, field.Invalid(path, withheld, "must not have an empty key"))
	}
	return allErrs
}
