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

package clusterpeer

import (
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/record"
)

// clockSkew returns reason and message of the condition ClockSkew, nothing if it is to
// be absent.
func clockSkew(remote *record.Remote) (reason, message string) {
	switch {
	case remote == nil || remote.Skew.Abs() <= record.SaidSkew:
		return "", ""
	case remote.Skew > 0:
		return reasonClocksDiffer, "The clock of the other cluster is ahead of the one of this cluster by more than 5 minutes."
	default:
		return reasonClocksDiffer, "The clock of the other cluster is behind the one of this cluster by more than 5 minutes."
	}
}

// trustRotation returns reason and message of the condition TrustRotation, nothing if it
// is to be absent: a peering that does not work has nothing to do with a rotation.
func trustRotation(rec *record.Peer, authority *record.Authority) (reason, message string) {
	if authority == nil || !rec.Live() {
		return "", ""
	}
	knows := rec.Remote.Acked.Trust == pki.BundleDigest(authority.Trust())
	switch {
	case authority.Next != nil && knows:
		return ReasonNextPublished, "The other cluster knows the next peering CA of this cluster, which does not sign yet."
	case authority.Next != nil:
		return ReasonRotationWaits, "The other cluster has not acknowledged the next peering CA of this cluster yet."
	case len(authority.Previous) == 0:
		return "", ""
	case authority.Forced:
		return ReasonForced, "The new peering CA of this cluster signs, although not every peer had acknowledged it when the old one was about to expire."
	default:
		return ReasonOldStillTrusted, "The new peering CA of this cluster signs. The old one is trusted until no certificate hangs on it any more."
	}
}
