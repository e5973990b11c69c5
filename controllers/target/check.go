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

package target

import (
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/util/cert"
)

// Limits of what is used to identify somebody. What is larger would only cost time: that of
// RSA grows with the cube of the length.
const (
	maxURL     = 2048
	maxKeyPEM  = 16 << 10
	maxRSABits = 8192 // as crypto/tls has it for what is presented to it
)

// parseServer parses the URL of an API.
func parseServer(text, field string) (*url.URL, *Fault) {
	if text == "" {
		return nil, &Fault{field, FaultMissing}
	}
	server, ok := parseURL(text)
	if !ok || server.Scheme != "https" {
		return nil, &Fault{field, FaultServer}
	}
	return server, nil
}

// parseProxy parses the URL of a proxy. A password for it would be a secret that the
// library shows in errors.
func parseProxy(text, field string) (*url.URL, *Fault) {
	proxy, ok := parseURL(text)
	if !ok || strings.Trim(proxy.Path, "/") != "" {
		return nil, &Fault{field, FaultProxy}
	}
	switch proxy.Scheme {
	case "http", "https", "socks5":
		return proxy, nil
	default:
		return nil, &Fault{field, FaultProxy}
	}
}

// parseURL parses a URL of a scheme, a host, and perhaps a port and a path.
func parseURL(text string) (*url.URL, bool) {
	if len(text) > maxURL || strings.ContainsAny(text, "?#") {
		return nil, false
	}
	parsed, err := url.Parse(text) // the error quotes it
	if err != nil || parsed.Opaque != "" || parsed.User != nil || !isHost(parsed.Hostname()) {
		return nil, false
	}
	if port := parsed.Port(); port != "" {
		if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			return nil, false
		}
	} else if strings.HasSuffix(parsed.Host, ":") {
		return nil, false
	}
	return parsed, true
}

func isHost(text string) bool {
	if _, err := netip.ParseAddr(text); err == nil {
		return true
	}
	return len(validation.IsDNS1123Subdomain(strings.ToLower(strings.TrimSuffix(text, ".")))) == 0
}

// checkCA checks authorities in PEM, of which there may be none.
func checkCA(ca []byte, field string) *Fault {
	if len(ca) == 0 {
		return nil
	}
	certificates, err := cert.ParseCertsPEM(ca)
	if err != nil {
		return &Fault{field, FaultCA}
	}
	for _, certificate := range certificates {
		if !isUsable(certificate) {
			return &Fault{field, FaultCA}
		}
	}
	return nil
}

func isUsable(certificate *x509.Certificate) bool {
	key, ok := certificate.PublicKey.(*rsa.PublicKey)
	return !ok || key.N.BitLen() <= maxRSABits
}

// checkPair checks a client certificate with its key, in PEM, of which both or none may be
// there.
func checkPair(certificate, key []byte, field, keyField string) *Fault {
	switch {
	case len(certificate) == 0 && len(key) == 0:
		return nil
	case len(key) == 0:
		return &Fault{keyField, FaultNoKey}
	case len(certificate) == 0:
		return &Fault{field, FaultNoCert}
	}
	if len(key) > maxKeyPEM {
		return &Fault{keyField, FaultPair}
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil || pair.Leaf == nil || !isUsable(pair.Leaf) {
		return &Fault{field, FaultPair}
	}
	return nil
}

// checkedToken returns a token, which may be empty, without a line feed at its end.
func checkedToken(token, field string) (string, *Fault) {
	token = strings.TrimSuffix(strings.TrimSuffix(token, "\n"), "\r")
	for i := range len(token) {
		if token[i] <= ' ' || token[i] > '~' {
			return "", &Fault{field, FaultToken}
		}
	}
	return token, nil
}
