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

package entrance

import (
	"net/http"
	"strings"
)

// bearer returns the one bearer token in a header. That is the only place in which a token
// is looked for: not in a query, a cookie, a trailer or the protocols of a WebSocket.
func bearer(header http.Header) (token string, ok bool) {
	// The server has brought the names of headers to one spelling.
	given := header["Authorization"]
	if len(given) != 1 {
		return "", false
	}
	scheme, token, found := strings.Cut(given[0], " ")
	return token, found && strings.EqualFold(scheme, "Bearer") && token != ""
}
