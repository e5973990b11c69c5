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

package install

import (
	"entente.dev/entente/apis/schematest"
)

// reference are the kinds of the group with their fields, by hand: Cluster as the reference
// has it, and Release, which is ours (C4).
func reference() map[string]map[string]schematest.Fact {
	return map[string]map[string]schematest.Fact{"Cluster": cluster(), "Release": release()}
}

// deviations are the fields that the reference says are required and its example leaves out:
// they are optional (K1).
func deviations() []string {
	return []string{"spec.agentless.caPublicCertRef", "spec.agentless.connectionParameters"}
}

// cluster has each row of the two tables of the reference, its deviations apart, and what is
// inside of the types that it names and does not describe.
func cluster() map[string]schematest.Fact {
	fields := schematest.Conditioned(map[string]schematest.Fact{
		"spec":                                                             {Kind: "object", Required: true},
		"spec.agent":                                                       {Kind: "object"},
		"spec.agentless":                                                   {Kind: "object"},
		"spec.agentless.auth":                                              {Kind: "object", Required: true},
		"spec.agentless.auth.clientCert":                                   {Kind: "object"},
		"spec.agentless.auth.clientCert.certRef":                           {Kind: "object", Required: true},
		"spec.agentless.auth.clientCert.keyRef":                            {Kind: "object", Required: true},
		"spec.agentless.auth.execPlugin":                                   {Kind: "object"},
		"spec.agentless.auth.execPlugin.args":                              {Kind: "array", List: "atomic"},
		"spec.agentless.auth.execPlugin.args[]":                            {Kind: "string"},
		"spec.agentless.auth.execPlugin.command":                           {Kind: "string", Required: true},
		"spec.agentless.auth.execPlugin.credentialsRef":                    {Kind: "object", Required: true},
		"spec.agentless.auth.execPlugin.env":                               {Kind: "array", List: "map:name"},
		"spec.agentless.auth.kubeconfig":                                   {Kind: "object"},
		"spec.agentless.auth.kubeconfig.secretRef":                         {Kind: "object", Required: true},
		"spec.agentless.auth.oidc":                                         {Kind: "object"},
		"spec.agentless.auth.oidc.audience":                                {Kind: "string"},
		"spec.agentless.auth.oidc.clientAuth":                              {Kind: "object", Required: true},
		"spec.agentless.auth.oidc.clientAuth.clientSecret":                 {Kind: "object"},
		"spec.agentless.auth.oidc.clientAuth.clientSecret.clientSecretRef": {Kind: "object", Required: true},
		"spec.agentless.auth.oidc.clientAuth.privateKeyJWT":                {Kind: "object"},
		"spec.agentless.auth.oidc.clientAuth.privateKeyJWT.privateKeyRef":  {Kind: "object", Required: true},
		"spec.agentless.auth.oidc.clientAuth.tlsClientAuth":                {Kind: "object"},
		"spec.agentless.auth.oidc.clientAuth.tlsClientAuth.certRef":        {Kind: "object", Required: true},
		"spec.agentless.auth.oidc.clientAuth.tlsClientAuth.keyRef":         {Kind: "object", Required: true},
		"spec.agentless.auth.oidc.clientAuth.type":                         {Kind: "string", Enum: "clientSecret,privateKeyJWT,tlsClientAuth", Required: true},
		"spec.agentless.auth.oidc.clientID":                                {Kind: "string", Required: true},
		"spec.agentless.auth.oidc.issuerURL":                               {Kind: "string", Required: true},
		"spec.agentless.auth.oidc.scopes":                                  {Kind: "array", List: "atomic"},
		"spec.agentless.auth.oidc.scopes[]":                                {Kind: "string"},
		"spec.agentless.auth.oidc.tls":                                     {Kind: "object"},
		"spec.agentless.auth.oidc.tls.caPublicCertRef":                     {Kind: "object", Required: true},
		"spec.agentless.auth.oidc.tls.insecureSkipVerify":                  {Kind: "boolean", Required: true},
		"spec.agentless.auth.token":                                        {Kind: "object"},
		"spec.agentless.auth.token.tokenRef":                               {Kind: "object", Required: true},
		"spec.agentless.auth.type":                                         {Kind: "string", Enum: "clientCert,execPlugin,kubeconfig,oidc,token", Required: true},
		"spec.agentless.caPublicCertRef":                                   {Kind: "object"},
		"spec.agentless.connectionParameters":                              {Kind: "object"},
		"spec.agentless.connectionParameters.burst":                        {Kind: "integer", Least: "0", Required: true},
		"spec.agentless.connectionParameters.qps":                          {Kind: "integer", Least: "0", Required: true},
		"spec.agentless.connectionParameters.timeout":                      {Kind: "string", Required: true, Opaque: true},
		"spec.agentless.server":                                            {Kind: "string", Max: 2048, Required: true},
		"spec.capabilities":                                                {Kind: "object"},
		"spec.capabilities.apiVersions":                                    {Kind: "array", List: "atomic"},
		"spec.capabilities.apiVersions[]":                                  {Kind: "string"},
		"spec.capabilities.serverSideApply":                                {Kind: "boolean", Required: true},
		"spec.connectionMode":                                              {Kind: "string", Enum: "agent,agentless,inCluster", Required: true},
		"spec.deletionPolicy":                                              {Kind: "object"},
		"spec.deletionPolicy.pruneReleases":                                {Kind: "boolean", Required: true},
		"spec.metadata":                                                    {Kind: "object"},
		"status":                                                           {Kind: "object"},
		"status.agentStatus":                                               {Kind: "object"},
		"status.agentStatus.agentVersion":                                  {Kind: "string", Required: true},
		"status.agentStatus.lastHeartbeat":                                 {Kind: "string"},
		"status.agentStatus.registeredAt":                                  {Kind: "string", Required: true, Opaque: true},
		"status.discoveredAPIVersions":                                     {Kind: "array", List: "atomic"},
		"status.discoveredAPIVersions[]":                                   {Kind: "string"},
		"status.discoveredVersion":                                         {Kind: "string"},
		"status.lastSeen":                                                  {Kind: "string"},
		"status.observedGeneration":                                        {Kind: "integer"},
		"status.reachable":                                                 {Kind: "boolean", Required: true},
		"status.releaseCount":                                              {Kind: "integer"},

		// Types of Kubernetes.
		"spec.agentless.auth.execPlugin.credentialsRef.name":             {Kind: "string"},
		"spec.agentless.auth.execPlugin.credentialsRef.namespace":        {Kind: "string"},
		"spec.agentless.auth.execPlugin.env[]":                           {Kind: "object"},
		"spec.agentless.auth.execPlugin.env[].name":                      {Kind: "string", Required: true},
		"spec.agentless.auth.execPlugin.env[].value":                     {Kind: "string"},
		"spec.agentless.auth.execPlugin.env[].valueFrom":                 {Kind: "object"},
		"spec.agentless.auth.execPlugin.env[].valueFrom.configMapKeyRef": {Kind: "object"},
		"spec.agentless.auth.execPlugin.env[].valueFrom.secretKeyRef":    {Kind: "object"},
	})
	for _, selector := range []string{
		"spec.agentless.auth.clientCert.certRef",
		"spec.agentless.auth.clientCert.keyRef",
		"spec.agentless.auth.kubeconfig.secretRef",
		"spec.agentless.auth.oidc.clientAuth.clientSecret.clientSecretRef",
		"spec.agentless.auth.oidc.clientAuth.privateKeyJWT.privateKeyRef",
		"spec.agentless.auth.oidc.clientAuth.tlsClientAuth.certRef",
		"spec.agentless.auth.oidc.clientAuth.tlsClientAuth.keyRef",
		"spec.agentless.auth.oidc.tls.caPublicCertRef",
		"spec.agentless.auth.token.tokenRef",
		"spec.agentless.caPublicCertRef",
		"spec.agentless.auth.execPlugin.env[].valueFrom.configMapKeyRef",
		"spec.agentless.auth.execPlugin.env[].valueFrom.secretKeyRef",
	} {
		fields[selector+".name"] = schematest.Fact{Kind: "string", Required: true}
		fields[selector+".key"] = schematest.Fact{Kind: "string", Required: true}
		fields[selector+".optional"] = schematest.Fact{Kind: "boolean"}
	}
	return fields
}

