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
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sample is a connection string as it may stand in a ClusterPeer: that of the
// value which valid returns. It pins the format (P4).
const sample = "entente1." +
	"eyJpZCI6IjAwMDEwMjAzMDQwNTA2MDciLCJ0b2tlbiI6IkFBRUNBd1FGQmdjSUNRb0xEQTBPRHhBUkVoTVVGUllYR0JrYUd4d2RIaDgiLCJlbmRwb2ludHMi" +
	"OlsiaHR0cHM6Ly9wZWVyaW5nLmV1LmV4YW1wbGUuY29tIiwiaHR0cHM6Ly8xOTIuMC4yLjc6ODQ0MyIsImh0dHBzOi8vWzIwMDE6ZGI4Ojo3XTo4NDQzIl0s" +
	"InBpbnMiOlsiQVFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQSJdLCJjbHVzdGVyIjoiNmY5NjE5ZmYtOGI4Ni00MDExLWI0MmQt" +
	"MDBjMDRmYzk2NGZmIiwiZXhwaXJlcyI6MTc5MzUzNDQwMCwicHJvdG9jb2wiOnsibWluIjoxLCJtYXgiOjJ9fQ" +
	".12960b89"

// count is a source of bytes 0, 1, 2 and so on.
func count() *bytes.Reader {
	data := make([]byte, 256)
	for i := range data {
		data[i] = byte(i)
	}
	return bytes.NewReader(data)
}

func valid(t testing.TB) ConnectionString {
	t.Helper()
	token, err := NewToken(count())
	require.NoError(t, err)
	id, err := NewTokenID(count())
	require.NoError(t, err)
	return ConnectionString{
		TokenID:     id,
		Token:       token,
		Endpoints:   []string{"https://peering.eu.example.com", "https://192.0.2.7:8443", "https://[2001:db8::7]:8443"},
		Pins:        []Pin{{1}},
		ClusterUUID: "6f9619ff-8b86-4011-b42d-00c04fc964ff",
		ExpiresAt:   time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC),
		Protocol:    ProtocolRange{Min: 1, Max: 2},
	}
}

// seal makes a connection string of any data, with a checksum that matches.
func seal(data string) string {
	text := "entente1." + base64.RawURLEncoding.EncodeToString([]byte(data))
	return text + "." + checksum(text)
}

// edit returns the sample with its data changed.
func edit(t testing.TB, from, to string) string {
	t.Helper()
	data, err := base64.RawURLEncoding.DecodeString(strings.Split(sample, ".")[1])
	require.NoError(t, err)
	require.Contains(t, string(data), from)
	return seal(strings.Replace(string(data), from, to, 1))
}

func TestP4SampleRoundTrip(t *testing.T) {
	want := valid(t)
	text, err := want.Encode()
	require.NoError(t, err)
	assert.Equal(t, sample, text)

	got, err := Parse(sample)
	require.NoError(t, err)
	assert.True(t, got.Token.Equal(want.Token))
	got.Token, want.Token = Token{}, Token{}
	assert.True(t, assert.ObjectsAreEqual(&want, got), "all but the token")
}

func TestP4LargestFits(t *testing.T) {
	label := strings.Repeat("a", 63)
	host := strings.Join([]string{label, label, label, label[:61]}, ".")
	require.Len(t, host, 253)
	largest := valid(t)
	largest.Endpoints = nil
	for i := range MaxEndpoints {
		largest.Endpoints = append(largest.Endpoints, fmt.Sprintf("https://%s:%d", host, 60000+i))
	}
	largest.Pins = []Pin{{1}, {2}, {3}}
	largest.Protocol = ProtocolRange{Min: math.MaxUint16, Max: math.MaxUint16}
	largest.ExpiresAt = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	text, err := largest.Encode()
	require.NoError(t, err)
	assert.LessOrEqual(t, len(text), MaxLength)
	_, err = Parse(text)
	assert.NoError(t, err)
}

func TestP4EncodeCutsExpiryToSeconds(t *testing.T) {
	in := valid(t)
	in.ExpiresAt = in.ExpiresAt.Add(999 * time.Millisecond).In(time.FixedZone("elsewhere", 3600))
	text, err := in.Encode()
	require.NoError(t, err)
	assert.Equal(t, sample, text)
}

