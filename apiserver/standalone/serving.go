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

package standalone

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"k8s.io/client-go/util/cert"

	"entente.dev/entente/apiserver/etcd/datadir"
	"entente.dev/entente/peering/pki"
)

// ensureServingCertificate issues the serving certificate if there is none that
// fits; the key stays the same.
func (e *Environment) ensureServingCertificate() error {
	key, err := ensureKey(e.ServingKeyFile)
	if err != nil {
		return err
	}
	names := pki.Names(append([]string{"localhost", "127.0.0.1", "::1"}, e.config.ServingHosts...)...)
	content, err := os.ReadFile(e.ServingCertFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("could not read the serving certificate: %w", err)
	}
	if err == nil && e.servingFits(content, key, names) {
		return nil
	}
	content, err = e.serverCA.issue(x509.Certificate{
		Subject:     pkix.Name{CommonName: "entente"},
		DNSNames:    names.DNSNames,
		IPAddresses: names.IPs,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, key, e.config.Clock.Now())
	if err != nil {
		return err
	}
	return datadir.WriteFile(e.ServingCertFile, content)
}

func (e *Environment) servingFits(content []byte, key *pki.Key, names cert.AltNames) bool {
	certificates, err := cert.ParseCertsPEM(content)
	if err != nil || !e.serverCA.current(certificates[0], key, e.config.Clock.Now()) {
		return false
	}
	return pki.Missing(certificates[0], names) == "" &&
		len(certificates[0].DNSNames) == len(names.DNSNames) && len(certificates[0].IPAddresses) == len(names.IPs)
}
