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
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"time"
)

// formatName is the first part; formatFamily with another number is a format of
// another version of Entente.
const (
	formatFamily = "entente"
	formatName   = formatFamily + "1"
)

// document is the JSON object in a connection string. The order of the fields is
// that of the format.
type document struct {
	TokenID     string           `json:"id"`
	Token       string           `json:"token" datapolicy:"token"`
	Endpoints   []string         `json:"endpoints"`
	Pins        []string         `json:"pins"`
	ClusterUUID string           `json:"cluster"`
	Expires     int64            `json:"expires"`
	Protocol    documentProtocol `json:"protocol"`
}

type documentProtocol struct {
	Min uint16 `json:"min"`
	Max uint16 `json:"max"`
}

// encoding is base64url without padding that refuses stray bits at the end.
func encoding() *base64.Encoding { return base64.RawURLEncoding.Strict() }

// Encode writes the connection string out: the only way to get at it as text.
// It fails with the Fault of the first part that is missing or malformed, or
// with ErrTooLong.
func (c ConnectionString) Encode() (string, error) {
	doc := document{
		TokenID:     c.TokenID,
		Token:       encoding().EncodeToString(c.Token.Reveal()),
		Endpoints:   c.Endpoints,
		ClusterUUID: c.ClusterUUID,
		Expires:     c.ExpiresAt.Unix(),
		Protocol:    documentProtocol(c.Protocol),
	}
	for _, pin := range c.Pins {
		doc.Pins = append(doc.Pins, encoding().EncodeToString(pin[:]))
	}
	if _, err := doc.check(); err != nil {
		return "", err
	}
	text, err := doc.encode()
	if err != nil {
		return "", err
	}
	if len(text) > MaxLength {
		return "", ErrTooLong
	}
	return text, nil
}

// Parse reads a connection string. Every error is a Fault, compared by
// errors.Is, that names the part which is wrong and quotes nothing.
//
// It costs little whatever it is given: the length, the characters and the
// checksum are looked at first, so that text which is no connection string, or a
// damaged one, is never decoded.
func Parse(text string) (*ConnectionString, error) {
	payload, err := unwrap(text)
	if err != nil {
		return nil, err
	}
	data, err := encoding().DecodeString(payload)
	if err != nil {
		return nil, ErrBase64
	}
	var doc document
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, decodingFault(err)
	}
	parsed, err := doc.check()
	if err != nil {
		return nil, err
	}
	// One comparison instead of a rule for each liberty that JSON leaves: unknown
	// and repeated fields, names in another case, order, white space, escapes.
	if again, err := doc.encode(); err != nil || again != text {
		return nil, ErrSpelling
	}
	return parsed, nil
}

// unwrap checks all that can be checked without decoding, and returns the data.
func unwrap(text string) (payload string, err error) {
	if len(text) > MaxLength {
		return "", ErrTooLong
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !isCharacter(r) }) {
		return "", ErrCharacter
	}
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return "", ErrForm
	}
	if parts[0] != formatName {
		if version, ours := strings.CutPrefix(parts[0], formatFamily); ours && isVersion(version) {
			return "", ErrVersion
		}
		return "", ErrForm
	}
	if parts[2] != checksum(parts[0]+"."+parts[1]) {
		return "", ErrChecksum
	}
	return parts[1], nil
}

// check turns the document into what it says, or tells the first part that is
// wrong.
func (d document) check() (*ConnectionString, error) {
	if !isTokenID(d.TokenID) {
		return nil, ErrTokenID
	}
	secret, err := encoding().DecodeString(d.Token)
	if err != nil {
		return nil, ErrToken
	}
	token, err := tokenFrom(secret)
	if err != nil {
		return nil, err
	}
	if err := checkEndpoints(d.Endpoints); err != nil {
		return nil, err
	}
	pins, err := pinsFrom(d.Pins)
	if err != nil {
		return nil, err
	}
	if !IsUUID(d.ClusterUUID) {
		return nil, ErrClusterUUID
	}
	expires := time.Unix(d.Expires, 0).UTC()
	if d.Expires <= 0 || expires.Year() > 9999 {
		return nil, ErrExpiry
	}
	if d.Protocol.Min < 1 || d.Protocol.Max < d.Protocol.Min {
		return nil, ErrProtocol
	}
	return &ConnectionString{
		TokenID:     d.TokenID,
		Token:       token,
		Endpoints:   append([]string(nil), d.Endpoints...),
		Pins:        pins,
		ClusterUUID: d.ClusterUUID,
		ExpiresAt:   expires,
		Protocol:    ProtocolRange(d.Protocol),
	}, nil
}

func (d document) encode() (string, error) {
	data, err := json.Marshal(d)
	if err != nil {
		// The cause could quote a value.
		return "", ErrDocument
	}
	text := formatName + "." + encoding().EncodeToString(data)
	return text + "." + checksum(text), nil
}

func pinsFrom(texts []string) ([]Pin, error) {
	if len(texts) < 1 || len(texts) > MaxPins {
		return nil, ErrPins
	}
	var pins []Pin
	seen := map[Pin]bool{{}: true} // all zero: a pin that nobody filled in
	for _, text := range texts {
		hash, err := encoding().DecodeString(text)
		if err != nil || len(hash) != len(Pin{}) || seen[Pin(hash)] {
			return nil, ErrPins
		}
		seen[Pin(hash)] = true
		pins = append(pins, Pin(hash))
	}
	return pins, nil
}

// decodingFault names the part whose value is of the wrong kind. The decoder's
// own words quote the input.
func decodingFault(err error) Fault {
	var wrongType *json.UnmarshalTypeError
	if !errors.As(err, &wrongType) {
		return ErrDocument
	}
	part, _, _ := strings.Cut(wrongType.Field, ".")
	switch part {
	case "id":
		return ErrTokenID
	case "token":
		return ErrToken
	case "endpoints":
		return ErrEndpoints
	case "pins":
		return ErrPins
	case "cluster":
		return ErrClusterUUID
	case "expires":
		return ErrExpiry
	case "protocol":
		return ErrProtocol
	default:
		return ErrDocument
	}
}

func checksum(text string) string {
	return fmt.Sprintf("%08x", crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli)))
}