// P4: a typo is caught by the checksum before anything else. Each single wrong
// character, each lost one, each doubled one and each swapped pair.
func TestP4ChecksumCatchesTypos(t *testing.T) {
	for i := range len(sample) {
		for _, typo := range []string{
			sample[:i] + string(neighbour(sample[i])) + sample[i+1:],
			sample[:i] + sample[i+1:],
			sample[:i] + sample[i:i+1] + sample[i:],
			sample[:i] + swapped(sample[i:]),
			sample[:i],
		} {
			if typo == sample {
				continue // a pair of equal characters was swapped
			}
			_, err := Parse(typo)
			var fault Fault
			require.ErrorAs(t, err, &fault)
			assert.Contains(t, []Fault{ErrForm, ErrVersion, ErrChecksum}, fault, "position %d", i)
			if i > len("entente1.") && i < len(sample)-9 && typo != sample[:i] {
				assert.Equal(t, ErrChecksum, fault, "position %d", i)
			}
		}
	}
}

// neighbour returns another character that may stand in a connection string.
func neighbour(c byte) byte {
	if c == 'a' {
		return 'b'
	}
	return 'a'
}

func swapped(text string) string {
	if len(text) < 2 {
		return text
	}
	return text[1:2] + text[:1] + text[2:]
}

