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
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
)

// P11: which addresses may be dialled, in whatever form they come.
func TestP11Policy(t *testing.T) {
	deny := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:bad::/48"), netip.MustParsePrefix("::ffff:198.51.100.0/120")}
	plain, open := Policy{Deny: deny}, Policy{Deny: deny, AllowLocal: true}
	for _, test := range []struct {
		address       string
		allowed, open bool
	}{
		{"192.0.2.1", true, true},
		{"192.168.1.1", true, true}, // clusters peer over private networks too
		{"100.64.0.1", true, true},
		{"2001:db8::1", true, true},
		{"fd00::1", true, true},

		{"127.0.0.1", false, true},
		{"127.255.0.1", false, true},
		{"::1", false, true},
		{"::ffff:127.0.0.1", false, true},

		{"0.0.0.0", false, false},
		{"::", false, false},
		{"::ffff:0.0.0.0", false, false},
		{"169.254.169.254", false, false},
		{"::ffff:169.254.169.254", false, false},
		{"fe80::1", false, false},
		{"fe80::1%eth0", false, false},
		{"224.0.0.1", false, false},
		{"239.1.2.3", false, false},
		{"255.255.255.255", false, false},
		{"ff02::1", false, false},
		{"ff0e::1", false, false},

		{"10.1.2.3", false, false},
		{"::ffff:10.1.2.3", false, false},
		{"2001:db8:bad::1", false, false},
		{"198.51.100.7", false, false},
		{"::ffff:198.51.100.7", false, false},
		{"198.51.101.7", true, true},

		// IPv4-compatible
		{"::127.0.0.1", false, false},
		{"::10.1.2.3", false, false},
		{"::192.0.2.1", true, true},
		// 6to4
		{"2002:7f00:1::1", false, false},
		{"2002:a01:203::", false, false},
		{"2002:a9fe:a9fe::", false, false},
		{"2002:c000:201::1", true, true},
		// NAT64
		{"64:ff9b::127.0.0.1", false, false},
		{"64:ff9b::10.1.2.3", false, false},
		{"64:ff9b::169.254.169.254", false, false},
		{"64:ff9b::0.0.0.0", false, false},
		{"64:ff9b::192.0.2.1", true, true},
		// NAT64 of one's own: prefixes of 96, 64, 56 and 48 bits
		{"64:ff9b:1::10.1.2.3", false, false},
		{"64:ff9b:1::192.0.2.1", true, true},
		{"64:ff9b:1:0:a:102:300::", false, false},
		{"64:ff9b:1:0:c0:2:100::", true, true},
		{"64:ff9b:1:a:1:203::", false, false},
		{"64:ff9b:1:c0:0:201::", true, true},
		{"64:ff9b:1:a01:2:300::", false, false},
		{"64:ff9b:1:c000:2:100::", true, true},
	} {
		address := netip.MustParseAddr(test.address)
		assert.Equal(t, test.allowed, plain.Check(address) == nil, test.address)
		assert.Equal(t, test.open, open.Check(address) == nil, "%s with AllowLocal", test.address)
	}
	assert.ErrorIs(t, plain.Check(netip.Addr{}), ErrAddress)

	// A network of all IPv6 addresses is none of IPv4 addresses, however they are dialled.
	six := Policy{Deny: []netip.Prefix{netip.MustParsePrefix("::/0")}}
	assert.NoError(t, six.Check(netip.MustParseAddr("192.0.2.1")))
	assert.Error(t, six.Check(netip.MustParseAddr("2001:db8::1")))
	// Deny is stronger than AllowLocal.
	loopback := Policy{AllowLocal: true, Deny: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	assert.Error(t, loopback.Check(netip.MustParseAddr("127.0.0.1")))
	assert.Error(t, loopback.Check(netip.MustParseAddr("::ffff:127.0.0.1")))
	assert.NoError(t, loopback.Check(netip.MustParseAddr("::1")))
}
