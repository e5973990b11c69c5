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

package protocol

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// Scopes of a capability.
const (
	ScopeProject = "project"
	ScopeCluster = "cluster"
)

// Validate checks the form of an offer and that it keeps within the limits (P10). One
// that does not is refused as a whole.
func (o *Offer) Validate() error {
	// Counts come first: what follows costs as much as there is.
	if len(o.Capabilities) > MaxCapabilities || !unique(capabilityNames(o), isLabel) ||
		slices.ContainsFunc(o.Capabilities, func(c Capability) bool { return !c.wellFormed() }) {
		return ErrCapabilities
	}
	if len(o.Projects) > MaxProjects || !unique(projectNames(o), isLabel) {
		return ErrProjects
	}
	namespaces := 0
	for _, project := range o.Projects {
		namespaces += len(project.Namespaces)
		if namespaces > MaxNamespaces || !unique(project.Namespaces, isLabel) {
			return ErrNamespaces
		}
	}
	if o.Issuer != nil {
		if !isIssuerURL(o.Issuer.URL) {
			return ErrIssuerURL
		}
		if _, err := ParseJWKS(o.Issuer.JWKS); err != nil {
			return err
		}
	}
	if !isWord(o.PeeringVersion, maxPeeringVersion) {
		return ErrPeeringVersion
	}
	if !isWord(o.Alias, maxAlias) {
		return ErrAlias
	}
	if data, err := json.Marshal(o); err != nil || len(data) > LimitOffer {
		return ErrOfferSize
	}
	return nil
}

func (c Capability) wellFormed() bool {
	return isWord(c.Version, maxVersion) &&
		unique(c.Scope, func(scope string) bool { return scope == ScopeProject || scope == ScopeCluster })
}

func isIssuerURL(text string) bool {
	if !isWord(text, maxIssuerURL) || !strings.HasPrefix(text, "https://") {
		return false
	}
	parsed, err := url.Parse(text)
	return err == nil && parsed.Hostname() != ""
}

func capabilityNames(o *Offer) []string {
	var names []string
	for _, capability := range o.Capabilities {
		names = append(names, capability.Name)
	}
	return names
}

func projectNames(o *Offer) []string {
	var names []string
	for _, project := range o.Projects {
		names = append(names, project.Name)
	}
	return names
}

// Digest returns a SHA-256 hash of an offer in hexadecimal digits, the same in whatever
// order its lists are.
func (o Offer) Digest() string {
	o.Capabilities = slices.Clone(o.Capabilities)
	for i := range o.Capabilities {
		o.Capabilities[i].Scope = slices.Sorted(slices.Values(o.Capabilities[i].Scope))
	}
	slices.SortStableFunc(o.Capabilities, func(a, b Capability) int { return strings.Compare(a.Name, b.Name) })
	o.Projects = slices.Clone(o.Projects)
	for i := range o.Projects {
		o.Projects[i].Namespaces = slices.Sorted(slices.Values(o.Projects[i].Namespaces))
	}
	slices.SortStableFunc(o.Projects, func(a, b Project) int { return strings.Compare(a.Name, b.Name) })
	data, err := json.Marshal(o)
	if err != nil {
		return "" // strings and lists of strings can always be encoded
	}
	hash := sha256.Sum256(data)
	return hex.EncodeToString(hash[:])
}
