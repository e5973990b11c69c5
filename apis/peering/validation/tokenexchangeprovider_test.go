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
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"entente.dev/entente/apis/peering"
)

func provider(change func(*peering.TokenExchangeProvider)) *peering.TokenExchangeProvider {
	p := &peering.TokenExchangeProvider{ObjectMeta: metav1.ObjectMeta{Name: "peer-east", UID: "uid", ResourceVersion: "5"}}
	change(p)
	return p
}

func asItWas(*peering.TokenExchangeProvider) {}

// K1, G6: names are DNS subdomains, so that each ClusterPeer's provider has one, and no
// namespace is one of a TokenExchangeProvider; what identifies an object cannot be changed.
func TestValidateProviderMetadata(t *testing.T) {
	for name, valid := range map[string]bool{
		"peer-east": true, "peer-" + strings.Repeat("x", 63): true, "a.b": true, strings.Repeat("x", 253): true,
		"": false, strings.Repeat("x", 254): false, "A": false, "-a": false, "a..b": false, "a/b": false,
	} {
		p := provider(func(p *peering.TokenExchangeProvider) { p.Name = name })
		assert.Equal(t, valid, len(ValidateTokenExchangeProvider(p)) == 0, name)
	}
	p := provider(func(p *peering.TokenExchangeProvider) { p.Namespace = "default" })
	assert.Equal(t, []string{"FieldValueForbidden metadata.namespace"}, told(ValidateTokenExchangeProvider(p)))
	p = provider(func(p *peering.TokenExchangeProvider) { p.Name = "other" })
	assert.Contains(t, told(ValidateTokenExchangeProviderUpdate(p, provider(asItWas))), "FieldValueInvalid metadata.name")
	assert.Contains(t, told(ValidateTokenExchangeProviderStatusUpdate(p, provider(asItWas))), "FieldValueInvalid metadata.name")
}

// G6: what a provider says is judged by a controller.
func TestValidateProviderSpec(t *testing.T) {
	p := provider(func(p *peering.TokenExchangeProvider) {
		p.Spec = peering.TokenExchangeProviderSpec{Issuer: peering.PeerIssuer{URL: "http://::", JWKS: "{"}, Audiences: []string{""}, UsernamePrefix: "system:"}
	})
	assert.Empty(t, told(ValidateTokenExchangeProvider(p)))
	assert.Empty(t, told(ValidateTokenExchangeProviderUpdate(p, provider(asItWas))))
}

// K1: conditions have the form of Kubernetes' own, with a type of at most 316
// characters. A write of the status answers for the status.
func TestValidateProviderStatus(t *testing.T) {
	good := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "InUse", LastTransitionTime: metav1.Now()}
	for want, change := range map[string]func(*metav1.Condition){
		"": func(*metav1.Condition) {},
		"FieldValueRequired status.conditions[0].reason":     func(c *metav1.Condition) { c.Reason = "" },
		"FieldValueNotSupported status.conditions[0].status": func(c *metav1.Condition) { c.Status = "yes" },
		"FieldValueTooLong status.conditions[0].type":        func(c *metav1.Condition) { c.Type = strings.Repeat("x", 317) },
	} {
		condition := good
		change(&condition)
		p := provider(func(p *peering.TokenExchangeProvider) { p.Status.Conditions = []metav1.Condition{condition} })
		got := told(ValidateTokenExchangeProviderStatusUpdate(p, provider(asItWas)))
		assert.Equal(t, want == "", len(got) == 0, got)
		if want != "" {
			assert.Contains(t, got, want)
		}
		assert.Empty(t, told(ValidateTokenExchangeProviderUpdate(p, provider(asItWas))), "the main resource writes no status")
	}
}