func release() map[string]schematest.Fact {
	return schematest.Conditioned(map[string]schematest.Fact{
		"spec":                                 {Kind: "object", Required: true},
		"spec.clusterRef":                      {Kind: "object", Required: true},
		"spec.clusterRef.name":                 {Kind: "string", Required: true},
		"spec.deletionPolicy":                  {Kind: "string", Enum: "Delete,Orphan", Preset: "Delete"},
		"spec.mutations":                       {Kind: "array", List: "atomic"},
		"spec.mutations[]":                     {Kind: "object"},
		"spec.mutations[].expression":          {Kind: "string", Max: 4096, Required: true},
		"spec.mutations[].path":                {Kind: "string", Max: 1024, Required: true},
		"spec.mutations[].target":              {Kind: "object", Required: true},
		"spec.mutations[].target.group":        {Kind: "string"},
		"spec.mutations[].target.kind":         {Kind: "string", Required: true},
		"spec.mutations[].target.name":         {Kind: "string"},
		"spec.mutations[].target.namespace":    {Kind: "string"},
		"spec.resources":                       {Kind: "array", List: "atomic"},
		"spec.resources[]":                     {Kind: "object"},
		"status":                               {Kind: "object"},
		"status.lastAttempted":                 {Kind: "object"},
		"status.lastAttempted.generation":      {Kind: "integer"},
		"status.lastAttempted.resolvedCluster": {Kind: "string"},
		"status.objects":                       {Kind: "array", List: "atomic"},
		"status.objects[]":                     {Kind: "object"},
		"status.objects[].group":               {Kind: "string"},
		"status.objects[].kind":                {Kind: "string", Required: true},
		"status.objects[].name":                {Kind: "string", Required: true},
		"status.objects[].namespace":           {Kind: "string"},
		"status.objects[].version":             {Kind: "string", Required: true},
		"status.observedGeneration":            {Kind: "integer"},
	})
}
