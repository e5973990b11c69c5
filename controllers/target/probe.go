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
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Limits of what is found, besides those of answers.
const (
	maxVersion     = 256
	maxAPIVersions = 4096
	maxUID         = 64
	// maxAPIVersionBytes is of all their names: they go to the status of a Cluster.
	maxAPIVersionBytes = 64 << 10
)

// Found is what a probe found.
type Found struct {
	// Version is the git version, of at most 256 printable characters of ASCII.
	Version string
	// APIVersions are all valid ones that the cluster names, sorted, each once, at most
	// 4,096 of 64 KiB in all: GROUP/VERSION, or VERSION of the core.
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

// apiVersions asks for those of all groups.
func (c *Client) apiVersions(ctx context.Context) ([]string, error) {
	groups, err := c.groups(ctx, c.get)
	if err != nil {
		return nil, err
	}
	var found []string
	for group, versions := range groups {
		for _, version := range versions {
			found = append(found, schema.GroupVersion{Group: group, Version: version}.String())
		}
	}
	slices.Sort(found)
	return found, nil
}

// groups asks for the core's versions and for those of the groups, with a function that is as
// get. A server may have none of one of them, which is 404 then. It returns the valid versions
// by group, each once, that which the server prefers first.
func (c *Client) groups(ctx context.Context, get func(context.Context, string, any) (bool, error)) (map[string][]string, error) {
	type version struct {
		Version string `json:"version"`
	}
	var core struct {
		Kind     string   `json:"kind"`
		Versions []string `json:"versions"`
	}
	var list struct {
		Kind   string `json:"kind"`
		Groups []struct {
			Name      string    `json:"name"`
			Versions  []version `json:"versions"`
			Preferred version   `json:"preferredVersion"`
		} `json:"groups"`
	}
	hasCore, err := get(ctx, "api", &core)
	if err != nil {
		return nil, err
	}
	hasGroups, err := get(ctx, "apis", &list)
	if err != nil {
		return nil, err
	}
	if (!hasCore && !hasGroups) || (hasCore && core.Kind != "APIVersions") || (hasGroups && list.Kind != "APIGroupList") {
		return nil, &Failure{ReasonNotKubernetes}
	}
	found := foundGroups{groups: map[string][]string{}, seen: map[string]bool{}}
	for _, version := range core.Versions {
		found.add("", version)
	}
	for _, group := range list.Groups {
		// There may be tens of thousands, and each costs time.
		if ctx.Err() != nil {
			return nil, c.ended(ctx, ctx.Err())
		}
		if !isGroup(group.Name) {
			continue
		}
		for _, version := range append([]version{group.Preferred}, group.Versions...) {
			// That which is preferred is one of them, if it is one at all.
			if version != group.Preferred || slices.Contains(group.Versions, version) {
				found.add(group.Name, version.Version)
			}
			if found.tooMany() {
				return nil, &Failure{ReasonTooLarge}
			}
		}
	}
	if found.tooMany() {
		return nil, &Failure{ReasonTooLarge}
	}
	return found.groups, nil
}

// foundGroups are those found so far.
type foundGroups struct {
	groups map[string][]string
	seen   map[string]bool // API versions
	bytes  int             // of these
}

func (f *foundGroups) add(group, version string) {
	if !isVersion(version) {
		return
	}
	name := schema.GroupVersion{Group: group, Version: version}.String()
	if f.seen[name] {
		return
	}
	f.seen[name] = true
	f.bytes += len(name)
	f.groups[group] = append(f.groups[group], version)
}

func (f *foundGroups) tooMany() bool {
	return len(f.seen) > maxAPIVersions || f.bytes > maxAPIVersionBytes
}

// isGroup and isVersion tell what is a subdomain and what a label of DNS, as the validation of
// Kubernetes does, but make nothing of what is none: there may be tens of thousands.
func isGroup(text string) bool {
	if len(text) > validation.DNS1123SubdomainMaxLength {
		return false
	}
	for part := range strings.SplitSeq(text, ".") {
		if !isLabel(part) {
			return false
		}
	}
	return true
}

func isVersion(text string) bool {
	return len(text) <= validation.DNS1123LabelMaxLength && isLabel(text)
}

func isLabel(text string) bool {
	return text != "" && text[0] != '-' && text[len(text)-1] != '-' && !strings.ContainsFunc(text, func(r rune) bool {
		return r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}

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
	body, status, err := c.read(ctx, path)
	switch {
	case err != nil:
		return false, err
	case status == http.StatusNotFound:
		return false, nil
	case status != http.StatusOK:
		return false, &Failure{reasonOfStatus(status)}
	}
	if err := c.decode(ctx, body, answer); err != nil {
		return false, err
	}
	return true, nil
}

// read reads what is at a path of the API, if the status is 200. It fails as Probe does.
func (c *Client) read(ctx context.Context, path string) (body []byte, status int, err error) {
	request, err := http.NewRequestWithContext(quietly(ctx), http.MethodGet, c.base.JoinPath(path).String(), http.NoBody)
	if err != nil {
		return nil, 0, &Failure{ReasonConnect} // the cause quotes the URL
	}
	request.Header.Set("Accept", "application/json")
	response, err := c.discovery.Do(request)
	if err != nil {
		return nil, 0, c.ended(ctx, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, response.StatusCode, nil
	}
	if body, err = io.ReadAll(response.Body); err != nil {
		return nil, 0, c.ended(ctx, err)
	}
	return body, http.StatusOK, nil
}

// decode decodes what was read, in turn. It fails as Probe does.
func (c *Client) decode(ctx context.Context, body []byte, answer any) error {
	ctx, end := withTurn(ctx, c.gate)
	defer end()
	if turn := turnOf(ctx); turn != nil {
		if err := turn.take(ctx); err != nil {
			return c.ended(ctx, err)
		}
	}
	if json.Unmarshal(body, answer) != nil {
		// What is torn off by the end of the context may look whole.
		return c.ended(ctx, &Failure{ReasonNotKubernetes})
	}
	return nil
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
