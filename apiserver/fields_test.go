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

package apiserver_test

import (
	"maps"
)

// fields are the fields of each kind of each group as the reference has them, each with its
// type, limits, enum and list type as OpenAPI says them. The reference names the
// TokenExchangeProvider and does not describe it (G6); nor does it the Release (C4).
func fields() map[string]map[string]map[string]string {
	return map[string]map[string]map[string]string{
		"peering.entente.dev": {
			"ClusterPeer": clusterPeerFields(), "PeeringCapability": capabilityFields(), "ProjectPeer": projectPeerFields(), "TokenExchangeProvider": providerFields(),
		},
		"core.convoy.kumodo.io": {"Cluster": clusterFields(), "Release": releaseFields()},
	}
}

func clusterPeerFields() map[string]string {
	return withConditions(map[string]string{
		"spec":                                 "object",
		"spec.type":                            "string enum=Invite,Join",
		"spec.capabilities":                    "array list=set",
		"spec.capabilities[]":                  "string maxLength=63",
		"spec.projects":                        "array list=set",
		"spec.projects[]":                      "string maxLength=63",
		"spec.invite":                          "object",
		"spec.invite.expectedClusterUUID":      "string maxLength=36",
		"spec.invite.tokenTTL":                 "string",
		"spec.join":                            "object",
		"spec.join.connectionString":           "string maxLength=4096 sensitive=true",
		"spec.join.expectedClusterUUID":        "string maxLength=36",
		"status":                               "object",
		"status.access":                        "object",
		"status.access.audiences":              "array list=map keys=capability",
		"status.access.audiences[]":            "object",
		"status.access.audiences[].audience":   "string",
		"status.access.audiences[].capability": "string",
		"status.access.caBundle":               "string",
		"status.access.endpoint":               "string",
		"status.effectiveCapabilities":         "array list=set",
		"status.effectiveCapabilities[]":       "string maxLength=63",
		"status.grants":                        "array list=map keys=capability",
		"status.grants[]":                      "object",
		"status.grants[].capability":           "string",
		"status.grants[].namespaces":           "array list=set",
		"status.grants[].namespaces[]":         "string",
		"status.invite":                        "object",
		"status.invite.connectionString":       "string maxLength=4096 sensitive=true",
		"status.invite.expiresAt":              "string",
		"status.invite.tokenHash":              "string maxLength=64",
		"status.invite.tokenID":                "string maxLength=16",
		"status.invite.used":                   "boolean",
		"status.observedGeneration":            "integer",
		"status.offer":                         "object",
		"status.offer.capabilities":            "array list=map keys=name",
		"status.offer.capabilities[]":          "object",
		"status.offer.capabilities[].name":     "string",
		"status.offer.capabilities[].scope":    "array list=set",
		"status.offer.capabilities[].scope[]":  "string",
		"status.offer.capabilities[].version":  "string",
		"status.offer.issuer":                  "object",
		"status.offer.issuer.jwks":             "string",
		"status.offer.issuer.url":              "string",
		"status.offer.peeringVersion":          "string maxLength=64",
		"status.offer.projects":                "array list=map keys=name",
		"status.offer.projects[]":              "object",
		"status.offer.projects[].name":         "string",
		"status.offer.projects[].namespaces":   "array list=set",
		"status.offer.projects[].namespaces[]": "string",
		"status.pairedProjectsCount":           "integer",
		"status.peer":                          "object",
		"status.peer.alias":                    "string maxLength=1048576",
		"status.peer.capabilities":             "array list=map keys=name",
		"status.peer.capabilities[]":           "object",
		"status.peer.capabilities[].name":      "string maxLength=1048576",
		"status.peer.capabilities[].scope":     "array list=set",
		"status.peer.capabilities[].scope[]":   "string maxLength=1048576",
		"status.peer.capabilities[].version":   "string maxLength=1048576",
		"status.peer.clusterUUID":              "string maxLength=1048576",
		"status.peer.endpoint":                 "string maxLength=1048576",
		"status.peer.issuer":                   "object",
		"status.peer.issuer.jwks":              "string maxLength=1048576",
		"status.peer.issuer.url":               "string maxLength=1048576",
		"status.peer.lastSyncTime":             "string",
		"status.peer.peeringVersion":           "string maxLength=64",
		"status.peer.projects":                 "array list=map keys=name",
		"status.peer.projects[]":               "object",
		"status.peer.projects[].name":          "string maxLength=1048576",
		"status.peer.projects[].namespaces":    "array list=set",
		"status.peer.projects[].namespaces[]":  "string maxLength=1048576",
		"status.phase":                         "string enum=Active,Error,Pending",
	})
}

