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
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"

	"golang.org/x/net/dns/dnsmessage"
)

// named resolves named.example, asked for from the root, to an address, and nothing else.
func named(address string) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go func() {
			defer there.Close()
			var length [2]byte
			if _, err := io.ReadFull(there, length[:]); err != nil {
				return
			}
			query := make([]byte, binary.BigEndian.Uint16(length[:]))
			if _, err := io.ReadFull(there, query); err != nil {
				return
			}
			var message dnsmessage.Message
			if message.Unpack(query) != nil || len(message.Questions) != 1 {
				return
			}
			question := message.Questions[0]
			message.Response, message.RCode, message.Additionals = true, dnsmessage.RCodeSuccess, nil
			ip, err := netip.ParseAddr(address)
			switch {
			case err != nil || question.Name.String() != "named.example.":
				message.RCode = dnsmessage.RCodeNameError
			case ip.Is4() && question.Type == dnsmessage.TypeA:
				message.Answers = []dnsmessage.Resource{{Header: header(question), Body: &dnsmessage.AResource{A: ip.As4()}}}
			case ip.Is6() && question.Type == dnsmessage.TypeAAAA:
				message.Answers = []dnsmessage.Resource{{Header: header(question), Body: &dnsmessage.AAAAResource{AAAA: ip.As16()}}}
			}
			answer, err := message.Pack()
			if err != nil {
				return
			}
			_, _ = there.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
		}()
		return here, nil
	}}
}

func header(question dnsmessage.Question) dnsmessage.ResourceHeader {
	return dnsmessage.ResourceHeader{Name: question.Name, Type: question.Type, Class: question.Class}
}
