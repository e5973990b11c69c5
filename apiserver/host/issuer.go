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
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
)

// Where a cluster says who issues the tokens of its ServiceAccounts, and by which keys
// they are recognised.
const (
	issuerPath     = "/.well-known/openid-configuration"
	issuerKeysPath = "/openid/v1/jwks"
	// maxIssuerBytes limits what is read of either.
	maxIssuerBytes = 64 << 10
)

// Issuer reads who issues the tokens of the host cluster's ServiceAccounts (P10). It
// may be asked again and again: neither is constant.
type Issuer struct {
	host *Host

	lock sync.Mutex
	said string // why there is none, as it was logged last
}

// NewIssuer returns one that has read nothing.
func (h *Host) NewIssuer() *Issuer { return &Issuer{host: h} }

// Read returns the URL of the issuer and its keys, a JSON Web Key Set. Both are empty
// if the host cluster does not serve them, or not to this server, which is logged once.
func (i *Issuer) Read(ctx context.Context) (issuerURL, jwks string, err error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	issuerURL, jwks, err = i.read(ctx)
	switch {
	case apierrors.IsNotFound(err):
		i.say(ctx, "the host cluster does not serve it: kube-apiserver's flag --service-account-issuer has to be a URL of https")
	case apierrors.IsForbidden(err):
		i.say(ctx, "this server may not read it; what is missing: kubectl create clusterrolebinding entente-apiserver-issuer-discovery --clusterrole=system:service-account-issuer-discovery "+i.host.subject())
	case err != nil:
		return "", "", fmt.Errorf("could not read who issues the ServiceAccounts' tokens: %w", err)
	default:
		i.say(ctx, "")
		return issuerURL, jwks, nil
	}
	return "", "", nil
}

func (i *Issuer) read(ctx context.Context) (issuerURL, jwks string, err error) {
	content, err := i.get(ctx, issuerPath)
	if err != nil {
		return "", "", err
	}
	var discovered struct {
		Issuer string `json:"issuer"`
	}
	if err := json.Unmarshal(content, &discovered); err != nil {
		return "", "", fmt.Errorf("%s is not the JSON that it should be", issuerPath)
	}
	if parsed, err := url.Parse(discovered.Issuer); err != nil || parsed.Scheme != "https" || parsed.Host == "" {
		return "", "", fmt.Errorf("%s names no issuer with a URL of https", issuerPath)
	}
	if content, err = i.get(ctx, issuerKeysPath); err != nil {
		return "", "", err
	}
	var keys bytes.Buffer
	if err := json.Compact(&keys, content); err != nil {
		return "", "", fmt.Errorf("%s is not JSON", issuerKeysPath)
	}
	return discovered.Issuer, keys.String(), nil
}

// get reads a path of the host cluster, but not without end.
func (i *Issuer) get(ctx context.Context, path string) ([]byte, error) {
	body, err := i.host.Client.Discovery().RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json, application/jwk-set+json").Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	content, err := io.ReadAll(io.LimitReader(body, maxIssuerBytes+1))
	if err != nil {
		return nil, fmt.Errorf("could not read %s: %w", path, err)
	}
	if len(content) > maxIssuerBytes {
		return nil, errors.New(path + " is longer than anything sensible")
	}
	return content, nil
}

// say logs why there is no issuer, unless that was the last reason too.
func (i *Issuer) say(ctx context.Context, reason string) {
	i.lock.Lock()
	defer i.lock.Unlock()
	if reason != i.said && reason != "" {
		klog.FromContext(ctx).Info("No issuer of ServiceAccounts' tokens is known: other clusters get none, and cannot let workloads of this one in", "why", reason)
	}
	i.said = reason
}
