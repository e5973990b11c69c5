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

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"log" //nolint:depguard // it is what is tested
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// buffer is a log that may be read while it is written.
type buffer struct {
	lock sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.text.String()
}

// R15, P11: what a server sends unasked is in no log, as the library would have it.
func TestP11UnsolicitedBytesAreNotLogged(t *testing.T) {
	const canary = "c4n4ry"
	var logged buffer
	before := log.Writer()
	log.SetOutput(discreet{&logged})
	t.Cleanup(func() { log.SetOutput(before) })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	answered := make(chan struct{})
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
			return
		}
		_, _ = fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		<-answered
		_, _ = fmt.Fprint(conn, canary)
	}()
	client := &http.Client{Transport: &http.Transport{}}
	answer, err := client.Get("http://" + listener.Addr().String())
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	close(answered)
	require.Eventually(t, func() bool { return bytes.Contains([]byte(logged.String()), []byte("Unsolicited")) }, 30*time.Second, time.Millisecond)
	log.Print("something else")
	assert.Contains(t, logged.String(), "something else")
	assert.NotContains(t, logged.String(), canary)
}
