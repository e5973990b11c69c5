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

package pki

import (
	"crypto/x509"
	"net"

	"k8s.io/client-go/util/cert"
)

// Names sorts hosts into DNS names and IP addresses, each once.
func Names(hosts ...string) cert.AltNames {
	var names cert.AltNames
	seen := map[string]bool{}
	for _, host := range hosts {
		ip := net.ParseIP(host)
		if ip != nil {
			host = ip.String()
		}
		if seen[host] {
			continue
		}
		seen[host] = true
		if ip != nil {
			names.IPs = append(names.IPs, ip)
		} else {
			names.DNSNames = append(names.DNSNames, host)
		}
	}
	return names
}

// Missing returns the first of the names that the certificate is not good for, or
// nothing.
func Missing(certificate *x509.Certificate, names cert.AltNames) string {
	for _, name := range names.DNSNames {
		if certificate.VerifyHostname(name) != nil {
			return name
		}
	}
	for _, ip := range names.IPs {
		if certificate.VerifyHostname(ip.String()) != nil {
			return ip.String()
		}
	}
	return ""
}
