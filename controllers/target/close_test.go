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
	"fmt"
	"net"
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// C3: 200 times other credentials leave nothing behind.
func TestC3Rotations(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("HTTP/2 %t", http2), func(t *testing.T) {
			var wanted atomic.Value
			wanted.Store("")
			well := api(nil)
			cluster := serve(t, entrance{http2: http2}, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer "+wanted.Load().(string) {
					fail(http.StatusUnauthorized)(w, r)
					return
				}
				well(w, r)
			})
			rotate := func(token string) {
				old, err := Token(cluster.URL, cluster.authority.pem(), []byte("old"))
				require.NoError(t, err)
				access, err := Token(cluster.URL, cluster.authority.pem(), []byte(token))
				require.NoError(t, err)
				wanted.Store(token)
				refused, err := New(old, local())
				require.NoError(t, err)
				_, err = probe(t, refused)
				requireReason(t, ReasonUnauthorized, err)
				refused.Close()
				c, err := New(access, local())
				require.NoError(t, err)
				found, err := probe(t, c)
				require.NoError(t, err)
				require.Equal(t, wellFound(), found)
				c.Close()
			}
			rotate("first")
			require.Eventually(t, func() bool { return cluster.open.Load() == 0 }, 30*time.Second, 10*time.Millisecond)
			before := runtime.NumGoroutine()
			for i := range 200 {
				rotate(fmt.Sprintf("token-%d", i))
			}
			assert.Eventually(t, func() bool { return cluster.open.Load() == 0 }, 30*time.Second, 10*time.Millisecond)
			// Not by Eventually, which has goroutines of its own.
			for deadline := time.Now().Add(30 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
				time.Sleep(10 * time.Millisecond)
			}
			assert.LessOrEqual(t, runtime.NumGoroutine(), before)
		})
	}
}

// C3: closing ends everything, at once and for ever.
func TestC3Close(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("HTTP/2 %t", http2), func(t *testing.T) {
			reached := make(chan struct{}, 1)
			cluster := serve(t, entrance{http2: http2}, api(map[string]http.HandlerFunc{"/apis": func(_ http.ResponseWriter, r *http.Request) {
				reached <- struct{}{}
				<-r.Context().Done()
			}}))
			before := goleak.IgnoreCurrent()
			c, err := New(cluster.access(t), local())
			require.NoError(t, err)
			requireSilent(t, c)
			requireSilent(t, c.MarshalLog())
			ended := make(chan error, 1)
			go func() {
				_, err := probe(t, c) // ends by itself, for another reason
				ended <- err
			}()
			<-reached
			c.Close()
			c.Close()
			requireReason(t, ReasonClosed, <-ended)
			_, err = probe(t, c)
			requireReason(t, ReasonClosed, err)
			_, err = c.Objects(configMaps(), "a").Get(t.Context(), "it")
			require.Error(t, err)
			assert.Equal(t, ReasonClosed, FailureOf(err).Reason)
			_, err = c.Mapper().KindFor(configMaps())
			require.Error(t, err)
			require.Eventually(t, func() bool { return cluster.open.Load() == 0 }, 30*time.Second, 10*time.Millisecond)
			goleak.VerifyNone(t, before)
		})
	}
	t.Run("while dialling", func(t *testing.T) {
		before := goleak.IgnoreCurrent()
		config := local()
		dialling := make(chan struct{}, 1)
		config.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			select {
			case dialling <- struct{}{}:
			default:
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		access, err := Token("https://canary.example", nil, []byte(canary))
		require.NoError(t, err)
		c, err := New(access, config)
		require.NoError(t, err)
		ended := make(chan error, 1)
		go func() {
			_, err := probe(t, c) // ends by itself, for another reason
			ended <- err
		}()
		<-dialling
		c.Close()
		requireReason(t, ReasonClosed, <-ended)
		goleak.VerifyNone(t, before)
	})
}
