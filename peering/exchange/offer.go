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

package exchange

import (
	"errors"
	"slices"
	"time"

	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

var errCertificate = errors.New("the certificate is not one of the other cluster for our key")

// AdditiveInterval is the least time between two accepted changes of one peer that add
// something, or give back what a fault took (P11): one that flaps costs no more than that.
const AdditiveInterval = 10 * time.Second

// offer takes over an offer by its header (P10).
func (o *Outcome) offer(remote *record.Remote, said protocol.State, now time.Time) {
	held, announced := remote.Offer.OfferHeader, said.Offer
	switch {
	case announced == held:
		o.sound(remote)
		return
	case announced.Epoch < held.Epoch, announced.Epoch == held.Epoch && announced.Generation < held.Generation:
		return // it is older than what is held
	case announced.Epoch == held.Epoch && announced.Generation == held.Generation && held.Digest != "":
		// Two clusters that count alike and offer different things are one that was
		// copied.
		remote.Fault = record.ClonedPeer
		o.Changed, o.Refused = true, record.ClonedPeer
		return
	case said.OfferBody == nil:
		o.Repeat = true
		return
	case said.OfferBody.Digest() != announced.Digest:
		o.refuse(remote)
		return
	}
	o.sound(remote)
	less := Reduce(remote.Offer.Body, *said.OfferBody)
	if adds := less.Digest() != announced.Digest; adds {
		if now.Sub(remote.Additive).Abs() < AdditiveInterval {
			// What went is gone at once, what came waits.
			if less.Digest() != remote.Offer.Body.Digest() {
				remote.Offer.Body = less
				remote.KeepIssuer(said.OfferBody.Issuer)
				o.Changed = true
			}
			o.Repeat = true
			return
		}
		remote.Additive = now
	}
	remote.Offer = record.AcceptedOffer{OfferHeader: announced, Body: *said.OfferBody}
	remote.NoteIssuer(now)
	o.Changed = true
}

// refuse notes that an offer breaks the rules; one that keeps them makes up for it.
func (o *Outcome) refuse(remote *record.Remote) {
	o.Refused = record.InvalidOffer
	if remote.Fault == "" {
		remote.Fault = record.InvalidOffer
		o.Changed = true
	}
}

// sound notes that an offer keeps the rules: that one before it did not is over.
func (o *Outcome) sound(remote *record.Remote) {
	if remote.Fault == record.InvalidOffer {
		remote.Fault = ""
		o.Changed = true
	}
}

// Reduce returns what next and held have in common, in next's words where something may
// change without adding anything: the offer without what is new in next. The namespaces of
// a project are the other cluster's and decide nothing here, but are told in each of ours:
// they stay as they were, be they more or fewer in next.
func Reduce(held, next protocol.Offer) protocol.Offer {
	out := protocol.Offer{PeeringVersion: next.PeeringVersion, Alias: next.Alias}
	for _, capability := range next.Capabilities {
		i := slices.IndexFunc(held.Capabilities, func(c protocol.Capability) bool {
			return c.Name == capability.Name && c.Version == capability.Version
		})
		if i < 0 {
			continue
		}
		capability.Scope = common(held.Capabilities[i].Scope, capability.Scope)
		out.Capabilities = append(out.Capabilities, capability)
	}
	for _, project := range next.Projects {
		i := slices.IndexFunc(held.Projects, func(p protocol.Project) bool { return p.Name == project.Name })
		if i < 0 {
			continue
		}
		out.Projects = append(out.Projects, held.Projects[i])
	}
	if held.Issuer != nil && next.Issuer != nil && *held.Issuer == *next.Issuer {
		out.Issuer = next.Issuer
	}
	return out
}

func common(held, next []string) []string {
	var out []string
	for _, value := range next {
		if slices.Contains(held, value) {
			out = append(out, value)
		}
	}
	return out
}
