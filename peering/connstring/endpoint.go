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

package connstring

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

const (
	defaultPort    = "443"
	maxHostLength  = 253 // of a host name in all, and of one label: RFC 1035
	maxLabelLength = 63
)

// IsEndpoint tells whether the text is one endpoint of the form that is described at
// the package. It says nothing about whether it may be dialled.
func IsEndpoint(endpoint string) bool {
	_, ok := addressOf(endpoint)
	return ok
}

// checkEndpoints returns ErrEndpoints unless all are well-formed and lead to
// different places.
func checkEndpoints(endpoints []string) error {
	if len(endpoints) < 1 || len(endpoints) > MaxEndpoints {
		return ErrEndpoints
	}
	seen := map[string]bool{}
	for _, endpoint := range endpoints {
		address, ok := addressOf(endpoint)
		if !ok || seen[address] {
			return ErrEndpoints
		}
		seen[address] = true
	}
	return nil
}

// addressOf returns host and port of an endpoint; false if it is not of the
// form https://HOST or https://HOST:PORT.
func addressOf(endpoint string) (address string, ok bool) {
	parsed, err := url.Parse(endpoint)
	if err != nil {
		return "", false
	}
	host, port := parsed.Hostname(), parsed.Port()
	if ip, err := netip.ParseAddr(host); err == nil {
		// An address in another spelling, or an IPv4 address in the clothes of
		// an IPv6 address, would slip through a filter of addresses.
		if ip.Zone() != "" || ip.Is4In6() || ip.String() != host {
			return "", false
		}
		if ip.Is6() {
			host = "[" + host + "]"
		}
	} else if !isHostName(host) {
		return "", false
	}
	rebuilt := "https://" + host
	if port != "" {
		if !isPort(port) {
			return "", false
		}
		rebuilt += ":" + port
	} else {
		port = defaultPort
	}
	// What is built of host and port alone is the whole endpoint: so there is no
	// other scheme, no user, path, query or fragment, not even an empty one.
	return host + ":" + port, rebuilt == endpoint
}

// isHostName tells whether the text is a lower-case DNS name. The last label may
// not be a number: resolvers take 127.1 and 0x7f000001 for addresses.
func isHostName(text string) bool {
	if len(text) > maxHostLength {
		return false
	}
	labels := strings.Split(text, ".")
	for _, label := range labels {
		if label == "" || len(label) > maxLabelLength || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			return false
		}
		if strings.ContainsFunc(label, func(r rune) bool { return !isDigit(r) && !isLower(r) && r != '-' }) {
			return false
		}
	}
	last := labels[len(labels)-1]
	if !strings.ContainsFunc(last, func(r rune) bool { return !isDigit(r) }) {
		return false
	}
	hex, prefixed := strings.CutPrefix(last, "0x")
	return !prefixed || strings.ContainsFunc(hex, func(r rune) bool { return !isHexDigit(r) })
}

// isPort tells whether the text is a port from 1 to 65535, without leading zeros.
func isPort(text string) bool {
	port, err := strconv.ParseUint(text, 10, 16)
	return err == nil && port > 0 && strconv.FormatUint(port, 10) == text
}
