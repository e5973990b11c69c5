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
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"entente.dev/entente/peering/connstring"
)

// Roles of a peer's client certificate (P2).
const (
	// RoleControl keeps the peering.
	RoleControl = "control"
	// RoleData carries workloads' requests.
	RoleData = "data"
)

const serialSize = 16

// PeerTemplate is all that makes up a client certificate of a peer, so that the same
// certificate can be issued once more (with another signature).
type PeerTemplate struct {
	ClusterUUID string
	Role        string
	// Serial is the serial number, from NewSerial.
	Serial      []byte
	From, Until time.Time
}

// NewSerial makes a serial number, random enough that no two certificates share one.
func NewSerial() ([]byte, error) {
	serial := make([]byte, serialSize)
	if _, err := rand.Read(serial); err != nil {
		return nil, fmt.Errorf("could not make a serial number: %w", err)
	}
	// Neither negative nor zero, and of one length.
	serial[0] = serial[0]&0x7f | 0x40
	return serial, nil
}

// IssuePeer signs a client certificate by which a peer is known here: the subject says
// which cluster it is and in which role, and it is good for nothing else.
func IssuePeer(authority *Authority, public crypto.PublicKey, peer PeerTemplate) (*x509.Certificate, error) {
	if !connstring.IsUUID(peer.ClusterUUID) || !isRole(peer.Role) {
		return nil, errors.New("could not sign a peer's certificate: it needs the UUID of a cluster and a role")
	}
	serial := new(big.Int).SetBytes(peer.Serial)
	if serial.Sign() == 0 || len(peer.Serial) > serialSize {
		return nil, errors.New("could not sign a peer's certificate: it needs a serial number")
	}
	return authority.Issue(x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: peer.ClusterUUID, OrganizationalUnit: []string{peer.Role}},
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, public, peer.From, peer.Until)
}

// PeerOf returns which cluster and which role a client certificate names; false if it is
// not of the form that IssuePeer gives it. It does not tell who signed it, nor when.
func PeerOf(certificate *x509.Certificate) (clusterUUID, role string, ok bool) {
	clientOnly := slices.Equal(certificate.ExtKeyUsage, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}) &&
		len(certificate.UnknownExtKeyUsage) == 0
	// Names counts every attribute of the subject: one of each kind, and no other.
	subject := certificate.Subject
	if certificate.IsCA || !clientOnly || len(subject.Names) != 2 || len(subject.OrganizationalUnit) != 1 {
		return "", "", false
	}
	clusterUUID, role = subject.CommonName, subject.OrganizationalUnit[0]
	if !connstring.IsUUID(clusterUUID) || !isRole(role) {
		return "", "", false
	}
	return clusterUUID, role, true
}

func isRole(role string) bool { return role == RoleControl || role == RoleData }

// SelfSigned makes the client certificate of a join (P6), which proves nothing but that
// whoever sends it has the key.
func SelfSigned(key *Key, from, until time.Time) (*x509.Certificate, error) {
	template := &x509.Certificate{
		NotBefore:             from,
		NotAfter:              until,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
	}
	certificate, err := sign(template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("could not sign a certificate by its own key: %w", err)
	}
	return certificate, nil
}

// IssueGateway signs the serving certificate of a gateway for the hosts, names or IP
// addresses, under which it is advertised (P1).
func IssueGateway(authority *Authority, public crypto.PublicKey, hosts []string, from, until time.Time) (*x509.Certificate, error) {
	if len(hosts) == 0 {
		return nil, errors.New("could not sign a gateway's certificate: it needs a host")
	}
	names := Names(hosts...)
	return authority.Issue(x509.Certificate{
		Subject:     pkix.Name{CommonName: "entente-gateway"},
		DNSNames:    names.DNSNames,
		IPAddresses: names.IPs,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, public, from, until)
}
