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
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// faults are all that Parse may answer.
func faults() []error {
	return []error{
		ErrTooLong, ErrCharacter, ErrForm, ErrVersion, ErrChecksum, ErrBase64, ErrDocument, ErrTokenID, ErrToken,
		ErrEndpoints, ErrPins, ErrClusterUUID, ErrExpiry, ErrProtocol, ErrSpelling,
	}
}

// checkParse holds what is true of any input: no panic, an error of the closed
// set (R15), one spelling.
func checkParse(t *testing.T, text string) {
	parsed, err := Parse(text)
	if err != nil {
		require.Nil(t, parsed)
		require.True(t, slices.Contains(faults(), err), "an error of no known kind")
		return
	}
	again, err := parsed.Encode()
	require.NoError(t, err)
	require.Equal(t, text, again)
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "<omitted>", sample, sample + "\n", sample[:100], "entente1..", "entente2.e30.00000000", "..", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(checkParse)
}

// FuzzParseData gets past the checksum, which random changes never match.
func FuzzParseData(f *testing.F) {
	for _, seed := range []string{
		"", "null", "{}", "[]", `{"id":1}`, `{"id":"0001020304050607","id":"0001020304050607"}`,
		`{"id":"0001020304050607","token":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8","endpoints":["https://[2001:db8::7]:8443"],` +
			`"pins":["AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"],"cluster":"6f9619ff-8b86-4011-b42d-00c04fc964ff","expires":1793534400,` +
			`"protocol":{"min":1,"max":2}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data string) { checkParse(t, seal(data)) })
}

// FuzzEncode changes what is said instead of how: what Encode writes, Parse reads.
func FuzzEncode(f *testing.F) {
	f.Add("0001020304050607", "https://peering.example.com", "https://[2001:db8::7]:8443", "6f9619ff-8b86-4011-b42d-00c04fc964ff", int64(1793534400), uint16(1), uint16(2))
	f.Add("", "https://a?", "https://%61", "", int64(-1), uint16(0), uint16(0))
	f.Fuzz(func(t *testing.T, id, one, two, cluster string, expires int64, low, high uint16) {
		in := valid(t)
		in.TokenID, in.Endpoints, in.ClusterUUID = id, []string{one, two}, cluster
		in.ExpiresAt, in.Protocol = time.Unix(expires, 0), ProtocolRange{Min: low, Max: high}
		text, err := in.Encode()
		if err != nil {
			require.Empty(t, text)
			require.True(t, slices.Contains(faults(), err), "an error of no known kind")
			return
		}
		checkParse(t, text)
	})
}
