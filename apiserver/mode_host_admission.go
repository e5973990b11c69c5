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
	"context"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	mutatingadmissionpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingadmissionpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"entente.dev/entente/registry/sensitive"
)

// admissionPlugins are those that run, in no order, with the resources of the host
// that they are configured by. With one of them missing their informers would never
// be in sync, and every write would wait and fail.
func admissionPlugins() map[string][]string {
	return map[string][]string{
		lifecycle.PluginName:                 nil,
		mutatingwebhook.PluginName:           {"mutatingwebhookconfigurations"},
		validatingwebhook.PluginName:         {"validatingwebhookconfigurations"},
		mutatingadmissionpolicy.PluginName:   {"mutatingadmissionpolicies", "mutatingadmissionpolicybindings"},
		validatingadmissionpolicy.PluginName: {"validatingadmissionpolicies", "validatingadmissionpolicybindings"},
	}
}

// admit puts the webhooks and policies of the host cluster around our kinds. They
// see redacted objects (R13).
func (m *hostMode) admit(ctx context.Context, generic *genericapiserver.Config) error {
	options := genericoptions.NewAdmissionOptions()
	plugins := admissionPlugins()
	for _, name := range options.Plugins.Registered() {
		resources, known := plugins[name]
		lacks := lacking(resources, m.host.Serves)
		if len(lacks) > 0 {
			klog.FromContext(ctx).Info("The host cluster lacks an API: an admission plugin is left out", "plugin", name, "lacks", lacks, "version", admissionregistrationv1.SchemeGroupVersion)
		}
		if !known || len(lacks) > 0 {
			options.DisablePlugins = append(options.DisablePlugins, name)
		}
	}
	if err := options.ApplyTo(generic, m.factory, m.host.Client, m.host.Dynamic, utilfeature.DefaultFeatureGate, generic.EffectiveVersion); err != nil {
		return fmt.Errorf("could not set up admission: %w", err)
	}
	generic.AdmissionControl = sensitive.NewAdmission(generic.AdmissionControl)
	return nil
}

// lacking returns those resources for admission that a host does not serve.
func lacking(resources []string, serves func(schema.GroupVersionResource) bool) []string {
	return slices.DeleteFunc(slices.Clone(resources), func(resource string) bool {
		return serves(admissionregistrationv1.SchemeGroupVersion.WithResource(resource))
	})
}

// onlyPoliciesFor empties policies that cannot match a resource of some groups. The
// plugins follow the parameters of every policy that has some, of whatever kind;
// for those of other groups this server has no right to, and no need.
func onlyPoliciesFor(groups ...string) cache.TransformFunc {
	concerns := func(match *admissionregistrationv1.MatchResources) bool {
		return match != nil && slices.ContainsFunc(match.ResourceRules, func(rule admissionregistrationv1.NamedRuleWithOperations) bool {
			return slices.ContainsFunc(rule.APIGroups, func(group string) bool { return group == "*" || slices.Contains(groups, group) })
		})
	}
	return func(object any) (any, error) {
		switch policy := object.(type) {
		case *admissionregistrationv1.ValidatingAdmissionPolicy:
			if !concerns(policy.Spec.MatchConstraints) {
				policy.Spec = admissionregistrationv1.ValidatingAdmissionPolicySpec{MatchConstraints: policy.Spec.MatchConstraints}
			}
		case *admissionregistrationv1.MutatingAdmissionPolicy:
			if !concerns(policy.Spec.MatchConstraints) {
				policy.Spec = admissionregistrationv1.MutatingAdmissionPolicySpec{MatchConstraints: policy.Spec.MatchConstraints}
			}
		}
		return object, nil
	}
}