func capabilityFields() map[string]string {
	return withConditions(map[string]string{
		"spec":                           "object",
		"spec.consumers":                 "array list=atomic",
		"spec.consumers[]":               "object",
		"spec.consumers[].kind":          "string default=ServiceAccount enum=ServiceAccount",
		"spec.consumers[].name":          "string maxLength=253",
		"spec.consumers[].namespace":     "string maxLength=63",
		"spec.rules":                     "array list=atomic",
		"spec.rules[]":                   "object",
		"spec.rules[].apiGroups":         "array list=set",
		"spec.rules[].apiGroups[]":       "string maxLength=253",
		"spec.rules[].nonResourceURLs":   "array list=set",
		"spec.rules[].nonResourceURLs[]": "string maxLength=253",
		"spec.rules[].resourceNames":     "array list=set",
		"spec.rules[].resourceNames[]":   "string maxLength=253",
		"spec.rules[].resources":         "array list=set",
		"spec.rules[].resources[]":       "string maxLength=253",
		"spec.rules[].verbs":             "array list=set",
		"spec.rules[].verbs[]":           "string maxLength=253",
		"spec.version":                   "string maxLength=64",
		"status":                         "object",
		"status.observedGeneration":      "integer",
	})
}

func projectPeerFields() map[string]string {
	return map[string]string{
		"status":                        "object",
		"status.capabilities":           "array list=map keys=name",
		"status.capabilities[]":         "object",
		"status.capabilities[].name":    "string",
		"status.capabilities[].scope":   "array list=set",
		"status.capabilities[].scope[]": "string",
		"status.capabilities[].version": "string",
		"status.clusterUUID":            "string",
		"status.message":                "string",
		"status.reason":                 "string",
		"status.remoteNamespaces":       "array list=set",
		"status.remoteNamespaces[]":     "string",
		"status.state":                  "string enum=Paired,PeerUnreachable",
	}
}

func providerFields() map[string]string {
	return withConditions(map[string]string{
		"spec":                      "object",
		"spec.audiences":            "array list=set",
		"spec.audiences[]":          "string maxLength=253",
		"spec.issuer":               "object",
		"spec.issuer.jwks":          "string maxLength=1048576",
		"spec.issuer.url":           "string maxLength=1048576",
		"spec.usernamePrefix":       "string maxLength=64",
		"status":                    "object",
		"status.observedGeneration": "integer",
	})
}

