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

import "net/netip"

// carriedBy returns the IPv4 addresses that an IPv6 address carries, in any of the forms
// that some translator or tunnel unpacks. (A mapped address, ::ffff:0:0/96, is not one of
// them: the system takes it for the IPv4 address itself.)
func carriedBy(address netip.Addr) []netip.Addr {
	if !address.Is6() || address.Is4In6() {
		return nil
	}
	raw := address.As16()
	at := func(a, b, c, d int) netip.Addr { return netip.AddrFrom4([4]byte{raw[a], raw[b], raw[c], raw[d]}) }
	switch {
	case within("2002::/16", address): // 6to4, RFC 3056
		return []netip.Addr{at(2, 3, 4, 5)}
	case within("64:ff9b::/96", address): // NAT64, RFC 6052
		return []netip.Addr{at(12, 13, 14, 15)}
	case within("64:ff9b:1::/48", address): // NAT64 of one's own, RFC 8215
		// Where it stands depends on the length of the prefix, which only the translator
		// knows. An address of 0.0.0.0/8 is no address but zeros of another layout.
		var carried []netip.Addr
		for _, candidate := range []netip.Addr{at(6, 7, 9, 10), at(7, 9, 10, 11), at(9, 10, 11, 12), at(12, 13, 14, 15)} {
			if candidate.As4()[0] != 0 {
				carried = append(carried, candidate)
			}
		}
		return carried
	case within("::/96", address) && !address.IsUnspecified() && !address.IsLoopback(): // IPv4-compatible, RFC 4291
		return []netip.Addr{at(12, 13, 14, 15)}
	default:
		return nil
	}
}

func within(network string, address netip.Addr) bool {
	return netip.MustParsePrefix(network).Contains(address)
}
