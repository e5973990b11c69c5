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
	"maps"
)

// fact is what the schema says of a field.
type fact struct {
	kind      string // type
	max       int64  // length
	enum      string // allowed values, by commas
	least     string // minimum
	list      string // set, atomic, or map:key
	required  bool
	sensitive bool
	preset    string // default
}

const big = 1048576

// reference are the kinds of the reference with their fields, by hand, with the list
// types of K1, and those of K5; and the TokenExchangeProvider, which the reference names
// and does not describe (G6).
func reference() map[string]map[string]fact {
	return map[string]map[string]fact{
		"ClusterPeer": clusterPeer(), "PeeringCapability": peeringCapability(), "ProjectPeer": projectPeer(), "TokenExchangeProvider": tokenExchangeProvider(),
	}
}

func clusterPeer() map[string]fact {
	return conditioned(map[string]fact{
		"spec":                                 {kind: "object", required: true},
		"spec.capabilities":                    {kind: "array", list: "set"},
		"spec.capabilities[]":                  {kind: "string", max: 63},
		"spec.invite":                          {kind: "object"},
		"spec.invite.expectedClusterUUID":      {kind: "string", max: 36},
		"spec.invite.tokenTTL":                 {kind: "string"},
		"spec.join":                            {kind: "object"},
		"spec.join.connectionString":           {kind: "string", max: 4096, sensitive: true},
		"spec.join.expectedClusterUUID":        {kind: "string", max: 36},
		"spec.projects":                        {kind: "array", list: "set"}, // K5
		"spec.projects[]":                      {kind: "string", max: 63},
		"spec.type":                            {kind: "string", enum: "Invite,Join", required: true},
		"status":                               {kind: "object"},
		"status.access":                        {kind: "object"},
		"status.access.audiences":              {kind: "array", list: "map:capability"},
		"status.access.audiences[]":            {kind: "object"},
		"status.access.audiences[].audience":   {kind: "string"},
		"status.access.audiences[].capability": {kind: "string", required: true},
		"status.access.caBundle":               {kind: "string"},
		"status.access.endpoint":               {kind: "string"},
		"status.effectiveCapabilities":         {kind: "array", list: "set"},
		"status.effectiveCapabilities[]":       {kind: "string", max: 63},
		"status.grants":                        {kind: "array", list: "map:capability"},
		"status.grants[]":                      {kind: "object"},
		"status.grants[].capability":           {kind: "string", required: true},
		"status.grants[].namespaces":           {kind: "array", list: "set"},
		"status.grants[].namespaces[]":         {kind: "string"},
		"status.invite":                        {kind: "object"},
		"status.invite.connectionString":       {kind: "string", max: 4096, sensitive: true},
		"status.invite.expiresAt":              {kind: "string"},
		"status.invite.tokenHash":              {kind: "string", max: 64},
		"status.invite.tokenID":                {kind: "string", max: 16},
		"status.invite.used":                   {kind: "boolean"},
		"status.observedGeneration":            {kind: "integer"},
		"status.offer":                         {kind: "object"},
		"status.offer.capabilities":            {kind: "array", list: "map:name"},
		"status.offer.capabilities[]":          {kind: "object"},
		"status.offer.capabilities[].name":     {kind: "string", required: true},
		"status.offer.capabilities[].scope":    {kind: "array", list: "set"},
		"status.offer.capabilities[].scope[]":  {kind: "string"},
		"status.offer.capabilities[].version":  {kind: "string"},
		"status.offer.issuer":                  {kind: "object"},
		"status.offer.issuer.jwks":             {kind: "string"},
		"status.offer.issuer.url":              {kind: "string"},
		"status.offer.peeringVersion":          {kind: "string", max: 64},
		"status.offer.projects":                {kind: "array", list: "map:name"},
		"status.offer.projects[]":              {kind: "object"},
		"status.offer.projects[].name":         {kind: "string", required: true},
		"status.offer.projects[].namespaces":   {kind: "array", list: "set"},
		"status.offer.projects[].namespaces[]": {kind: "string"},
		"status.pairedProjectsCount":           {kind: "integer"},
		"status.peer":                          {kind: "object"},
		"status.peer.alias":                    {kind: "string", max: big},
		"status.peer.capabilities":             {kind: "array", list: "map:name"},
		"status.peer.capabilities[]":           {kind: "object"},
		"status.peer.capabilities[].name":      {kind: "string", max: big, required: true},
		"status.peer.capabilities[].scope":     {kind: "array", list: "set"},
		"status.peer.capabilities[].scope[]":   {kind: "string", max: big},
		"status.peer.capabilities[].version":   {kind: "string", max: big},
		"status.peer.clusterUUID":              {kind: "string", max: big},
		"status.peer.endpoint":                 {kind: "string", max: big},
		"status.peer.issuer":                   {kind: "object"},
		"status.peer.issuer.jwks":              {kind: "string", max: big},
		"status.peer.issuer.url":               {kind: "string", max: big},
		"status.peer.lastSyncTime":             {kind: "string"},
		"status.peer.peeringVersion":           {kind: "string", max: 64},
		"status.peer.projects":                 {kind: "array", list: "map:name"},
		"status.peer.projects[]":               {kind: "object"},
		"status.peer.projects[].name":          {kind: "string", max: big, required: true},
		"status.peer.projects[].namespaces":    {kind: "array", list: "set"},
		"status.peer.projects[].namespaces[]":  {kind: "string", max: big},
		"status.phase":                         {kind: "string", enum: "Active,Error,Pending"},
	})
}

