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

package peerprovider

import (
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

// finding is what there is to say of the provider of a ClusterPeer: reason and message of
// the condition TokenExchangeReady. The zero finding is that there is no peering, or nobody
// let in, and nothing to say.
type finding struct{ reason, message string }

func (f finding) status() metav1.ConditionStatus {
	if f.reason == peeringv1alpha1.ReasonProviderReady {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}

// isFault tells whether it makes the ClusterPeer not ready.
func (f finding) isFault() bool {
	return f.reason == peeringv1alpha1.ReasonProviderRejected || f.reason == peeringv1alpha1.ReasonForeignProvider
}

// isRefusal tells whether our own API refused something, which may end without a change of
// what is watched. Keys that are no key set are mended by an offer.
func (f finding) isRefusal() bool {
	return f.reason == peeringv1alpha1.ReasonProviderRejected && f != noKeySet()
}

// passes tells whether it is about to be over, so that it is not worth an Event.
func (f finding) passes() bool {
	return f.reason == "" || f.reason == peeringv1alpha1.ReasonProviderPending || f.reason == peeringv1alpha1.ReasonProviderDeleting
}

func awaitingIssuer() finding {
	return finding{peeringv1alpha1.ReasonAwaitingIssuer, "The other cluster has not published the issuer of its ServiceAccount tokens."}
}

func noKeySet() finding {
	return finding{peeringv1alpha1.ReasonProviderRejected, "The keys that the other cluster publishes for its ServiceAccount tokens are not a JSON Web Key Set."}
}

func rejected(name string, reason metav1.StatusReason) finding {
	if reason == metav1.StatusReasonUnknown {
		reason = "it does not say why"
	}
	return finding{peeringv1alpha1.ReasonProviderRejected, "TokenExchangeProvider " + name + " cannot be written: the API of this cluster refuses it (" + string(reason) + ")."}
}

func foreign(name string) finding {
	return finding{peeringv1alpha1.ReasonForeignProvider, "TokenExchangeProvider " + name + " was not made by Entente, and is not used. Entente makes its own when that is gone."}
}

func deleting(name string) finding {
	return finding{peeringv1alpha1.ReasonProviderDeleting, "TokenExchangeProvider " + name + " is being deleted. It is made again when it is gone."}
}

func pending(name string) finding {
	return finding{peeringv1alpha1.ReasonProviderPending, "TokenExchangeProvider " + name + " was just made or changed."}
}

// judged is for a provider that is as it is to be: what its own status says of it.
func judged(provider *peeringv1alpha1.TokenExchangeProvider) finding {
	ready := meta.FindStatusCondition(provider.Status.Conditions, peeringv1alpha1.ConditionReady)
	switch {
	case ready == nil, provider.Status.ObservedGeneration < provider.Generation, ready.ObservedGeneration < provider.Generation:
		return pending(provider.Name)
	case ready.Status == metav1.ConditionTrue:
		return finding{peeringv1alpha1.ReasonProviderReady, "The tokens of the other cluster can be verified, as TokenExchangeProvider " + provider.Name + " shows."}
	case ready.Status == metav1.ConditionFalse && passedOn(ready.Reason):
		return finding{ready.Reason, bounded(ready.Message, "TokenExchangeProvider "+provider.Name+" says no more of it.")}
	default:
		return finding{peeringv1alpha1.ReasonProviderNotReady, "TokenExchangeProvider " + provider.Name + " is not in use, and does not say why."}
	}
}

// passedOn tells whether a reason of a provider is passed on as it is.
func passedOn(reason string) bool {
	switch reason {
	case peeringv1alpha1.ReasonPrefixConflict, peeringv1alpha1.ReasonInvalidSpec, peeringv1alpha1.ReasonDiscoveryFailed, peeringv1alpha1.ReasonApplyError:
		return true
	default:
		return false
	}
}

// messageAtMost is how many characters of a message of a provider are passed on. Anybody
// with the right may have written it.
const messageAtMost = 1024

// bounded returns the printable characters of a text, and not too many, or what is said in
// its place.
func bounded(text, otherwise string) string {
	var out strings.Builder
	left := messageAtMost
	for _, r := range text {
		if left == 0 {
			break
		}
		if unicode.IsPrint(r) && r != unicode.ReplacementChar {
			out.WriteRune(r)
			left--
		}
	}
	if out.Len() == 0 {
		return otherwise
	}
	return out.String()
}
