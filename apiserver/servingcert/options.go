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

package servingcert

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"

	"entente.dev/entente/peering/pki"
)

// DefaultSecretName is the name of the Secret unless Options says otherwise.
const DefaultSecretName = "entente-serving-cert"

// Options say what a Manager keeps, and how.
type Options struct {
	// Namespace is where the Secret and the Service are. Required.
	Namespace string
	// SecretName is the name of the Secret. Default: DefaultSecretName.
	SecretName string
	// Service is the name of the Service through which kube-aggregator reaches this
	// server. Required.
	Service string
	// APIServices are the names of the APIServices that we serve, such as
	// v1alpha1.peering.entente.dev. At least one is required.
	APIServices []string
	// Hosts are names and IP addresses for the certificate, beside those of the
	// Service and of the machine itself.
	Hosts []string
	// Policy says how long certificates are valid and when they are renewed. Fields
	// that are zero have the values of DefaultPolicy.
	Policy Policy
	// Clock is the time. Default: the real one.
	Clock clock.WithTicker
}

// Policy says how long certificates are valid and when they are renewed.
type Policy struct {
	// CALifetime is how long an authority is valid.
	CALifetime time.Duration
	// NextCAAfter is the part of its lifetime, more than 0 and less than 1, after which
	// an authority gets a successor.
	NextCAAfter float64
	// LeafLifetime is how long a serving certificate is valid. It must fit into what is
	// left of an authority that gets a successor.
	LeafLifetime time.Duration
	// RenewLeafAfter is the part of its lifetime, more than 0 and less than 1, after
	// which a serving certificate is replaced.
	RenewLeafAfter float64
	// Interval is the time between two looks at the Secret and the APIServices (up to a
	// fifth more, by chance). Several must fit between the renewal of a leaf and its end.
	Interval time.Duration
	// Settle is how long a next authority has to be published everywhere before it
	// signs: kube-apiservers follow APIServices with a delay.
	Settle time.Duration
}

// DefaultPolicy returns the values that Policy has unless they are set.
func DefaultPolicy() Policy {
	return Policy{
		CALifetime:     365 * 24 * time.Hour,
		NextCAAfter:    0.6,
		LeafLifetime:   30 * 24 * time.Hour,
		RenewLeafAfter: 2.0 / 3,
		Interval:       time.Minute,
		Settle:         time.Minute,
	}
}

// looksBeforeExpiry is how many intervals at least must fit between the renewal of
// a leaf and its end, so that a replica that misses one or two serves no expired
// leaf.
const looksBeforeExpiry = 3

// complete returns the options with what is not set filled in.
func (o Options) complete() Options {
	if o.SecretName == "" {
		o.SecretName = DefaultSecretName
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	o.APIServices = slices.Clone(o.APIServices)
	o.Hosts = slices.Clone(o.Hosts)
	defaults := DefaultPolicy()
	orDefault(&o.Policy.CALifetime, defaults.CALifetime)
	orDefault(&o.Policy.NextCAAfter, defaults.NextCAAfter)
	orDefault(&o.Policy.LeafLifetime, defaults.LeafLifetime)
	orDefault(&o.Policy.RenewLeafAfter, defaults.RenewLeafAfter)
	orDefault(&o.Policy.Interval, defaults.Interval)
	orDefault(&o.Policy.Settle, defaults.Settle)
	return o
}

func orDefault[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}

// validate looks at options that are complete.
func (o Options) validate() error {
	var errs []error
	label := func(what, value string) {
		if problems := validation.IsDNS1123Label(value); len(problems) > 0 {
			errs = append(errs, fmt.Errorf("the name %q of the %s is not a DNS label", value, what))
		}
	}
	label("namespace", o.Namespace)
	label("Service", o.Service)
	if problems := validation.IsDNS1123Subdomain(o.SecretName); len(problems) > 0 {
		errs = append(errs, fmt.Errorf("the name %q of the Secret is not a DNS name", o.SecretName))
	}
	if len(o.APIServices) == 0 {
		errs = append(errs, errors.New("no APIServices are named"))
	}
	for _, name := range o.APIServices {
		if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
			errs = append(errs, fmt.Errorf("the name %q of an APIService is not a DNS name", name))
		}
	}
	for _, host := range o.Hosts {
		if problems := validation.IsDNS1123Subdomain(host); net.ParseIP(host) == nil && len(problems) > 0 {
			errs = append(errs, fmt.Errorf("the host %q is neither a DNS name nor an IP address", host))
		}
	}
	if err := o.Policy.validate(); err != nil {
		errs = append(errs, err)
	}
	return utilerrors.NewAggregate(errs)
}

func (p Policy) validate() error {
	within := func(part float64) bool { return part > 0 && part < 1 }
	switch {
	case p.CALifetime < 0, p.LeafLifetime < 0, p.Interval < 0, p.Settle < 0:
		return errors.New("a lifetime or an interval is negative")
	case !within(p.NextCAAfter), !within(p.RenewLeafAfter):
		return errors.New("the parts of a lifetime after which certificates are renewed must be more than 0 and less than 1")
	case p.LeafLifetime > share(p.CALifetime, 1-p.NextCAAfter):
		return fmt.Errorf("a serving certificate of %s is too long for an authority that is valid for %s and gets a successor after %.0f %% of that", p.LeafLifetime, p.CALifetime, 100*p.NextCAAfter)
	case looksBeforeExpiry*p.Interval > share(p.LeafLifetime, 1-p.RenewLeafAfter):
		return fmt.Errorf("an interval of %s is too long for a serving certificate that is valid for %s and renewed after %.0f %% of that", p.Interval, p.LeafLifetime, 100*p.RenewLeafAfter)
	}
	return nil
}

// share returns a part of a duration.
func share(of time.Duration, part float64) time.Duration { return time.Duration(float64(of) * part) }

// names are what the leaf has to be good for. kube-aggregator asks for
// `<service>.<namespace>.svc`, the others are for people and for monitoring.
func (o Options) names() cert.AltNames {
	inNamespace := o.Service + "." + o.Namespace
	hosts := []string{inNamespace + ".svc", inNamespace + ".svc.cluster.local", o.Service, "localhost", "127.0.0.1", "::1"}
	return pki.Names(append(hosts, o.Hosts...)...)
}
