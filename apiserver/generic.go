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

package apiserver

import (
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/apis/apiserver"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/path"
	"k8s.io/apiserver/pkg/authorization/union"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericoptions "k8s.io/apiserver/pkg/server/options"

	"entente.dev/entente/apis/peering"
	"entente.dev/entente/apiserver/standalone"
	"entente.dev/entente/registry/sensitive"
)

// healthPaths may be asked by anybody: they say nothing but ok.
func healthPaths() []string { return []string{"/healthz", "/livez", "/readyz"} }

// genericConfig configures the library's server, and returns the authorizer that
// also decides who sees sensitive fields.
func genericConfig(config CompletedConfig, etcdOptions *genericoptions.EtcdOptions, environment *standalone.Environment) (*genericapiserver.Config, authorizer.Authorizer, error) {
	generic := genericapiserver.NewConfig(config.api.Codecs)
	if err := config.ServerRun.ApplyTo(generic); err != nil {
		return nil, nil, err
	}
	serving := *config.SecureServing.SecureServingOptions
	if serving.ServerCert.CertKey.CertFile == "" {
		serving.ServerCert.CertKey = genericoptions.CertKey{CertFile: environment.ServingCertFile, KeyFile: environment.ServingKeyFile}
	}
	if err := serving.WithLoopback().ApplyTo(&generic.SecureServing, &generic.LoopbackClientConfig); err != nil {
		return nil, nil, fmt.Errorf("could not set up serving: %w", err)
	}
	if err := etcdOptions.ApplyTo(generic); err != nil {
		return nil, nil, fmt.Errorf("could not set up the store: %w", err)
	}
	// Priority and fairness reads its configuration from a host cluster; without one
	// requests are limited by --max-requests-inflight.
	if err := config.Features.ApplyTo(generic, nil, nil); err != nil {
		return nil, nil, err
	}
	if err := authenticate(generic, environment); err != nil {
		return nil, nil, err
	}
	var err error
	if generic.Authorization.Authorizer, err = authorize(config, environment); err != nil {
		return nil, nil, err
	}
	generic.RuleResolver = environment.Authorizer
	if err := config.Audit.ApplyTo(generic); err != nil {
		return nil, nil, fmt.Errorf("could not set up audit: %w", err)
	}
	if generic.AuditPolicyRuleEvaluator != nil {
		generic.AuditPolicyRuleEvaluator = withoutBodies{generic.AuditPolicyRuleEvaluator}
	}
	if err := describe(generic, config.api); err != nil {
		return nil, nil, err
	}
	generic.BuildHandlerChainFunc = func(apiHandler http.Handler, c *genericapiserver.Config) http.Handler {
		groups := sets.New(peering.GroupName)
		return genericapiserver.DefaultBuildHandlerChain(sensitive.WithApplyBodyCheck(apiHandler, groups, c.MaxRequestBodyBytes, c.Serializer), c)
	}
	return generic, generic.Authorization.Authorizer, nil
}

// authenticate knows users by their client certificates, and lets nobody pass
// without one except to the health paths.
func authenticate(generic *genericapiserver.Config, environment *standalone.Environment) error {
	clientCA, err := dynamiccertificates.NewDynamicCAContentFromFile("client-ca", environment.ClientCAFile)
	if err != nil {
		return fmt.Errorf("could not read the client CA: %w", err)
	}
	anonymous := &apiserver.AnonymousAuthConfig{Enabled: true}
	for _, healthPath := range healthPaths() {
		anonymous.Conditions = append(anonymous.Conditions, apiserver.AnonymousAuthCondition{Path: healthPath})
	}
	factory := authenticatorfactory.DelegatingAuthenticatorConfig{Anonymous: anonymous, ClientCertificateCAContentProvider: clientCA}
	generic.Authentication.Authenticator, _, err = factory.New()
	if err != nil {
		return fmt.Errorf("could not set up authentication: %w", err)
	}
	return generic.Authentication.ApplyClientCert(clientCA, generic.SecureServing)
}

// authorize lets the loopback client do everything and anybody ask for health;
// all else is decided by the manifests.
func authorize(config CompletedConfig, environment *standalone.Environment) (authorizer.Authorizer, error) {
	health, err := path.NewAuthorizer(healthPaths())
	if err != nil {
		return nil, fmt.Errorf("could not set up authorization: %w", err)
	}
	a, err := union.New(
		union.NamedAuthorizer{AuthorizerName: "privileged-groups", Authorizer: authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup)},
		union.NamedAuthorizer{AuthorizerName: "health", Authorizer: health},
		union.NamedAuthorizer{AuthorizerName: "local-rbac", Authorizer: environment.Authorizer},
	)
	if err != nil {
		return nil, fmt.Errorf("could not set up authorization: %w", err)
	}
	if config.WrapAuthorizer != nil {
		a = config.WrapAuthorizer(a)
	}
	return a, nil
}

// withoutBodies caps the audit level at Metadata: bodies hold sensitive values,
// and nothing masks them yet.
type withoutBodies struct {
	audit.PolicyRuleEvaluator
}

func (e withoutBodies) EvaluatePolicyRule(attributes authorizer.Attributes) audit.RequestAuditConfig {
	out := e.PolicyRuleEvaluator.EvaluatePolicyRule(attributes)
	if auditinternal.LevelMetadata.Less(out.Level) {
		out.Level = auditinternal.LevelMetadata
	}
	return out
}
