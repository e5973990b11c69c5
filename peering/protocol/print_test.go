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
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/klog/v2/textlogger"
)

// R15: a join request prints without its token, and is sent with it.
func TestR15JoinRequestIsNotPrinted(t *testing.T) {
	request := sampleJoin(t)
	printed := &strings.Builder{}
	for _, value := range []any{request, &request, []JoinRequest{request}, struct{ Request JoinRequest }{request}, map[string]*JoinRequest{"a": &request}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
			fmt.Fprintf(printed, verb, value)
		}
	}
	logged := &bytes.Buffer{}
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(logged)))
	logger.Info("test", "request", request, "pointer", &request)
	assert.Contains(t, logged.String(), "omitted")
	for _, text := range []string{printed.String(), logged.String()} {
		assert.NotContains(t, strings.ToLower(text), hex.EncodeToString(sampleToken()))
		assert.NotContains(t, text, base64.StdEncoding.EncodeToString(sampleToken()))
		assert.NotContains(t, text, "165 165")
		assert.NotContains(t, text, "0xa5")
	}
	assert.Equal(t, joinRequestText, request.String())
	assert.Equal(t, joinRequestText, request.GoString())
	assert.Equal(t, joinRequestText, request.MarshalLog())
	assert.Contains(t, encode(t, request), base64.StdEncoding.EncodeToString(sampleToken()))
}
