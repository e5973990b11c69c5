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
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/util/cert"

	"entente.dev/entente/peering/pki"
)

// action is what is to be written to the Secret next. One is done at a time; the
// next one follows from what is seen then.
type action string

const (
	// nothing leaves it as it is.
	nothing action = ""
	// tidyUp writes what is sound, and nothing else.
	tidyUp action = "removed what is of no use"
	// renewLeaf has the present authority sign a leaf.
	renewLeaf action = "made a serving certificate"
	// makeNext makes an authority that signs nothing yet.
	makeNext action = "made the next authority"
	// switchOver has the next authority sign a leaf and become the present one.
	switchOver action = "made a serving certificate under the next authority"
)

// situation is everything that decisions hang on.
type situation struct {
	content content
	// faults is what else is in the Secret and is of no use.
	faults []string
	seen   sightings
	inUse  *pair
	// nextSettled tells that the next authority has been published long enough.
	nextSettled bool
	names       cert.AltNames
	policy      Policy
	now         time.Time
}

// decision is an action and the reason for it.
type decision struct {
	action  action
	reasons []string
	// rescue adds the authority of the leaf in use to the former ones: it is gone from
	// the Secret while leaves of it are served.
	rescue bool
}

func (d decision) reason() string { return strings.Join(d.reasons, "; ") }

// decide says what comes next. It only looks.
func decide(s situation) decision {
	d := decision{reasons: s.faults}
	if len(s.faults) > 0 {
		d.action = tidyUp
	}
	if s.authorityLost() {
		d.action, d.rescue = tidyUp, true
		d.reasons = append(slices.Clone(d.reasons), "the authority of the certificate in use is not in the Secret")
	}
	do := func(action action, reason string) decision {
		d.action, d.reasons = action, append(slices.Clone(d.reasons), reason)
		return d
	}
	current, next := s.content.current, s.content.next
	if next != nil && s.seen.everywhere(next.Certificate) && (s.nextSettled || s.firstLeaf()) {
		return do(switchOver, "the next authority is published")
	}
	if reason := s.leafDue(); reason != "" && current != nil && current.Key != nil {
		// A leaf under an authority that nobody trusts yet would be refused.
		if s.content.leaf != nil || s.seen.everywhere(current.Certificate) {
			return do(renewLeaf, reason)
		}
	}
	switch {
	case next != nil:
	case current == nil:
		return do(makeNext, "there is no authority")
	case current.Key == nil:
		return do(makeNext, "the authority has no key")
	case past(current.Certificate, s.policy.NextCAAfter, s.now):
		return do(makeNext, "the authority ends on "+current.Certificate.NotAfter.Format(time.RFC3339))
	}
	return d
}

// leafDue says why a leaf is to be made under the present authority, if one is.
func (s situation) leafDue() string {
	leaf := s.content.leaf
	if leaf == nil {
		return "there is no serving certificate"
	}
	if name := pki.Missing(leaf.certificate, s.names); name != "" {
		return fmt.Sprintf("the serving certificate lacks the name %s", name)
	}
	// A leaf that ends with its authority cannot be prolonged.
	if past(leaf.certificate, s.policy.RenewLeafAfter, s.now) && leaf.certificate.NotAfter.Before(s.content.current.Certificate.NotAfter) {
		return "the serving certificate ends on " + leaf.certificate.NotAfter.Format(time.RFC3339)
	}
	return ""
}

// firstLeaf tells whether no replica can have a leaf that is trusted, as at the very
// start.
func (s situation) firstLeaf() bool {
	return s.content.current == nil && len(s.content.old) == 0 && s.nothingToLose()
}

// takesLeaf tells whether the leaf in the Secret is to be served now. One of
// another authority than that of the leaf in use waits until that authority is
// published, as long as the leaf in use is good.
func (s situation) takesLeaf() bool {
	return s.content.leaf != nil &&
		(s.nothingToLose() || s.inUse.authority.Equal(s.content.current.Certificate) || s.seen.everywhere(s.content.current.Certificate))
}

// authorityLost tells whether the leaf in use stays so while the Secret no longer
// has its authority, because somebody emptied or replaced that.
func (s situation) authorityLost() bool {
	return !s.nothingToLose() && !s.takesLeaf() && !slices.ContainsFunc(s.content.trusted(), s.inUse.authority.Equal)
}

// nothingToLose tells whether nobody can trust the certificate in use anyway.
func (s situation) nothingToLose() bool { return s.inUse.provisional() || s.inUse.expired(s.now) }

// past tells whether a part of a certificate's lifetime is over. It is the
// lifetime that the certificate has, whatever the policy is now.
func past(certificate *x509.Certificate, part float64, now time.Time) bool {
	lifetime := certificate.NotAfter.Sub(certificate.NotBefore)
	return !now.Before(certificate.NotBefore.Add(share(lifetime, part)))
}
