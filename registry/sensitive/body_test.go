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

package sensitive

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/sets"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// closing notes that a body was closed.
type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

// checked sends a body through WithApplyBodyCheck. It returns the answer, and the
// body that the handler behind it read, with the error that it met.
func checked(t *testing.T, limit int64, body io.Reader, change func(*http.Request, *genericapirequest.RequestInfo)) (answer *httptest.ResponseRecorder, reached bool, read []byte, readErr error) {
	t.Helper()
	inner := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		reached = true
		if req.Body != nil {
			read, readErr = io.ReadAll(req.Body)
			require.NoError(t, req.Body.Close())
		}
		w.WriteHeader(http.StatusTeapot)
	})
	source := &closing{Reader: body}
	req := httptest.NewRequest(http.MethodPatch, "/apis/vault.test/v1/vaults/one", source)
	req.Header.Set("Content-Type", applyPatch)
	info := &genericapirequest.RequestInfo{IsResourceRequest: true, APIGroup: "vault.test", APIVersion: "v1", Resource: "vaults"}
	if change != nil {
		change(req, info)
	}
	if info.Verb != "none" {
		req = req.WithContext(genericapirequest.WithRequestInfo(req.Context(), info))
	}
	answer = httptest.NewRecorder()
	WithApplyBodyCheck(inner, sets.New("vault.test"), limit, vaultCodecs).ServeHTTP(answer, req)
	if reached && req.Body != nil {
		assert.True(t, source.closed)
	}
	return answer, reached, read, readErr
}

const notYAML = "spec: {key: {secret: \"" + keyCanary + "\n"

// R15: an apply that is not YAML is refused before the handler reads it, without
// a word of it.
func TestR15ApplyBodyCheck(t *testing.T) {
	for name, body := range map[string]string{
		"cut off":   notYAML,
		"an anchor": "spec: *" + keyCanary,
		"a tab":     "spec:\n\tkey: " + keyCanary,
		"a map key": "? {a: " + keyCanary + "}\n: x",
	} {
		for _, contentType := range []string{applyPatch, applyPatch + "; charset=utf-8", "Application/Apply-Patch+YAML"} {
			t.Run(name+" "+contentType, func(t *testing.T) {
				answer, reached, _, _ := checked(t, 1000, strings.NewReader(body), func(req *http.Request, _ *genericapirequest.RequestInfo) {
					req.Header.Set("Content-Type", contentType)
				})
				assert.False(t, reached)
				assert.Equal(t, http.StatusBadRequest, answer.Code)
				assert.Contains(t, answer.Body.String(), `"reason":"BadRequest"`)
				assert.Contains(t, answer.Body.String(), "YAML")
				assertNoCanary(t, answer.Body.String())
			})
		}
	}
}

// R15: so are the options of a delete, in YAML.
func TestR15DeleteBodyCheck(t *testing.T) {
	options := func(contentType string) func(*http.Request, *genericapirequest.RequestInfo) {
		return func(req *http.Request, _ *genericapirequest.RequestInfo) {
			req.Method = http.MethodDelete
			req.Header.Set("Content-Type", contentType)
		}
	}
	answer, reached, _, _ := checked(t, 1000, strings.NewReader(notYAML), options("application/yaml"))
	assert.False(t, reached)
	assert.Equal(t, http.StatusBadRequest, answer.Code)
	assertNoCanary(t, answer.Body.String())
	_, reached, read, _ := checked(t, 1000, strings.NewReader("gracePeriodSeconds: 1"), options("application/yaml"))
	assert.True(t, reached)
	assert.Equal(t, "gracePeriodSeconds: 1", string(read))
	_, reached, _, _ = checked(t, 1000, strings.NewReader(notYAML), options("application/json"))
	assert.True(t, reached, "what is no JSON is not quoted")
	for contentType, body := range map[string]string{"application/yaml": "kind: " + keyCanary, "application/json": `{"kind":"` + keyCanary + `"}`, "": `{"kind":"` + keyCanary + `"}`} {
		answer, reached, _, _ = checked(t, 1000, strings.NewReader(body), options(contentType))
		assert.False(t, reached, contentType)
		assert.Equal(t, http.StatusBadRequest, answer.Code)
		assertNoCanary(t, answer.Body.String())
	}
	for _, body := range []string{`{"apiVersion":"v1","kind":"DeleteOptions"}`, `{"gracePeriodSeconds":1}`, ``} {
		_, reached, read, _ = checked(t, 1000, strings.NewReader(body), options("application/json"))
		assert.True(t, reached, body)
		assert.Equal(t, body, string(read))
	}
}