func peeringCapability() map[string]fact {
	return conditioned(map[string]fact{
		"spec":                           {kind: "object", required: true},
		"spec.consumers":                 {kind: "array", list: "atomic"},
		"spec.consumers[]":               {kind: "object"},
		"spec.consumers[].kind":          {kind: "string", enum: "ServiceAccount", preset: "ServiceAccount"},
		"spec.consumers[].name":          {kind: "string", max: 253},
		"spec.consumers[].namespace":     {kind: "string", max: 63},
		"spec.rules":                     {kind: "array", list: "atomic"},
		"spec.rules[]":                   {kind: "object"},
		"spec.rules[].apiGroups":         {kind: "array", list: "set"},
		"spec.rules[].apiGroups[]":       {kind: "string", max: 253},
		"spec.rules[].nonResourceURLs":   {kind: "array", list: "set"},
		"spec.rules[].nonResourceURLs[]": {kind: "string", max: 253},
		"spec.rules[].resourceNames":     {kind: "array", list: "set"},
		"spec.rules[].resourceNames[]":   {kind: "string", max: 253},
		"spec.rules[].resources":         {kind: "array", list: "set"},
		"spec.rules[].resources[]":       {kind: "string", max: 253},
		"spec.rules[].verbs":             {kind: "array", list: "set"},
		"spec.rules[].verbs[]":           {kind: "string", max: 253},
		"spec.version":                   {kind: "string", max: 64, required: true},
		"status":                         {kind: "object"},
		"status.observedGeneration":      {kind: "integer"},
	})
}

func projectPeer() map[string]fact {
	return map[string]fact{
		"status":                        {kind: "object"},
		"status.capabilities":           {kind: "array", list: "map:name"},
		"status.capabilities[]":         {kind: "object"},
		"status.capabilities[].name":    {kind: "string", required: true},
		"status.capabilities[].scope":   {kind: "array", list: "set"},
		"status.capabilities[].scope[]": {kind: "string"},
		"status.capabilities[].version": {kind: "string"},
		"status.clusterUUID":            {kind: "string"},
		"status.message":                {kind: "string"},
		"status.reason":                 {kind: "string"},
		"status.remoteNamespaces":       {kind: "array", list: "set"},
		"status.remoteNamespaces[]":     {kind: "string"},
		"status.state":                  {kind: "string", enum: "Paired,PeerUnreachable"},
	}
}

func tokenExchangeProvider() map[string]fact {
	return conditioned(map[string]fact{
		"spec":                      {kind: "object"},
		"spec.audiences":            {kind: "array", list: "set"},
		"spec.audiences[]":          {kind: "string", max: 253},
		"spec.issuer":               {kind: "object"},
		"spec.issuer.jwks":          {kind: "string", max: big},
		"spec.issuer.url":           {kind: "string", max: big},
		"spec.usernamePrefix":       {kind: "string", max: 64},
		"status":                    {kind: "object"},
		"status.observedGeneration": {kind: "integer"},
	})
}

// conditioned adds the conditions of a status to the other fields of a kind. Their
// schema is of the Kubernetes libraries and says no limits; package apiserver adds those
// of the reference when it serves it.
func conditioned(others map[string]fact) map[string]fact {
	maps.Copy(others, map[string]fact{
		"status.conditions":                      {kind: "array", list: "map:type"},
		"status.conditions[]":                    {kind: "object"},
		"status.conditions[].lastTransitionTime": {kind: "string", required: true},
		"status.conditions[].message":            {kind: "string", required: true},
		"status.conditions[].observedGeneration": {kind: "integer"},
		"status.conditions[].reason":             {kind: "string", required: true},
		"status.conditions[].status":             {kind: "string", required: true},
		"status.conditions[].type":               {kind: "string", required: true},
	})
	return others
}
