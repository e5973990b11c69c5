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
	"errors"
	"net/netip"
)

// ErrAddress means that the policy does not let an address be dialled.
var ErrAddress = errors.New("the address is one where no other cluster may be")

// Policy says which IP addresses may be dialled (P11). The zero Policy lets all be dialled
// but those that never lead to another cluster: loopback, link-local, unspecified,
// multicast and broadcast addresses.
type Policy struct {
	// AllowLocal opens loopback addresses.
	AllowLocal bool
	// Deny are networks that may not be dialled either.
	Deny []netip.Prefix
}

// Check returns ErrAddress if the address may not be dialled. An IPv6 address that
// carries an IPv4 address, to which a translator would lead, has to pass as both.
func (p Policy) Check(address netip.Addr) error {
	address = address.WithZone("")
	if !address.IsValid() {
		return ErrAddress
	}
	if p.denied(address) || p.forbidden(address.Unmap(), p.AllowLocal) {
		return ErrAddress
	}
	for _, carried := range carriedBy(address) {
		// Nobody needs a detour to the loopback.
		if p.forbidden(carried, false) {
			return ErrAddress
		}
	}
	return nil
}

func (p Policy) forbidden(address netip.Addr, allowLoopback bool) bool {
	return p.denied(address) || address.IsUnspecified() || address.IsMulticast() || address.IsLinkLocalUnicast() ||
		address == netip.AddrFrom4([4]byte{255, 255, 255, 255}) || (address.IsLoopback() && !allowLoopback)
}

func (p Policy) denied(address netip.Addr) bool {
	for _, network := range p.Deny {
		if network.Contains(address) || unmapped(network).Contains(address) {
			return true
		}
	}
	return false
}

// unmapped returns a network of mapped addresses as the IPv4 network that it is.
func unmapped(network netip.Prefix) netip.Prefix {
	if !network.Addr().Is4In6() || network.Bits() < 96 {
		return network
	}
	return netip.PrefixFrom(network.Addr().Unmap(), network.Bits()-96)
}