func TestP4ParseRefuses(t *testing.T) {
	flipped := sample[:20] + string(neighbour(sample[20])) + sample[21:]
	lastOfData := strings.LastIndex(sample, ".") - 1
	unpadded := sample[:lastOfData] + string(sample[lastOfData]+1)
	tests := []struct {
		name string
		text string
		want Fault
	}{
		{"nothing", "", ErrForm},
		{"placeholder", "<omitted>", ErrCharacter},
		{"word", "hello", ErrForm},
		{"too long", "entente1." + strings.Repeat("A", MaxLength) + ".00000000", ErrTooLong},
		{"line break at the end", sample + "\n", ErrCharacter},
		{"carriage return inside", sample[:30] + "\r" + sample[30:], ErrCharacter},
		{"space in front", " " + sample, ErrCharacter},
		{"NUL", sample + "\x00", ErrCharacter},
		{"not UTF-8", sample + "\xff", ErrCharacter},
		{"no-break space", sample + "\u00a0", ErrCharacter},
		{"padding", sample + "=", ErrCharacter},
		{"plus of base64", "entente1.a+b.00000000", ErrCharacter},
		{"two parts", "entente1.aaaa", ErrForm},
		{"four parts", sample + ".a", ErrForm},
		{"doubled dot", strings.Replace(sample, ".", "..", 1), ErrForm},
		{"other product", strings.Replace(sample, "entente1", "liaison1", 1), ErrForm},
		{"upper-case name", strings.Replace(sample, "entente1", "Entente1", 1), ErrForm},
		{"no number", strings.Replace(sample, "entente1", "entente", 1), ErrForm},
		{"newer format", strings.Replace(sample, "entente1", "entente2", 1), ErrVersion},
		{"leading zero in the number", strings.Replace(sample, "entente1", "entente01", 1), ErrVersion},
		{"one character changed", flipped, ErrChecksum},
		{"checksum in upper case", "entente1.e30." + strings.ToUpper(checksum("entente1.e30")), ErrChecksum},
		{"no checksum", sample[:len(sample)-8], ErrChecksum},
		{"stray bits of base64", unpadded + "." + checksum(unpadded), ErrBase64},
		{"base64 of impossible length", "entente1.aaaaa." + checksum("entente1.aaaaa"), ErrBase64},
		{"no data", seal(""), ErrDocument},
		{"not JSON", seal("hello"), ErrDocument},
		{"cut JSON", seal(`{"id":"00`), ErrDocument},
		{"array", seal("[]"), ErrDocument},
		{"text", seal(`"<omitted>"`), ErrDocument},
		{"deep nesting", seal(strings.Repeat("[", 1400)), ErrDocument},
		{"null", seal("null"), ErrTokenID},
		{"empty object", seal("{}"), ErrTokenID},
		{"trailing data", edit(t, `"max":2}}`, `"max":2}}{}`), ErrDocument},
		{"trailing space", edit(t, `"max":2}}`, `"max":2}} `), ErrSpelling},
		{"space inside", edit(t, `"min":1`, `"min": 1`), ErrSpelling},
		{"unknown field", edit(t, `{"id"`, `{"x":1,"id"`), ErrSpelling},
		{"unknown nested field", edit(t, `"min":1`, `"min":1,"x":1`), ErrSpelling},
		{"duplicate field", edit(t, `{"id"`, `{"id":"00000000000000ff","id"`), ErrSpelling},
		{"field in another case", edit(t, `"id"`, `"ID"`), ErrSpelling},
		{"other order", edit(t, `"min":1,"max":2`, `"max":2,"min":1`), ErrSpelling},
		{"escape", edit(t, `"https://192`, `"https:\/\/192`), ErrSpelling},
		{"token ID missing", edit(t, `"id":"0001020304050607",`, ``), ErrTokenID},
		{"token ID short", edit(t, `0001020304050607`, `000102030405060`), ErrTokenID},
		{"token ID in upper case", edit(t, `0001020304050607`, `000102030405060A`), ErrTokenID},
		{"token ID a number", edit(t, `"0001020304050607"`, `1`), ErrTokenID},
		{"token missing", edit(t, `"token":"AAEC`, `"tok":"AAEC`), ErrToken},
		{"token short", edit(t, `Hh8"`, `"`), ErrToken},
		{"token with padding", edit(t, `Hh8"`, `Hh8="`), ErrToken},
		{"token with stray bits", edit(t, `Hh8"`, `Hh9"`), ErrToken},
		{"token all zero", edit(t, `AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8`, strings.Repeat("A", 43)), ErrToken},
		{"token a list", edit(t, `"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"`, `[1]`), ErrToken},
		{"endpoints a text", edit(t, `["https://peering.eu.example.com","https://192.0.2.7:8443","https://[2001:db8::7]:8443"]`, `"https://a"`), ErrEndpoints},
		{"endpoint a number", edit(t, `"https://192.0.2.7:8443"`, `7`), ErrEndpoints},
		{"pins a number", edit(t, `"pins":["AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"]`, `"pins":1`), ErrPins},
		{"no pin", edit(t, `["AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"]`, `[]`), ErrPins},
		{"pin short", edit(t, `AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA`, `AQAA`), ErrPins},
		{"pin of other characters", edit(t, `AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA`, `AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA!`), ErrPins},
		{"pin all zero", edit(t, `"AQAA`, `"AAAA`), ErrPins},
		{"cluster null", edit(t, `"6f9619ff-8b86-4011-b42d-00c04fc964ff"`, `null`), ErrClusterUUID},
		{"cluster a number", edit(t, `"6f9619ff-8b86-4011-b42d-00c04fc964ff"`, `1`), ErrClusterUUID},
		{"expiry missing", edit(t, `"expires":1793534400,`, ``), ErrExpiry},
		{"expiry zero", edit(t, `1793534400`, `0`), ErrExpiry},
		{"expiry negative", edit(t, `1793534400`, `-1`), ErrExpiry},
		{"expiry a text", edit(t, `1793534400`, `"2026-11-01T12:00:00Z"`), ErrExpiry},
		{"expiry a fraction", edit(t, `1793534400`, `1.5`), ErrExpiry},
		{"expiry beyond year 9999", edit(t, `1793534400`, `253402300800`), ErrExpiry},
		{"expiry beyond 64 bits", edit(t, `1793534400`, `99999999999999999999`), ErrExpiry},
		{"expiry with an exponent", edit(t, `1793534400`, `1e9`), ErrExpiry},
		{"protocol missing", edit(t, `,"protocol":{"min":1,"max":2}`, ``), ErrProtocol},
		{"protocol from 0", edit(t, `"min":1`, `"min":0`), ErrProtocol},
		{"protocol inverted", edit(t, `"min":1`, `"min":3`), ErrProtocol},
		{"protocol negative", edit(t, `"min":1`, `"min":-1`), ErrProtocol},
		{"protocol too large", edit(t, `"max":2`, `"max":65536`), ErrProtocol},
		{"protocol a list", edit(t, `{"min":1,"max":2}`, `[1,2]`), ErrProtocol},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			parsed, err := Parse(test.text)
			assert.Nil(t, parsed)
			assert.Equal(t, test.want, err)
		})
	}
}

