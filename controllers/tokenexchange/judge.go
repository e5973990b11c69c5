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

package tokenexchange

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/controllers/peerprovider"
	"entente.dev/entente/controllers/workloadtoken"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/peering/record"
)

// finding is how a provider is: reason and message of its condition Ready. The messages are
// a closed set: of what peers and people wrote they hold names of ClusterPeers, and UUIDs
// whose form was checked (P11).
type finding struct{ reason, message string }

func (f finding) status() metav1.ConditionStatus {
	if f.reason == peeringv1alpha1.ReasonInUse {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}

func invalid(message string) finding { return finding{peeringv1alpha1.ReasonInvalidSpec, message} }

// judge says how a provider is. It fails only if it cannot be told whether there is a
// ClusterPeer.
func (c *Controller) judge(provider *peeringv1alpha1.TokenExchangeProvider) (finding, error) {
	uid := peerprovider.PeerUID(provider, c.ledger.GrantKey())
	if uid == "" {
		return invalid("Entente did not make this provider, and does not use it."), nil
	}
	if !c.serves {
		return finding{peeringv1alpha1.ReasonApplyError, "No workloads of other clusters are let in: this cluster has no gateway, or no host cluster."}, nil
	}
	rec, err := c.standing(provider, uid)
	switch {
	case err != nil:
		return finding{}, err
	case rec == nil:
		return invalid("There is no peering that this provider is for."), nil
	case provider.Spec.UsernamePrefix != protocol.UserPrefix(rec.Remote.ClusterUUID):
		return c.prefixConflict(provider.Spec.UsernamePrefix, rec), nil
	}
	return c.judgeIssuer(provider.Spec.Issuer, rec), nil
}

// standing returns the record of the peering that a provider is for, nil if that does not
// stand.
func (c *Controller) standing(provider *peeringv1alpha1.TokenExchangeProvider, uid string) (*record.Peer, error) {
	name := strings.TrimPrefix(provider.Name, peeringv1alpha1.ProviderName(""))
	peer, err := c.clusterPeers.Get(name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("could not get the ClusterPeer: %w", err)
	}
	rec := c.ledger.Peer(uid)
	if string(peer.UID) != uid || peer.DeletionTimestamp != nil || !rec.GivesAccess() || !peer.Spec.Expects(rec.Remote.ClusterUUID) {
		return nil, nil
	}
	return rec, nil
}

// prefixConflict is for a prefix that is not the one of the peer: names with it are nobody's,
// or those of another peer's users.
func (c *Controller) prefixConflict(prefix string, rec *record.Peer) finding {
	message := "The prefix is not the one of the users of cluster " + rec.Remote.ClusterUUID + "."
	for _, other := range c.ledger.Peers() {
		if other.UID != rec.UID && other.Remote != nil && prefix == protocol.UserPrefix(other.Remote.ClusterUUID) {
			message = "The prefix is the one of the users of the peer of ClusterPeer " + other.Name + "."
		}
	}
	return finding{peeringv1alpha1.ReasonPrefixConflict, message}
}

// judgeIssuer says whether tokens of a peer can be verified with an issuer, and may be.
func (c *Controller) judgeIssuer(shown peeringv1alpha1.PeerIssuer, rec *record.Peer) finding {
	issuer := protocol.Issuer{URL: shown.URL, JWKS: shown.JWKS}
	if !strings.HasPrefix(issuer.URL, "https://") {
		return invalid("The URL of the issuer is not an https URL.")
	}
	if _, err := protocol.ParseJWKS(issuer.JWKS); err != nil {
		return invalid("The keys of the issuer are not a JSON Web Key Set of 1 to 16 public keys.")
	}
	if published := rec.Remote.Offer.Body.Issuer; published == nil || *published != issuer {
		return invalid("The issuer is not what the peer has published.")
	}
	if by, shared := c.claims.Shared(rec); shared {
		return invalid(c.sharedMessage(by))
	}
	// What it says may quote what the peer has published.
	switch err := c.verifier(issuer, rec.Remote.ClusterUUID); {
	case errors.Is(err, workloadtoken.ErrNoKey):
		return invalid("No key of the issuer is of a kind that signs tokens: those of RSA and ECDSA are.")
	case err != nil:
		return finding{peeringv1alpha1.ReasonApplyError, "Tokens cannot be verified with the issuer: its URL or its keys are of a kind that is not supported."}
	}
	return finding{peeringv1alpha1.ReasonInUse, "Tokens of the ServiceAccounts of cluster " + rec.Remote.ClusterUUID + " are verified with this issuer."}
}

// sharedMessage says with whom a key is shared, by the UID of its ClusterPeer.
func (c *Controller) sharedMessage(by string) string {
	other := "another peer"
	if by == "" {
		other = "this cluster"
	} else if peer := c.ledger.Peer(by); peer != nil {
		other = "the peer of ClusterPeer " + peer.Name
	}
	return "A key of the issuer is also one of " + other + ", so that its tokens could be those of either: none is accepted of this peer."
}
