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

package e2e

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"entente.dev/entente/test/kube"
)

// switchedWay is an address on the loopback interface that leads to a control plane, and to
// another one after a switch.
type switchedWay struct {
	listener net.Listener

	lock  sync.Mutex
	to    string
	conns map[net.Conn]struct{}
}

func newSwitchedWay(t *testing.T, to *kube.Cluster) *switchedWay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &switchedWay{listener: listener, conns: map[net.Conn]struct{}{}}
	w.lead(t, to)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { w.carry(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		w.cut()
		all.Wait()
	})
	return w
}

// URL is how kubeconfigs name it.
func (w *switchedWay) URL() string { return "https://" + w.listener.Addr().String() }

// lead has new connections lead to a control plane, and ends those that there are.
func (w *switchedWay) lead(t *testing.T, to *kube.Cluster) {
	t.Helper()
	address, err := url.Parse(to.URL())
	require.NoError(t, err)
	w.lock.Lock()
	w.to = address.Host
	w.lock.Unlock()
	w.cut()
}

func (w *switchedWay) cut() {
	w.lock.Lock()
	defer w.lock.Unlock()
	for conn := range w.conns {
		_ = conn.Close()
	}
}

func (w *switchedWay) carry(conn net.Conn) {
	defer conn.Close()
	w.lock.Lock()
	w.conns[conn] = struct{}{}
	to := w.to
	w.lock.Unlock()
	defer func() {
		w.lock.Lock()
		defer w.lock.Unlock()
		delete(w.conns, conn)
	}()
	far, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer far.Close()
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{far, conn}, {conn, far}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			done <- struct{}{}
		}()
	}
	<-done
}
