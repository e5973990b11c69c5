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

// reference are the kinds of the reference with their fields, by hand, with the list
// types of K1, and those of K5; and the TokenExchangeProvider, which the reference names
// and does not describe (G6).
func reference() map[string]map[string]schematest.Fact {
	return map[string]map[string]schematest.Fact{
		"ClusterPeer": clusterPeer(), "PeeringCapability": peeringCapability(), "ProjectPeer": projectPeer(), "TokenExchangeProvider": tokenExchangeProvider(),
	}
}

func clusterPeer() map[string]schematest.Fact {
	return schematest.Conditioned(map[string]schematest.Fact{
		"spec":                                 {Kind: "object", Required: true},
		"spec.capabilities":                    {Kind: "array", List: "set"},
		"spec.capabilities[]":                  {Kind: "string", Max: 63},
		"spec.invite":                          {Kind: "object"},
		"spec.invite.expectedClusterUUID":      {Kind: "string", Max: 36},
		"spec.invite.tokenTTL":                 {Kind: "string"},
		"spec.join":                            {Kind: "object"},
		"spec.join.connectionString":           {Kind: "string", Max: 4096, Sensitive: true},
		"spec.join.expectedClusterUUID":        {Kind: "string", Max: 36},
		"spec.projects":                        {Kind: "array", List: "set"}, // K5
		"spec.projects[]":                      {Kind: "string", Max: 63},
		"spec.type":                            {Kind: "string", Enum: "Invite,Join", Required: true},
		"status":                               {Kind: "object"},
		"status.access":                        {Kind: "object"},
		"status.access.audiences":              {Kind: "array", List: "map:capability"},
		"status.access.audiences[]":            {Kind: "object"},
		"status.access.audiences[].audience":   {Kind: "string"},
		"status.access.audiences[].capability": {Kind: "string", Required: true},
		"status.access.caBundle":               {Kind: "string"},
		"status.access.endpoint":               {Kind: "string"},
		"status.effectiveCapabilities":         {Kind: "array", List: "set"},
		"status.effectiveCapabilities[]":       {Kind: "string", Max: 63},
		"status.grants":                        {Kind: "array", List: "map:capability"},
		"status.grants[]":                      {Kind: "object"},
		"status.grants[].capability":           {Kind: "string", Required: true},
		"status.grants[].namespaces":           {Kind: "array", List: "set"},
		"status.grants[].namespaces[]":         {Kind: "string"},
		"status.invite":                        {Kind: "object"},
		"status.invite.connectionString":       {Kind: "string", Max: 4096, Sensitive: true},
		"status.invite.expiresAt":              {Kind: "string"},
		"status.invite.tokenHash":              {Kind: "string", Max: 64},
		"status.invite.tokenID":                {Kind: "string", Max: 16},
		"status.invite.used":                   {Kind: "boolean"},
		"status.observedGeneration":            {Kind: "integer"},
		"status.offer":                         {Kind: "object"},
		"status.offer.capabilities":            {Kind: "array", List: "map:name"},
		"status.offer.capabilities[]":          {Kind: "object"},
		"status.offer.capabilities[].name":     {Kind: "string", Required: true},
		"status.offer.capabilities[].scope":    {Kind: "array", List: "set"},
		"status.offer.capabilities[].scope[]":  {Kind: "string"},
		"status.offer.capabilities[].version":  {Kind: "string"},
		"status.offer.issuer":                  {Kind: "object"},
		"status.offer.issuer.jwks":             {Kind: "string"},
		"status.offer.issuer.url":              {Kind: "string"},
		"status.offer.peeringVersion":          {Kind: "string", Max: 64},
		"status.offer.projects":                {Kind: "array", List: "map:name"},
		"status.offer.projects[]":              {Kind: "object"},
		"status.offer.projects[].name":         {Kind: "string", Required: true},
		"status.offer.projects[].namespaces":   {Kind: "array", List: "set"},
		"status.offer.projects[].namespaces[]": {Kind: "string"},
		"status.pairedProjectsCount":           {Kind: "integer"},
		"status.peer":                          {Kind: "object"},
		"status.peer.alias":                    {Kind: "string", Max: schematest.Big},
		"status.peer.capabilities":             {Kind: "array", List: "map:name"},
		"status.peer.capabilities[]":           {Kind: "object"},
		"status.peer.capabilities[].name":      {Kind: "string", Max: schematest.Big, Required: true},
		"status.peer.capabilities[].scope":     {Kind: "array", List: "set"},
		"status.peer.capabilities[].scope[]":   {Kind: "string", Max: schematest.Big},
		"status.peer.capabilities[].version":   {Kind: "string", Max: schematest.Big},
		"status.peer.clusterUUID":              {Kind: "string", Max: schematest.Big},
		"status.peer.endpoint":                 {Kind: "string", Max: schematest.Big},
		"status.peer.issuer":                   {Kind: "object"},
		"status.peer.issuer.jwks":              {Kind: "string", Max: schematest.Big},
		"status.peer.issuer.url":               {Kind: "string", Max: schematest.Big},
		"status.peer.lastSyncTime":             {Kind: "string"},
		"status.peer.peeringVersion":           {Kind: "string", Max: 64},
		"status.peer.projects":                 {Kind: "array", List: "map:name"},
		"status.peer.projects[]":               {Kind: "object"},
		"status.peer.projects[].name":          {Kind: "string", Max: schematest.Big, Required: true},
		"status.peer.projects[].namespaces":    {Kind: "array", List: "set"},
		"status.peer.projects[].namespaces[]":  {Kind: "string", Max: schematest.Big},
		"status.phase":                         {Kind: "string", Enum: "Active,Error,Pending"},
	})
}

