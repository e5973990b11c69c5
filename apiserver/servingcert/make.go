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
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"slices"
	"time"

	"k8s.io/client-go/util/cert"

	"entente.dev/entente/peering/pki"
)

// carryOut does in memory what was decided.
func carryOut(d decision, s situation) (content, error) {
	c := s.content
	c.old, c.oldLeaves = slices.Clone(c.old), slices.Clone(c.oldLeaves)
	if d.rescue {
		c.addOld(s.inUse.authority, []*x509.Certificate{s.inUse.leaf}, s.now)
	}
	var err error
	switch d.action {
	case renewLeaf:
		names := s.names
		if c.leaf != nil && pki.Missing(c.leaf.certificate, names) != "" {
			// Replicas that want different names, as during an upgrade, would replace the
			// leaf in turns.
			names = join(names, c.leaf.certificate)
		}
		c.leaf, err = newLeaf(c.current, names, s.policy, s.now)
	case makeNext:
		c.next, err = newAuthority(s.policy, s.now)
	case switchOver:
		former, leaves := c.current, []*x509.Certificate{s.inUse.leaf}
		if c.leaf != nil && !c.leaf.certificate.Equal(s.inUse.leaf) {
			leaves = append(leaves, c.leaf.certificate)
		}
		c.current, c.next = c.next, nil
		if former != nil {
			c.addOld(former.Certificate, leaves, s.now)
		}
		c.leaf, err = newLeaf(c.current, s.names, s.policy, s.now)
	case nothing, tidyUp:
	}
	return c, err
}

// newAuthority makes an authority. The time in its name tells people one from the
// other.
func newAuthority(policy Policy, now time.Time) (*pki.Authority, error) {
	key, err := pki.NewKey()
	if err != nil {
		return nil, err
	}
	name := "entente serving " + now.UTC().Format(time.RFC3339)
	return pki.NewAuthority(name, key, now.Add(-backdate(policy.CALifetime)), now.Add(policy.CALifetime))
}

func newLeaf(authority *pki.Authority, names cert.AltNames, policy Policy, now time.Time) (*leaf, error) {
	key, err := pki.NewKey()
	if err != nil {
		return nil, err
	}
	certificate, err := authority.Issue(x509.Certificate{
		Subject:     pkix.Name{CommonName: "entente"},
		DNSNames:    names.DNSNames,
		IPAddresses: names.IPs,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, key.Public(), now.Add(-backdate(policy.LeafLifetime)), now.Add(policy.LeafLifetime))
	if err != nil {
		return nil, err
	}
	if !verifies(certificate, now, authority.Certificate) {
		// An authority that somebody put there may be limited to other names or uses.
		return nil, errors.New("could not use the authority in the Secret: what it signs is not valid under it")
	}
	return &leaf{certificate: certificate, key: key}, nil
}

// backdate makes up for clocks that run behind ours: by an hour, or less if the
// certificate is not valid for long.
func backdate(lifetime time.Duration) time.Duration { return min(time.Hour, lifetime/10) }

// join adds the names of a certificate.
func join(names cert.AltNames, certificate *x509.Certificate) cert.AltNames {
	var hosts []string
	hosts = append(hosts, names.DNSNames...)
	hosts = append(hosts, certificate.DNSNames...)
	for _, ip := range slices.Concat(names.IPs, certificate.IPAddresses) {
		hosts = append(hosts, ip.String())
	}
	return pki.Names(hosts...)
}
