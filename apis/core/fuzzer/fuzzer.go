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

// Package fuzzer fills objects of the group core.convoy.kumodo.io with random
// content for round-trip tests.
package fuzzer

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeserializer "k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/randfill"

	"entente.dev/entente/apis/core"
)

// Funcs returns the fill functions of the group. A Cluster has the block of its mode and no
// other one, its credentials and its OpenID Connect client that of their types, and a Release
// brings objects, as in stored objects.
func Funcs(runtimeserializer.CodecFactory) []any {
	return []any{
		func(spec *core.ClusterSpec, c randfill.Continue) {
			c.FillNoCustom(spec)
			agent, agentless := spec.Agent, spec.Agentless
			spec.Agent, spec.Agentless = nil, nil
			switch c.Intn(3) {
			case 0:
				spec.ConnectionMode = core.ConnectionModeInCluster
			case 1:
				spec.ConnectionMode, spec.Agent = core.ConnectionModeAgent, agent
			default:
				spec.ConnectionMode, spec.Agentless = core.ConnectionModeAgentless, agentless
			}
		},
		func(auth *core.ClusterAuthSpec, c randfill.Continue) {
			var all core.ClusterAuthSpec
			c.FillNoCustom(&all)
			switch c.Intn(5) {
			case 0:
				*auth = core.ClusterAuthSpec{Type: core.AuthTypeClientCert, ClientCert: all.ClientCert}
			case 1:
				*auth = core.ClusterAuthSpec{Type: core.AuthTypeExecPlugin, ExecPlugin: all.ExecPlugin}
			case 2:
				*auth = core.ClusterAuthSpec{Type: core.AuthTypeKubeconfig, Kubeconfig: all.Kubeconfig}
			case 3:
				*auth = core.ClusterAuthSpec{Type: core.AuthTypeOIDC, OIDC: all.OIDC}
			default:
				*auth = core.ClusterAuthSpec{Type: core.AuthTypeToken, Token: all.Token}
			}
		},
		func(auth *core.OIDCClientAuthSpec, c randfill.Continue) {
			var all core.OIDCClientAuthSpec
			c.FillNoCustom(&all)
			switch c.Intn(3) {
			case 0:
				*auth = core.OIDCClientAuthSpec{Type: core.OIDCClientAuthClientSecret, ClientSecret: all.ClientSecret}
			case 1:
				*auth = core.OIDCClientAuthSpec{Type: core.OIDCClientAuthPrivateKeyJWT, PrivateKeyJWT: all.PrivateKeyJWT}
			default:
				*auth = core.OIDCClientAuthSpec{Type: core.OIDCClientAuthTLSClientAuth, TLSClientAuth: all.TLSClientAuth}
			}
		},
		func(spec *core.ReleaseSpec, c randfill.Continue) {
			c.FillNoCustom(spec)
			spec.DeletionPolicy = core.ReleaseDeletionPolicyDelete
			if c.Bool() {
				spec.DeletionPolicy = core.ReleaseDeletionPolicyOrphan
			}
		},
		func(raw *runtime.RawExtension, c randfill.Continue) {
			object := map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": c.String(20)},
				"data": map[string]any{"text": c.String(0), "number": c.Int63(), "yes": c.Bool(), "none": nil, "list": []any{c.String(5)}},
			}
			raw.Raw, _ = json.Marshal(object) // which has nothing that cannot be encoded
		},
		func(d *metav1.Duration, c randfill.Continue) { c.Fill(&d.Duration) },
	}
}
