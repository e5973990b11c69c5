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

package protocol

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func nested(open, shut string, depth int) string {
	return strings.Repeat(open, depth) + strings.Repeat(shut, depth)
}

// P11: a body is one bounded object, read in one way only.
func TestP11Read(t *testing.T) {
	const limit = 1 << 10
	for _, test := range []struct {
		name, body string
		want       error
	}{
		{"sound", `{"role":"data","csr":"AQI="}`, nil},
		{"white space", " \r\n\t{ } \n", nil},
		{"a field of a later version", `{"later":{"a":[1,{"b":null}]}}`, nil},
		{"another case", `{"ROLE":"control"}`, nil},
		{"as long as allowed", `{"a":"` + strings.Repeat("x", limit-8) + `"}`, nil},
		{"one longer", `{"a":"` + strings.Repeat("x", limit-7) + `"}`, ErrTooLarge},
		{"as deep as allowed", `{"a":` + nested("[", "]", MaxDepth-1) + `}`, nil},
		{"one deeper", `{"a":` + nested("[", "]", MaxDepth) + `}`, ErrTooDeep},
		{"objects too deep", nested(`{"a":`, "}", MaxDepth)[:5*MaxDepth] + "{}" + strings.Repeat("}", MaxDepth), ErrTooDeep},
		{"nothing", ``, ErrMalformed},
		{"null", `null`, ErrMalformed},
		{"list", `[]`, ErrMalformed},
		{"string", `"canary"`, ErrMalformed},
		{"HTML", `<html>canary</html>`, ErrMalformed},
		{"cut", `{"role":"canary`, ErrMalformed},
		{"two", `{}{}`, ErrMalformed},
		{"more", `{} canary`, ErrMalformed},
		{"no UTF-8", "{\"a\":\"\xff\"}", ErrMalformed},
		{"wrong type", `{"role":{"canary":1}}`, ErrMalformed},
		{"no base64", `{"csr":"!canary!"}`, ErrMalformed},
		{"twice", `{"role":"data","role":"control"}`, ErrDuplicate},
		{"twice, unknown", `{"later":1,"later":2}`, ErrDuplicate},
		{"twice, spelled differently", `{"role":"data","\u0072ole":"control"}`, ErrDuplicate},
		{"twice, inside", `{"later":[{"a":1,"a":2}]}`, ErrDuplicate},
		{"names as of a list", `{"later":["a","a"]}`, nil},
		{"the same name elsewhere", `{"a":{"a":1},"b":{"a":1}}`, nil},
	} {
		var message RenewRequest
		err := Read(strings.NewReader(test.body), limit, &message)
		assert.Equal(t, test.want, err, test.name)
	}

	var message RenewRequest
	require.NoError(t, Read(strings.NewReader(`{"role":"data","csr":"AQI=","ROLE":"control"}`), limit, &message))
	assert.Equal(t, RenewRequest{Role: "data", CSR: []byte{1, 2}}, message)

	assert.Equal(t, ErrIncomplete, Read(iotest.ErrReader(errors.New("canary")), limit, &message))
	assert.Equal(t, ErrIncomplete, Read(io.MultiReader(strings.NewReader("{}"), iotest.ErrReader(io.ErrUnexpectedEOF)), limit, &message))
}

// P11: no more is read than is allowed.
func TestP11ReadStops(t *testing.T) {
	endless := &counter{}
	assert.Equal(t, ErrTooLarge, Read(endless, LimitJoin, &JoinRequest{}))
	assert.LessOrEqual(t, endless.read, int64(LimitJoin+1))
}

type counter struct{ read int64 }

func (c *counter) Read(into []byte) (int, error) {
	for i := range into {
		into[i] = ' '
	}
	c.read += int64(len(into))
	return len(into), nil
}

// Numbers that fit nowhere are no zeros.
func TestP11ReadNumbers(t *testing.T) {
	for _, number := range []string{"65536", "-1", "1.5", "1e400", `"1"`} {
		assert.Equal(t, ErrMalformed, Read(strings.NewReader(`{"protocol":`+number+`}`), 100, &SyncRequest{}), number)
	}
	for _, number := range []string{"9223372036854775808", "1e400"} {
		assert.Equal(t, ErrMalformed, Read(strings.NewReader(`{"time":`+number+`}`), 100, &SyncRequest{}), number)
	}
}

// P13: a reason is one of the closed set.
func TestReadFailure(t *testing.T) {
	for body, want := range map[string]FailureReason{
		`{"reason":"Gone"}`: FailureGone, `{"reason":"canary"}`: FailureRefused, `{}`: FailureRefused, `{"reason":""}`: FailureRefused,
	} {
		reason, err := ReadFailure(strings.NewReader(body))
		require.NoError(t, err)
		assert.Equal(t, want, reason, body)
	}
	_, err := ReadFailure(strings.NewReader(`{"reason":"` + strings.Repeat("x", LimitFailure) + `"}`))
	assert.Equal(t, ErrTooLarge, err)
	for _, reason := range []FailureReason{
		FailureRefused, FailureBusy, FailureUnavailable, FailureInvalid, FailureGone, FailureSuspended, FailureUUIDMismatch,
		FailureSelfPeering, FailureDuplicatePeer, FailureClockSkew, FailureIncompatibleVersion, FailureClonedPeer,
		FailureInvalidOffer, FailureExpired,
	} {
		got, err := ReadFailure(strings.NewReader(fmt.Sprintf(`{"reason":%q}`, reason)))
		require.NoError(t, err)
		assert.Equal(t, reason, got)
	}
}