func clusterFields() map[string]string {
	fields := map[string]string{
		"spec":                                                    "object",
		"spec.agent":                                              "object",
		"spec.agentless":                                          "object",
		"spec.agentless.auth":                                     "object",
		"spec.agentless.auth.clientCert":                          "object",
		"spec.agentless.auth.execPlugin":                          "object",
		"spec.agentless.auth.execPlugin.args":                     "array list=atomic",
		"spec.agentless.auth.execPlugin.args[]":                   "string",
		"spec.agentless.auth.execPlugin.command":                  "string",
		"spec.agentless.auth.execPlugin.credentialsRef":           "object",
		"spec.agentless.auth.execPlugin.credentialsRef.name":      "string",
		"spec.agentless.auth.execPlugin.credentialsRef.namespace": "string",
		"spec.agentless.auth.execPlugin.env":                      "array list=map keys=name",
		"spec.agentless.auth.execPlugin.env[]":                    "object",
		"spec.agentless.auth.execPlugin.env[].name":               "string",
		"spec.agentless.auth.execPlugin.env[].value":              "string",
		"spec.agentless.auth.execPlugin.env[].valueFrom":          "object",
		"spec.agentless.auth.kubeconfig":                          "object",
		"spec.agentless.auth.oidc":                                "object",
		"spec.agentless.auth.oidc.audience":                       "string",
		"spec.agentless.auth.oidc.clientAuth":                     "object",
		"spec.agentless.auth.oidc.clientAuth.clientSecret":        "object",
		"spec.agentless.auth.oidc.clientAuth.privateKeyJWT":       "object",
		"spec.agentless.auth.oidc.clientAuth.tlsClientAuth":       "object",
		"spec.agentless.auth.oidc.clientAuth.type":                "string enum=clientSecret,privateKeyJWT,tlsClientAuth",
		"spec.agentless.auth.oidc.clientID":                       "string",
		"spec.agentless.auth.oidc.issuerURL":                      "string",
		"spec.agentless.auth.oidc.scopes":                         "array list=atomic",
		"spec.agentless.auth.oidc.scopes[]":                       "string",
		"spec.agentless.auth.oidc.tls":                            "object",
		"spec.agentless.auth.oidc.tls.insecureSkipVerify":         "boolean",
		"spec.agentless.auth.token":                               "object",
		"spec.agentless.auth.type":                                "string enum=clientCert,execPlugin,kubeconfig,oidc,token",
		"spec.agentless.connectionParameters":                     "object",
		"spec.agentless.connectionParameters.burst":               "integer minimum=0",
		"spec.agentless.connectionParameters.qps":                 "integer minimum=0",
		"spec.agentless.connectionParameters.timeout":             "string",
		"spec.agentless.server":                                   "string maxLength=2048",
		"spec.capabilities":                                       "object",
		"spec.capabilities.apiVersions":                           "array list=atomic",
		"spec.capabilities.apiVersions[]":                         "string",
		"spec.capabilities.serverSideApply":                       "boolean",
		"spec.connectionMode":                                     "string enum=agent,agentless,inCluster",
		"spec.deletionPolicy":                                     "object",
		"spec.deletionPolicy.pruneReleases":                       "boolean",
		"spec.metadata":                                           "object",
		"status":                                                  "object",
		"status.agentStatus":                                      "object",
		"status.agentStatus.agentVersion":                         "string",
		"status.agentStatus.lastHeartbeat":                        "string",
		"status.agentStatus.registeredAt":                         "string",
		"status.discoveredAPIVersions":                            "array list=atomic",
		"status.discoveredAPIVersions[]":                          "string",
		"status.discoveredVersion":                                "string",
		"status.lastSeen":                                         "string",
		"status.observedGeneration":                               "integer",
		"status.reachable":                                        "boolean",
		"status.releaseCount":                                     "integer",
	}
	// References to a key of a Secret or a ConfigMap.
	const auth = "spec.agentless.auth."
	for _, path := range []string{
		"spec.agentless.caPublicCertRef", auth + "clientCert.certRef", auth + "clientCert.keyRef", auth + "kubeconfig.secretRef", auth + "token.tokenRef",
		auth + "execPlugin.env[].valueFrom.configMapKeyRef", auth + "execPlugin.env[].valueFrom.secretKeyRef",
		auth + "oidc.clientAuth.clientSecret.clientSecretRef", auth + "oidc.clientAuth.privateKeyJWT.privateKeyRef",
		auth + "oidc.clientAuth.tlsClientAuth.certRef", auth + "oidc.clientAuth.tlsClientAuth.keyRef", auth + "oidc.tls.caPublicCertRef",
	} {
		maps.Copy(fields, map[string]string{path: "object", path + ".name": "string", path + ".key": "string", path + ".optional": "boolean"})
	}
	return withConditions(fields)
}

func releaseFields() map[string]string {
	return withConditions(map[string]string{
		"spec":                                 "object",
		"spec.clusterRef":                      "object",
		"spec.clusterRef.name":                 "string",
		"spec.deletionPolicy":                  "string default=Delete enum=Delete,Orphan",
		"spec.mutations":                       "array list=atomic",
		"spec.mutations[]":                     "object",
		"spec.mutations[].expression":          "string maxLength=4096",
		"spec.mutations[].path":                "string maxLength=1024",
		"spec.mutations[].target":              "object",
		"spec.mutations[].target.group":        "string",
		"spec.mutations[].target.kind":         "string",
		"spec.mutations[].target.name":         "string",
		"spec.mutations[].target.namespace":    "string",
		"spec.resources":                       "array list=atomic",
		"spec.resources[]":                     "object",
		"status":                               "object",
		"status.lastAttempted":                 "object",
		"status.lastAttempted.generation":      "integer",
		"status.lastAttempted.resolvedCluster": "string",
		"status.objects":                       "array list=atomic",
		"status.objects[]":                     "object",
		"status.objects[].group":               "string",
		"status.objects[].kind":                "string",
		"status.objects[].name":                "string",
		"status.objects[].namespace":           "string",
		"status.objects[].version":             "string",
		"status.observedGeneration":            "integer",
	})
}

// withConditions adds the conditions of a status, the same for every kind.
func withConditions(others map[string]string) map[string]string {
	maps.Copy(others, map[string]string{
		"status.conditions":                      "array list=map keys=type",
		"status.conditions[]":                    "object",
		"status.conditions[].lastTransitionTime": "string",
		"status.conditions[].message":            "string",
		"status.conditions[].observedGeneration": "integer minimum=0",
		"status.conditions[].reason":             "string maxLength=1024",
		"status.conditions[].status":             "string enum=False,True,Unknown",
		"status.conditions[].type":               "string maxLength=316",
	})
	return others
}
