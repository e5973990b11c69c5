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

	"k8s.io/apimachinery/pkg/runtime"
	genericapiserver "k8s.io/apiserver/pkg/server"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/registry/sensitive"
)

// auditedResources are the resources of our API groups, whose bodies audit may show,
// masked. What is not listed is shown without bodies: Releases, in which people put Secrets.
func auditedResources() []sensitive.AuditedResource {
	return []sensitive.AuditedResource{
		{Resource: peeringv1alpha1.SchemeGroupVersion.WithResource("clusterpeers"), Kind: "ClusterPeer"},
		{Resource: peeringv1alpha1.SchemeGroupVersion.WithResource("peeringcapabilities"), Kind: "PeeringCapability"},
		{Resource: peeringv1alpha1.SchemeGroupVersion.WithResource("projectpeers"), Kind: "ProjectPeer"},
		{Resource: peeringv1alpha1.SchemeGroupVersion.WithResource("tokenexchangeproviders"), Kind: "TokenExchangeProvider"},
		{Resource: corev1alpha1.SchemeGroupVersion.WithResource("clusters"), Kind: "Cluster"},
	}
}

// maskAudit masks the events of every audit backend (R16). It goes around the backend
// that the options made, so that queues and truncation get masked events.
func maskAudit(generic *genericapiserver.Config, scheme *runtime.Scheme) error {
	if generic.AuditBackend == nil {
		return nil
	}
	masked, err := sensitive.NewAuditBackend(generic.AuditBackend, scheme, auditedResources()...)
	if err != nil {
		return fmt.Errorf("could not set up audit: %w", err)
	}
	generic.AuditBackend = masked
	return nil
}
