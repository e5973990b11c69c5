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

package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Limits of what is found, besides those of answers.
const (
	maxVersion     = 256
	maxAPIVersions = 4096
	maxUID         = 64
)

// Found is what a probe found.
type Found struct {
	// Version is the git version, of at most 256 printable characters of ASCII.
	Version string
	// APIVersions are all valid ones that the cluster names, sorted, each once, at most
	// 4,096: GROUP/VERSION, or VERSION of the core.
	APIVersions []string
	// UID is that of the namespace kube-system. Empty: it could not be read, for whatever
	// reason, which says nothing on whether it has changed.
	UID string
}

// Probe asks what the cluster is (C3). It fails with a *Failure, or with the error of the
// context if that is cancelled. It takes as long as the context lets it.
func (c *Client) Probe(ctx context.Context) (Found, error) {
	var found Found
	var err error
	if found.Version, err = c.version(ctx); err != nil {
		return Found{}, err
	}
	if found.APIVersions, err = c.apiVersions(ctx); err != nil {
		return Found{}, err
	}
	found.UID = c.uid(ctx)
	return found, nil
}

func (c *Client) version(ctx context.Context) (string, error) {
	var answer struct {
		GitVersion string `json:"gitVersion"`
	}
	if _, err := c.get(ctx, "version", &answer); err != nil {
		return "", err
	}
	if answer.GitVersion == "" || len(answer.GitVersion) > maxVersion || strings.ContainsFunc(answer.GitVersion, isNotPrintable) {
		return "", &Failure{ReasonNotKubernetes}
	}
	return answer.GitVersion, nil
}

func isNotPrintable(r rune) bool { return r < ' ' || r > '~' }

// apiVersions asks for the core's versions and for those of the groups. A server may have
// none of one of them, which is 404 then.
func (c *Client) apiVersions(ctx context.Context) ([]string, error) {
	var core struct {
		Kind     string   `json:"kind"`
		Versions []string `json:"versions"`
	}
	var groups struct {
		Kind   string `json:"kind"`
		Groups []struct {
			Name     string `json:"name"`
			Versions []struct {
				Version string `json:"version"`
			} `json:"versions"`
		} `json:"groups"`
	}
	hasCore, err := c.get(ctx, "api", &core)
	if err != nil {
		return nil, err
	}
	hasGroups, err := c.get(ctx, "apis", &groups)
	if err != nil {
		return nil, err
	}
	if (!hasCore && !hasGroups) || (hasCore && core.Kind != "APIVersions") || (hasGroups && groups.Kind != "APIGroupList") {
		return nil, &Failure{ReasonNotKubernetes}
	}
	found := map[string]bool{}
	for _, version := range core.Versions {
		if isVersion(version) {
			found[version] = true
		}
	}
	for _, group := range groups.Groups {
		if len(validation.IsDNS1123Subdomain(group.Name)) > 0 {
			continue
		}
		for _, version := range group.Versions {
			if isVersion(version.Version) {
				found[group.Name+"/"+version.Version] = true
			}
		}
	}
	if len(found) > maxAPIVersions {
		return nil, &Failure{ReasonTooLarge}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

func isVersion(text string) bool { return len(validation.IsDNS1123Label(text)) == 0 }

func (c *Client) uid(ctx context.Context) string {
	var answer struct {
		Metadata struct {
			UID string `json:"uid"`
		} `json:"metadata"`
	}
	if _, err := c.get(ctx, "api/v1/namespaces/kube-system", &answer); err != nil {
		return ""
	}
	uid := answer.Metadata.UID
	if len(uid) > maxUID || strings.ContainsFunc(uid, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		return ""
	}
	return uid
}

// get gets what is at a path of the API; false: there is nothing. It fails as Probe does.
func (c *Client) get(ctx context.Context, path string, answer any) (found bool, err error) {
	request, err := http.NewRequestWithContext(quietly(ctx), http.MethodGet, c.base.JoinPath(path).String(), http.NoBody)
	if err != nil {
		return false, &Failure{ReasonConnect} // the cause quotes the URL
	}
	request.Header.Set("Accept", "application/json")
	response, err := c.discovery.Do(request)
	if err != nil {
		return false, c.ended(ctx, err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return false, nil
	default:
		return false, &Failure{reasonOfStatus(response.StatusCode)}
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return false, c.ended(ctx, err)
	}
	if json.Unmarshal(body, answer) != nil {
		// What is torn off by the end of the context may look whole.
		return false, c.ended(ctx, &Failure{ReasonNotKubernetes})
	}
	return true, nil
}

// ended says why there was no answer, or none that can be used.
func (c *Client) ended(ctx context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("could not wait for the cluster: %w", context.Canceled)
	case ctx.Err() != nil:
		return &Failure{ReasonTimeout} // whatever else it looks like
	case c.line.ended.Err() != nil:
		return &Failure{ReasonClosed}
	default:
		return FailureOf(err)
	}
}
