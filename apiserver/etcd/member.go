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

package etcd

import (
	"errors"
	"fmt"
	"net/url"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

const (
	// The only member never waits for another one's heartbeat, so short ticks
	// cost nothing and bring the first election, hence readiness, forward.
	tickMillis     = 50
	electionMillis = 250

	// Raft log entries are kept in memory for followers to catch up with. There
	// are none.
	snapshotCount          = 5000
	snapshotCatchUpEntries = 100
)

// unusedPeerAddress names the member towards itself. Nothing listens there, and
// nothing ever dials it: there is one member, and it has no peer listener.
const unusedPeerAddress = "127.0.0.1:2380"

// embedConfig configures a cluster of one member that listens on nothing but
// the socket.
func embedConfig(data, socket string, quota int64, logger *zap.Logger) *embed.Config {
	client := url.URL{Scheme: "unix", Path: socket}
	peer := url.URL{Scheme: "http", Host: unusedPeerAddress}

	config := embed.NewConfig()
	config.Name = "entente"
	config.Dir = data
	config.ListenPeerUrls = nil
	config.AdvertisePeerUrls = []url.URL{peer}
	config.InitialCluster = config.Name + "=" + peer.String()
	config.ListenClientUrls = []url.URL{client}
	config.AdvertiseClientUrls = []url.URL{client}
	config.EnableGRPCGateway = false
	config.QuotaBackendBytes = quota
	config.TickMs = tickMillis
	config.ElectionMs = electionMillis
	config.SnapshotCount = snapshotCount
	config.SnapshotCatchUpEntries = snapshotCatchUpEntries
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(logger)
	return config
}

// launch starts etcd. What etcd would end the process for (a damaged log, say)
// is an error here: its fatal log entries end the goroutine that wrote them, and
// its panics are caught. What such an etcd holds open stays so until the process
// ends, which is what it wanted.
func launch(config *embed.Config, failure *failure) (*embed.Etcd, error) {
	type result struct {
		etcd *embed.Etcd
		err  error
	}
	returned := make(chan result, 1)
	go func() {
		r := result{err: errors.New("etcd gave up")}
		defer func() {
			if reason := recover(); reason != nil {
				r = result{err: fmt.Errorf("etcd panicked: %v (the data in %s may be damaged)", reason, config.Dir)}
			}
			returned <- r
		}()
		r.etcd, r.err = embed.StartEtcd(config)
	}()
	select {
	case r := <-returned:
		return r.etcd, r.err
	case <-failure.occurred():
		// The goroutine that ended may be one that StartEtcd waits for.
		return nil, fmt.Errorf("%w (the data in %s may be damaged)", failure.err(), config.Dir)
	}
}
