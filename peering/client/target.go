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

package client

import (
	"fmt"

	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/record"
)

// TargetOf returns a peer, as whom it certified us: by our control key or a data key. It
// fails, and quotes nothing, if that is not a key.
func TargetOf(remote *record.Remote, as *record.Credential) (Target, error) {
	key, err := pki.ParseKey(as.Key.Reveal())
	if err != nil {
		return Target{}, fmt.Errorf("could not use our key at the peer: %w", err)
	}
	return Target{Endpoints: remote.Endpoints, Trust: remote.Trust, Certificate: key.TLS(as.Certificate)}, nil
}
