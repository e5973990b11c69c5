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

package host

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// constrainedFrom is the version from which impersonation can be constrained, unless that
// was switched off.
const constrainedFrom = "v1.36.0"

// API is the host cluster's API as requests of others are carried to it.
type API struct {
	// URL is where it is, with a path if it has one.
	URL *url.URL
	// Plain carries requests, and Upgrade those that are to become something else. Both
	// add this server's credentials, and wait for an answer as long as it takes.
	Plain, Upgrade http.RoundTripper
}

// API returns how to carry requests of others to the host cluster.
func (h *Host) API() (*API, error) {
	base, _, err := rest.DefaultServerUrlFor(h.config)
	if err != nil {
		return nil, fmt.Errorf("could not tell where the host cluster is: %w", err)
	}
	api := &API{URL: base}
	config := rest.CopyConfig(h.config)
	// What a request says of who carries it is the workload's.
	config.UserAgent = ""
	if api.Plain, err = rest.TransportFor(config); err != nil {
		return nil, fmt.Errorf("could not make a transport to the host cluster: %w", err)
	}
	// HTTP/2 knows no upgrade.
	config.NextProtos = []string{"http/1.1"}
	if api.Upgrade, err = rest.TransportFor(config); err != nil {
		return nil, fmt.Errorf("could not make a transport to the host cluster: %w", err)
	}
	return api, nil
}

// Tokens makes tokens for ServiceAccounts, without a limit but each one's time-out.
func (h *Host) Tokens() corev1.ServiceAccountsGetter { return h.urgent.CoreV1() }

// Self is who this server is in the host cluster, as a binding names it. It is known once
// Await has returned.
func (h *Host) Self() rbacv1.Subject {
	if namespace, name, err := serviceaccount.SplitUsername(h.facts.username); err == nil {
		return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
	}
	return rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: h.facts.username}
}

// ConstrainsImpersonation tells, by its version, whether the host cluster can constrain
// what somebody may do as somebody else (H2). It is known once Await has returned.
func (h *Host) ConstrainsImpersonation() bool {
	version, err := utilversion.ParseGeneric(strings.TrimSpace(h.facts.version))
	return err == nil && version.AtLeast(utilversion.MustParseGeneric(constrainedFrom))
}