func peeringCapability() map[string]schematest.Fact {
	return schematest.Conditioned(map[string]schematest.Fact{
		"spec":                           {Kind: "object", Required: true},
		"spec.consumers":                 {Kind: "array", List: "atomic"},
		"spec.consumers[]":               {Kind: "object"},
		"spec.consumers[].kind":          {Kind: "string", Enum: "ServiceAccount", Preset: "ServiceAccount"},
		"spec.consumers[].name":          {Kind: "string", Max: 253},
		"spec.consumers[].namespace":     {Kind: "string", Max: 63},
		"spec.rules":                     {Kind: "array", List: "atomic"},
		"spec.rules[]":                   {Kind: "object"},
		"spec.rules[].apiGroups":         {Kind: "array", List: "set"},
		"spec.rules[].apiGroups[]":       {Kind: "string", Max: 253},
		"spec.rules[].nonResourceURLs":   {Kind: "array", List: "set"},
		"spec.rules[].nonResourceURLs[]": {Kind: "string", Max: 253},
		"spec.rules[].resourceNames":     {Kind: "array", List: "set"},
		"spec.rules[].resourceNames[]":   {Kind: "string", Max: 253},
		"spec.rules[].resources":         {Kind: "array", List: "set"},
		"spec.rules[].resources[]":       {Kind: "string", Max: 253},
		"spec.rules[].verbs":             {Kind: "array", List: "set"},
		"spec.rules[].verbs[]":           {Kind: "string", Max: 253},
		"spec.version":                   {Kind: "string", Max: 64, Required: true},
		"status":                         {Kind: "object"},
		"status.observedGeneration":      {Kind: "integer"},
	})
}

func projectPeer() map[string]schematest.Fact {
	return map[string]schematest.Fact{
		"status":                        {Kind: "object"},
		"status.capabilities":           {Kind: "array", List: "map:name"},
		"status.capabilities[]":         {Kind: "object"},
		"status.capabilities[].name":    {Kind: "string", Required: true},
		"status.capabilities[].scope":   {Kind: "array", List: "set"},
		"status.capabilities[].scope[]": {Kind: "string"},
		"status.capabilities[].version": {Kind: "string"},
		"status.clusterUUID":            {Kind: "string"},
		"status.message":                {Kind: "string"},
		"status.reason":                 {Kind: "string"},
		"status.remoteNamespaces":       {Kind: "array", List: "set"},
		"status.remoteNamespaces[]":     {Kind: "string"},
		"status.state":                  {Kind: "string", Enum: "Paired,PeerUnreachable"},
	}
}

func tokenExchangeProvider() map[string]schematest.Fact {
	return schematest.Conditioned(map[string]schematest.Fact{
		"spec":                      {Kind: "object"},
		"spec.audiences":            {Kind: "array", List: "set"},
		"spec.audiences[]":          {Kind: "string", Max: 253},
		"spec.issuer":               {Kind: "object"},
		"spec.issuer.jwks":          {Kind: "string", Max: schematest.Big},
		"spec.issuer.url":           {Kind: "string", Max: schematest.Big},
		"spec.usernamePrefix":       {Kind: "string", Max: 64},
		"status":                    {Kind: "object"},
		"status.observedGeneration": {Kind: "integer"},
	})
}
