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

package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"entente.dev/entente/peering/connstring"
)

// writeExample writes a ClusterPeer with a connection string that is well-formed
// and leads to no cluster.
func writeExample(folder string) (path string, err error) {
	token, err := connstring.NewToken(rand.Reader)
	if err != nil {
		return "", err
	}
	id, err := connstring.NewTokenID(rand.Reader)
	if err != nil {
		return "", err
	}
	text, err := connstring.ConnectionString{
		TokenID:     id,
		Token:       token,
		Endpoints:   []string{"https://peer.example.com:9443"},
		Pins:        []connstring.Pin{{1}},
		ClusterUUID: uuid.NewString(),
		ExpiresAt:   time.Now().Add(365 * 24 * time.Hour),
		Protocol:    connstring.ProtocolRange{Min: 1, Max: 1},
	}.Encode()
	if err != nil {
		return "", fmt.Errorf("could not write an example: %w", err)
	}
	content := fmt.Sprintf(`# The connection string is made up: it leads to no cluster.
apiVersion: peering.entente.dev/v1alpha1
kind: ClusterPeer
metadata:
  name: example
spec:
  type: Join
  join:
    connectionString: %s
`, text)
	path = filepath.Join(folder, "example.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		return "", fmt.Errorf("could not write an example: %w", err)
	}
	return path, nil
}