func TestP4Endpoints(t *testing.T) {
	long := strings.Repeat("a.", 126) + "a"
	tests := map[string]bool{
		"https://a":                          true,
		"https://peering.example.com":        true,
		"https://peering.example.com:1":      true,
		"https://xn--bcher-kva.example":      true,
		"https://1.example.com:65535":        true,
		"https://192.0.2.1":                  true,
		"https://[2001:db8::1]":              true,
		"https://[::1]:6443":                 true, // whether it is dialled is another question: P11
		"https://" + long + ":8443":          true,
		"https://" + long + "a":              false,
		"https://" + strings.Repeat("a", 64): false,
		"":                                   false,
		"peering.example.com":                false,
		"peering.example.com:443":            false,
		"//peering.example.com":              false,
		"http://peering.example.com":         false,
		"HTTPS://peering.example.com":        false,
		"https:peering.example.com":          false,
		"https://":                           false,
		"https://:443":                       false,
		"https://user@peering.example":       false,
		"https://user:pw@peering.example":    false,
		"https://@peering.example":           false,
		"https://peering.example/":           false,
		"https://peering.example/path":       false,
		"https://peering.example?":           false,
		"https://peering.example?a=b":        false,
		"https://peering.example#":           false,
		"https://peering.example#a":          false,
		"https://peering.example:":           false,
		"https://peering.example:0":          false,
		"https://peering.example:0443":       false,
		"https://peering.example:+443":       false,
		"https://peering.example:65536":      false,
		"https://peering.example:https":      false,
		"https://Peering.example":            false,
		"https://peering.example.":           false,
		"https://peering..example":           false,
		"https://-peering.example":           false,
		"https://peering-.example":           false,
		"https://peer_ing.example":           false,
		"https://peer%69ng.example":          false,
		"https://bücher.example":             false,
		"https://peering.example\u0020":      false,
		"https://peering.example\n":          false,
		"https://peering.example\x00":        false,
		"https://127.1":                      false,
		"https://2130706433":                 false,
		"https://0x7f000001":                 false,
		"https://127.0.0.0x1":                false,
		"https://0x":                         false,
		"https://192.0.2.01":                 false,
		"https://192.0.2.256":                false,
		"https://2001:db8::1":                false,
		"https://[192.0.2.1]":                false,
		"https://[2001:DB8::1]":              false,
		"https://[2001:db8:0::1]":            false,
		"https://[::ffff:192.0.2.1]":         false,
		"https://[fe80::1%25eth0]":           false,
		"https://[2001:db8::1":               false,
		"https://[peering.example]":          false,
	}
	for endpoint, want := range tests {
		t.Run(endpoint, func(t *testing.T) {
			in := valid(t)
			in.Endpoints = []string{endpoint}
			text, err := in.Encode()
			if !want {
				assert.Equal(t, ErrEndpoints, err)
				return
			}
			require.NoError(t, err)
			parsed, err := Parse(text)
			require.NoError(t, err)
			assert.Equal(t, in.Endpoints, parsed.Endpoints)
		})
	}
}

// P4: Encode issues nothing that Parse would refuse.
func TestP4EncodeRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*ConnectionString)
		want   Fault
	}{
		{"zero value", func(c *ConnectionString) { *c = ConnectionString{} }, ErrTokenID},
		{"no token ID", func(c *ConnectionString) { c.TokenID = "" }, ErrTokenID},
		{"no token", func(c *ConnectionString) { c.Token = Token{} }, ErrToken},
		{"no endpoint", func(c *ConnectionString) { c.Endpoints = nil }, ErrEndpoints},
		{"five endpoints", func(c *ConnectionString) {
			c.Endpoints = []string{"https://a", "https://b", "https://c", "https://d", "https://e"}
		}, ErrEndpoints},
		{"equal endpoints", func(c *ConnectionString) { c.Endpoints = []string{"https://a", "https://a"} }, ErrEndpoints},
		{"endpoints that differ in the default port only", func(c *ConnectionString) { c.Endpoints = []string{"https://a", "https://a:443"} }, ErrEndpoints},
		{"no pin", func(c *ConnectionString) { c.Pins = nil }, ErrPins},
		{"four pins", func(c *ConnectionString) { c.Pins = []Pin{{1}, {2}, {3}, {4}} }, ErrPins},
		{"equal pins", func(c *ConnectionString) { c.Pins = []Pin{{1}, {1}} }, ErrPins},
		{"empty pin", func(c *ConnectionString) { c.Pins = []Pin{{}} }, ErrPins},
		{"no cluster", func(c *ConnectionString) { c.ClusterUUID = "" }, ErrClusterUUID},
		{"cluster in upper case", func(c *ConnectionString) { c.ClusterUUID = strings.ToUpper(c.ClusterUUID) }, ErrClusterUUID},
		{"cluster without dashes", func(c *ConnectionString) { c.ClusterUUID = strings.ReplaceAll(c.ClusterUUID, "-", "") }, ErrClusterUUID},
		{"cluster in braces", func(c *ConnectionString) { c.ClusterUUID = "{" + c.ClusterUUID + "}" }, ErrClusterUUID},
		{"cluster with other groups", func(c *ConnectionString) { c.ClusterUUID = "6f9619f-f8b86-4011-b42d-00c04fc964ff" }, ErrClusterUUID},
		{"cluster all zero", func(c *ConnectionString) { c.ClusterUUID = "00000000-0000-0000-0000-000000000000" }, ErrClusterUUID},
		{"no expiry", func(c *ConnectionString) { c.ExpiresAt = time.Time{} }, ErrExpiry},
		{"expiry far off", func(c *ConnectionString) { c.ExpiresAt = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }, ErrExpiry},
		{"no protocol", func(c *ConnectionString) { c.Protocol = ProtocolRange{} }, ErrProtocol},
		{"protocol inverted", func(c *ConnectionString) { c.Protocol = ProtocolRange{Min: 2, Max: 1} }, ErrProtocol},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in := valid(t)
			test.change(&in)
			text, err := in.Encode()
			assert.Empty(t, text)
			assert.Equal(t, test.want, err)
		})
	}
}

