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

package options

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/component-base/featuregate"

	"entente.dev/entente/apiserver"
)

// ClusterAuthTokenAndCert has the auth types token and clientCert of Clusters work.
const ClusterAuthTokenAndCert featuregate.Feature = "ClusterAuthTokenAndCert"

// Defaults of the flags about target clusters.
const (
	defaultClusterResync        = 10 * time.Minute
	defaultReleaseDeleteTimeout = 10 * time.Minute
)

// Clusters are the flags about target clusters, the kinds Cluster and Release.
type Clusters struct {
	apiserver.ClustersConfig

	features featuregate.MutableFeatureGate
}

func newClusters() (Clusters, error) {
	features := featuregate.NewFeatureGate()
	err := features.Add(map[featuregate.Feature]featuregate.FeatureSpec{
		ClusterAuthTokenAndCert: {Default: false, PreRelease: featuregate.Alpha},
	})
	if err != nil {
		return Clusters{}, fmt.Errorf("could not set up the feature gates: %w", err)
	}
	return Clusters{
		ClustersConfig: apiserver.ClustersConfig{Resync: defaultClusterResync, ReleaseDeleteTimeout: defaultReleaseDeleteTimeout},
		features:       features,
	}, nil
}

func (c *Clusters) addFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&c.Resync, "cluster-resync", c.Resync,
		"After what time a Cluster whose connection mode or auth type is not implemented is looked at again, and a Release is applied again, so that what is gone in its cluster comes back.")
	flags.BoolVar(&c.AllowLocalEndpoints, "cluster-allow-local-endpoints", c.AllowLocalEndpoints,
		"Allow target clusters on the loopback interface, which to a server in a pod is its own pod. Link-local addresses, such as those of cloud metadata, are never dialled. --standalone sets it.")
	flags.BoolVar(&c.AllowInsecureTLS, "cluster-allow-insecure-tls", c.AllowInsecureTLS,
		"Allow kubeconfigs of Clusters with insecure-skip-tls-verify: whoever is in between can then read the credentials.")
	flags.BoolVar(&c.AllowProxyURL, "cluster-allow-proxy-url", c.AllowProxyURL,
		"Allow kubeconfigs of Clusters with a proxy-url. The address of the proxy is checked instead of that of the cluster.")
	flags.DurationVar(&c.ReleaseDeleteTimeout, "release-delete-timeout", c.ReleaseDeleteTimeout,
		"For how long the objects of a deleted Release are tried to be deleted in their cluster. After that the Release goes, and an Event lists what is left.")
	c.features.AddFlag(flags)
}

func (c *Clusters) validate() (errs []error) {
	if c.Resync < time.Second {
		errs = append(errs, errors.New("--cluster-resync: it is to be 1s at least"))
	}
	if c.ReleaseDeleteTimeout < 0 {
		errs = append(errs, errors.New("--release-delete-timeout: it is negative"))
	}
	return errs
}

func (c *Clusters) config(standalone bool) apiserver.ClustersConfig {
	config := c.ClustersConfig
	config.AllowLocalEndpoints = config.AllowLocalEndpoints || standalone
	config.TokenAndCert = c.features.Enabled(ClusterAuthTokenAndCert)
	return config
}

// validateGroups looks at --serve-groups.
func validateGroups(groups []string) (errs []error) {
	for _, group := range groups {
		if !slices.Contains(apiserver.Groups(), group) {
			errs = append(errs, fmt.Errorf("--serve-groups: %q is not one of %s", group, strings.Join(apiserver.Groups(), " and ")))
		}
	}
	if len(groups) > 0 && !slices.Contains(groups, apiserver.Groups()[0]) {
		errs = append(errs, fmt.Errorf("--serve-groups: %s is always served, and is to be listed", apiserver.Groups()[0]))
	}
	return errs
}
