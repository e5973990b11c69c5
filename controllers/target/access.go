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
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"net/url"
	"strconv"
)

// Access is how to get into a cluster: where it is, how it is known, and who we are there.
// It never changes, and prints as a placeholder.
type Access struct {
	// A function, since fmt calls no method of a value in an unexported field of another, and
	// looks behind a pointer for a verb that does not fit. It shows nothing of a function.
	reveal func() *material
}

func newAccess(m *material) *Access { return &Access{func() *material { return m }} }

// material is what an Access is of. All of it has been checked.
type material struct {
	server     *url.URL
	serverName string // instead of the host of server, in its certificate
	ca         []byte // PEM; empty: the authorities of the system
	insecure   bool   // the server's certificate is not checked
	proxy      *url.URL
	// certificate and key, PEM, are both there or neither is. They or token, or all of
	// them, are there.
	certificate, key []byte
	token            string
	plain            bool // answers are not to be compressed
}

// Token returns an access with a bearer token, of which one line feed at the end is no part.
// The server is a URL https://HOST[:PORT][/PATH], ca are certificates in PEM; none: those of
// the system. It fails with a *Fault.
func Token(server string, ca, token []byte) (*Access, error) {
	m, fault := serverAccess(server, ca)
	if fault != nil {
		return nil, fault
	}
	if m.token, fault = checkedToken(string(token), fieldToken); fault != nil {
		return nil, fault
	}
	if m.token == "" {
		return nil, &Fault{fieldToken, FaultMissing}
	}
	return newAccess(m), nil
}

// ClientCertificate returns an access with a client certificate and its key, in PEM, and the
// rest as for Token. It fails with a *Fault.
func ClientCertificate(server string, ca, cert, key []byte) (*Access, error) {
	m, fault := serverAccess(server, ca)
	if fault != nil {
		return nil, fault
	}
	if len(cert) == 0 {
		return nil, &Fault{fieldCertificate, FaultMissing}
	}
	if fault := checkPair(cert, key, fieldCertificate, fieldKey); fault != nil {
		return nil, fault
	}
	m.certificate, m.key = bytes.Clone(cert), bytes.Clone(key)
	return newAccess(m), nil
}

func serverAccess(server string, ca []byte) (*material, *Fault) {
	address, fault := parseServer(server, fieldServer)
	if fault != nil {
		return nil, fault
	}
	if fault := checkCA(ca, fieldCA); fault != nil {
		return nil, fault
	}
	return &material{server: address, ca: bytes.Clone(ca)}, nil
}

// Server returns the URL of the API.
func (a *Access) Server() string { return a.reveal().server.String() }

// Fingerprint is the same for the same access only, and does not tell it.
func (a *Access) Fingerprint() [32]byte {
	m := a.reveal()
	hash := sha256.New()
	for _, part := range []string{
		m.server.String(), m.serverName, string(m.ca), strconv.FormatBool(m.insecure), m.proxyURL(),
		string(m.certificate), string(m.key), m.token, strconv.FormatBool(m.plain),
	} {
		// With its length, no part can pass for the end of another.
		hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		hash.Write([]byte(part))
	}
	return [32]byte(hash.Sum(nil))
}

func (m *material) proxyURL() string {
	if m.proxy == nil {
		return ""
	}
	return m.proxy.String()
}
