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
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
)

// retryInterval is the time between two attempts to reach a host cluster that is
// away when the server starts.
const retryInterval = 2 * time.Second

// facts is what a host cluster said of itself.
type facts struct {
	version  string
	serves   sets.Set[schema.GroupVersionResource]
	username string
}

// TakenError says that the host cluster serves our API groups by
// CustomResourceDefinitions.
type TakenError struct {
	// CustomResourceDefinitions are their names.
	CustomResourceDefinitions []string
}

// Error names them, and says what to do.
func (e *TakenError) Error() string {
	return fmt.Sprintf("the host cluster has CustomResourceDefinitions of a group that is served here: %s. "+
		"Their objects would seem gone, and what they own would be collected as garbage; so nothing is registered over them. "+
		"Back their objects up and delete the definitions first", strings.Join(e.CustomResourceDefinitions, ", "))
}

// Await waits until the host cluster answers, or ctx ends, and learns what it
// serves and as whom it knows this server. It fails with a *TakenError if one of
// the API groups is there by CustomResourceDefinitions.
func (h *Host) Await(ctx context.Context, groups ...string) error {
	return h.keepTrying(ctx, "the host cluster", func(ctx context.Context) (bool, error) {
		found, err := h.ask(ctx, groups)
		if taken := (*TakenError)(nil); errors.As(err, &taken) {
			return true, taken
		}
		if err != nil {
			return false, err
		}
		h.facts = found
		klog.FromContext(ctx).Info("The host cluster answers", "version", found.version, "as", found.username)
		return true, nil
	})
}

// withoutUserinfo is an address for the log.
func withoutUserinfo(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return "(not a URL)"
	}
	parsed.User = nil
	return parsed.String()
}

// Serves says whether the host cluster had a resource when the server started. It
// knows of the API groups and versions in optionalVersions only.
func (h *Host) Serves(resource schema.GroupVersionResource) bool { return h.facts.serves.Has(resource) }

// optionalVersions are those of which a host cluster may lack something, so that the
// server goes without.
func optionalVersions() []schema.GroupVersion {
	return []schema.GroupVersion{admissionregistrationv1.SchemeGroupVersion, flowcontrolv1.SchemeGroupVersion}
}

func (h *Host) ask(ctx context.Context, groups []string) (facts, error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	found := facts{serves: sets.New[schema.GroupVersionResource]()}
	var err error
	if found.version, err = h.serverVersion(ctx); err != nil {
		return facts{}, err
	}
	for _, version := range optionalVersions() {
		list, err := h.Discovery.ServerResourcesForGroupVersionWithContext(ctx, version.String())
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return facts{}, fmt.Errorf("could not discover what it serves of %s: %w", version, err)
		}
		for _, resource := range list.APIResources {
			found.serves.Insert(version.WithResource(resource.Name))
		}
	}
	if found.username, err = h.whoAmI(ctx); err != nil {
		return facts{}, err
	}
	return found, h.checkGroups(ctx, found.username, groups)
}

func (h *Host) whoAmI(ctx context.Context) (string, error) {
	review, err := h.Client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("could not ask as whom it knows this server: %w", err)
	}
	return review.Status.UserInfo.Username, nil
}

// checkGroups fails with a *TakenError if a group is there by
// CustomResourceDefinitions.
func (h *Host) checkGroups(ctx context.Context, username string, groups []string) error {
	var taken []string
	options := metav1.ListOptions{Limit: 500}
	for {
		page, err := h.metadata.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}).List(ctx, options)
		if apierrors.IsForbidden(err) {
			return fmt.Errorf("could not see whether one of the API groups is taken: user %q may not list customresourcedefinitions.apiextensions.k8s.io; the ClusterRole entente-apiserver of the deployment allows it", username)
		}
		if err != nil {
			return fmt.Errorf("could not see whether one of the API groups is taken: %w", err)
		}
		for _, definition := range page.Items {
			// The name is PLURAL.GROUP, and no plural has a dot.
			if _, group, _ := strings.Cut(definition.Name, "."); slices.Contains(groups, group) {
				taken = append(taken, definition.Name)
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			break
		}
	}
	if len(taken) > 0 {
		return &TakenError{CustomResourceDefinitions: taken}
	}
	return nil
}
