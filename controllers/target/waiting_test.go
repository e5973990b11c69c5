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
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func probe(t *testing.T, c *Client) (Found, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return c.Probe(ctx)
}

// C3: a cluster that does not answer is waited for as long as the context lets it.
func TestC3Waiting(t *testing.T) {
	frozen := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	trickle := func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("{"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	for name, handler := range map[string]http.HandlerFunc{"frozen": frozen, "trickle": trickle} {
		for _, path := range []string{"/version", "/api", "/apis"} {
			t.Run(name+path, func(t *testing.T) {
				cluster := serve(t, entrance{}, api(map[string]http.HandlerFunc{path: handler}))
				c := open(t, cluster.access(t), local())
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				defer cancel()
				_, err := c.Probe(ctx)
				requireReason(t, ReasonTimeout, err)

				ctx, cancel = context.WithCancel(t.Context())
				time.AfterFunc(100*time.Millisecond, cancel)
				_, err = c.Probe(ctx)
				require.ErrorIs(t, err, context.Canceled)
				requireSilent(t, err)
			})
		}
	}
	t.Run("no handshake", func(t *testing.T) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer listener.Close()
		access, err := Token("https://"+listener.Addr().String(), nil, []byte(canary))
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err = open(t, access, local()).Probe(ctx)
		requireReason(t, ReasonTimeout, err)
	})
	t.Run("time-out of the client", func(t *testing.T) {
		cluster := serve(t, entrance{}, frozen)
		config := local()
		config.Timeout = 200 * time.Millisecond
		_, err := open(t, cluster.access(t), config).Probe(t.Context())
		requireReason(t, ReasonTimeout, err)
	})
}