// R15: a delete whose body is something else than options is answered and logged
// without a piece of it.
func TestR15BadDeleteBodies(t *testing.T) {
	a := newAPI(t)
	a.create(t, "creator", newVault("one"))
	log := captureLogs(t)
	for name, bodies := range map[string][]badBody{
		"application/json": append([]badBody{
			{name: "the object", body: `{"apiVersion":"vault.test/v1","kind":"Vault","spec":{"key":{"secret":"CANARY"}}}`},
			{name: "a group", body: `{"apiVersion":"CANARY/v1","kind":"DeleteOptions"}`},
			{name: "a kind", body: `{"apiVersion":"v1","kind":"CANARY"}`},
			{name: "a kind of ours", body: `{"apiVersion":"vault.test/v1","kind":"CANARY"}`},
			{name: "a policy", body: `{"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":{"KEY":"CANARY"}}`},
			{name: "a period", body: `{"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":"CANARY"}`},
			{name: "preconditions", body: `{"apiVersion":"v1","kind":"DeleteOptions","preconditions":"CANARY"}`},
		}, badJSON...),
		"application/yaml": badYAML,
	} {
		for _, bad := range bodies {
			for _, path := range []string{"/one?dryRun=All", "?dryRun=All"} {
				t.Run(name+"/"+bad.name+path, func(t *testing.T) {
					log.take()
					body := strings.ReplaceAll(bad.filled(), "MANIFEST", "apiVersion: v1\nkind: DeleteOptions")
					got := a.do(t, call{user: writer, method: http.MethodDelete, path: path, contentType: name, body: body})
					assertNothingQuoted(t, got.text(t))
					assertNothingQuoted(t, log.take())
					assert.Less(t, got.code, 500, got.body)
				})
			}
		}
	}
}

// What the check lets pass, the handler reads to the last byte.
func TestApplyBodyCheckPassesOn(t *testing.T) {
	short := strings.Repeat("a: b\n", 10)
	for name, test := range map[string]struct {
		body   string
		limit  int64
		change func(*http.Request, *genericapirequest.RequestInfo)
	}{
		"YAML":                  {body: short, limit: 1000},
		"JSON":                  {body: manifest("one", keyCanary), limit: 1000},
		"nothing":               {body: "", limit: 1000},
		"as long as may be":     {body: short, limit: int64(len(short))},
		"too long by one":       {body: short, limit: int64(len(short)) - 1},
		"much too long":         {body: strings.Repeat(short, 1000), limit: 10},
		"too long, no YAML":     {body: notYAML + strings.Repeat("x", 1000), limit: 10},
		"another patch":         {notYAML, 1000, func(req *http.Request, _ *genericapirequest.RequestInfo) { req.Header.Set("Content-Type", mergePatch) }},
		"no content type":       {notYAML, 1000, func(req *http.Request, _ *genericapirequest.RequestInfo) { req.Header.Del("Content-Type") }},
		"a bad content type":    {notYAML, 1000, func(req *http.Request, _ *genericapirequest.RequestInfo) { req.Header.Set("Content-Type", "/;;") }},
		"another method":        {notYAML, 1000, func(req *http.Request, _ *genericapirequest.RequestInfo) { req.Method = http.MethodPost }},
		"another group":         {notYAML, 1000, func(_ *http.Request, info *genericapirequest.RequestInfo) { info.APIGroup = "other.test" }},
		"not about a resource":  {notYAML, 1000, func(_ *http.Request, info *genericapirequest.RequestInfo) { info.IsResourceRequest = false }},
		"without request info":  {notYAML, 1000, func(_ *http.Request, info *genericapirequest.RequestInfo) { info.Verb = "none" }},
		"a subresource of ours": {short, 1000, func(_ *http.Request, info *genericapirequest.RequestInfo) { info.Subresource = "sensitive" }},
	} {
		t.Run(name, func(t *testing.T) {
			answer, reached, read, err := checked(t, test.limit, iotest.OneByteReader(strings.NewReader(test.body)), test.change)
			assert.True(t, reached)
			assert.Equal(t, http.StatusTeapot, answer.Code)
			require.NoError(t, err)
			assert.Equal(t, test.body, string(read))
		})
	}
	t.Run("no body", func(t *testing.T) {
		_, reached, _, _ := checked(t, 1000, nil, func(req *http.Request, _ *genericapirequest.RequestInfo) { req.Body = nil })
		assert.True(t, reached)
	})
}

// An error of reading is the handler's to answer, after what could be read.
func TestApplyBodyCheckPassesErrorsOn(t *testing.T) {
	broken := errors.New("connection lost")
	for _, before := range []string{"", "a: b\n", notYAML} {
		_, reached, read, err := checked(t, 1000, io.MultiReader(strings.NewReader(before), iotest.ErrReader(broken)), nil)
		assert.True(t, reached)
		assert.ErrorIs(t, err, broken)
		assert.Equal(t, before, string(read))
	}
}

// R15: where the server takes bodies of any length, which is what a limit of 0
// means to the library, each is looked at.
func TestR15ApplyBodyCheckWithoutLimit(t *testing.T) {
	for _, limit := range []int64{0, -1} {
		answer, reached, _, _ := checked(t, limit, strings.NewReader(notYAML), nil)
		assert.False(t, reached, "limit %d", limit)
		assertNoCanary(t, answer.Body.String())
	}
}

// R15: a body past the limit is refused by the handler without its text.
func TestR15BodyPastTheLimit(t *testing.T) {
	a := newAPI(t)
	a.create(t, "creator", newVault("one"))
	big := notYAML + strings.Repeat("x", bodyLimit)
	for name, c := range map[string]call{
		"apply":  {method: http.MethodPatch, path: "/one?fieldManager=me", contentType: applyPatch},
		"merge":  {method: http.MethodPatch, path: "/one", contentType: mergePatch},
		"create": {method: http.MethodPost, contentType: "application/json"},
		"update": {method: http.MethodPut, path: "/one", contentType: "application/yaml"},
	} {
		c.user, c.body = writer, big
		got := a.do(t, c)
		assert.Equal(t, http.StatusRequestEntityTooLarge, got.code, name)
		assertNoCanary(t, got.text(t))
	}
	assert.True(t, bytes.Contains([]byte(big), []byte(keyCanary)))
}