func TestFaultTextNamesTheLimit(t *testing.T) {
	assert.Contains(t, ErrTooLong.Error(), fmt.Sprint(MaxLength))
	assert.Contains(t, ErrEndpoints.Error(), fmt.Sprintf("1 to %d", MaxEndpoints))
	assert.Contains(t, ErrPins.Error(), fmt.Sprintf("1 to %d", MaxPins))
}

func TestNewTokenReportsTheSource(t *testing.T) {
	broken := errors.New("no entropy")
	_, err := NewToken(iotest.ErrReader(broken))
	require.ErrorIs(t, err, broken)
	_, err = NewTokenID(iotest.ErrReader(broken))
	require.ErrorIs(t, err, broken)
	_, err = NewToken(strings.NewReader("too short"))
	require.Error(t, err)
}

func TestTokenEqual(t *testing.T) {
	one, err := NewToken(strings.NewReader(strings.Repeat("1", 32)))
	require.NoError(t, err)
	same, err := NewToken(strings.NewReader(strings.Repeat("1", 32)))
	require.NoError(t, err)
	other, err := NewToken(strings.NewReader(strings.Repeat("2", 32)))
	require.NoError(t, err)
	assert.True(t, one.Equal(same))
	assert.False(t, one.Equal(other))
	assert.False(t, one.Equal(Token{}))
	var none, noneEither Token
	assert.False(t, none.Equal(noneEither))

	revealed := one.Reveal()
	revealed[0] = 'x'
	assert.True(t, one.Equal(same), "a changed copy changed the token")
	assert.Nil(t, Token{}.Reveal())
}

// R15: neither type prints the token, whatever way it is printed.
func TestR15NothingPrintsTheToken(t *testing.T) {
	secret := strings.Repeat("canary!?", 4)
	token, err := NewToken(strings.NewReader(secret))
	require.NoError(t, err)
	whole := valid(t)
	whole.Token = token
	unchecked := whole
	unchecked.TokenID = secret
	type holder struct {
		token Token
		whole ConnectionString
	}
	needles := []string{
		secret, "canary", fmt.Sprintf("%x", secret[:4]), fmt.Sprintf("%X", secret[:4]),
		base64.RawURLEncoding.EncodeToString([]byte(secret))[:8],
		"99 97 110 97", "0x63, 0x61", // "cana" as numbers
	}
	values := []any{
		token, &token,
		[]Token{token},
		map[string]Token{"a": token},
		struct{ T Token }{token},
		whole, &whole,
		[]ConnectionString{whole},
		struct{ C *ConnectionString }{&whole},
		holder{token: token, whole: whole},
		&holder{token: token, whole: whole},
	}
	for _, value := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%b", "%c", "%U", "%p", "%T", "%t", "%e"} {
			for _, needle := range needles {
				assert.NotContains(t, fmt.Sprintf(verb, value), needle, "%s of %T", verb, value)
			}
		}
	}
	// An ID that nobody checked could be anything, so it is not printed.
	assert.Equal(t, "connection string <omitted>", fmt.Sprintf("%#v", unchecked))
	assert.Equal(t, "<omitted>", fmt.Sprint(token))
	assert.Equal(t, "connection string 0001020304050607 <omitted>", fmt.Sprintf("%+v", &whole))
	assert.Equal(t, "<omitted>", token.MarshalLog())
	assert.Equal(t, whole.String(), whole.MarshalLog())
	assert.Equal(t, whole.String(), whole.GoString())
	assert.Equal(t, "<omitted>", token.GoString())
	assert.Equal(t, "<omitted>", token.String())

	for _, value := range []any{token, &token, whole, &whole} {
		data, err := json.Marshal(value)
		require.ErrorIs(t, err, ErrNotPrinted)
		assert.Empty(t, data)
		_, err = value.(interface{ MarshalText() ([]byte, error) }).MarshalText()
		require.ErrorIs(t, err, ErrNotPrinted)
	}
}
