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

package peering

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/apiserver"
	"entente.dev/entente/apiserver/options"
	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/gateway"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/test/harness"
)

const eastUUID = "eeeeeeee-0000-4000-8000-000000000001"

// replica is what makes a server one of several of one cluster: the store, the UUID and
// the folder of keys, with the epoch in it, are shared.
func replica(t *testing.T, etcd *harness.ExternalEtcd, keys string) harness.Option {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.Symlink(keys, filepath.Join(dir, "keys")))
	return harness.Options(
		harness.InDir(dir),
		harness.WithOptions(func(o *options.Options) {
			o.Etcd.StorageConfig.Transport.ServerList = []string{etcd.Endpoint}
			o.Peering.ClusterUUID = eastUUID
		}),
		manyJoins(),
	)
}

// manyJoins lets anybody try to join as often as they like.
func manyJoins() harness.Option {
	return harness.WithConfig(func(c *apiserver.Config) {
		c.Peering.Limits = gateway.Limits{JoinsPerSource: 1e6, JoinBurstPerSource: 1e6, Joins: 1e6, JoinBurst: 1e6}
	})
}

// outcome is what came of a try to join.
type outcome struct {
	joiner *stranger
	answer protocol.JoinResponse
	err    error
}

// race has all of them try at once, and returns who was let in and who was not.
func race(t *testing.T, tries int, try func(number int) outcome) (won, lost []outcome) {
	t.Helper()
	outcomes := make([]outcome, tries)
	start := make(chan struct{})
	var running sync.WaitGroup
	for i := range outcomes {
		running.Go(func() {
			<-start
			outcomes[i] = try(i)
		})
	}
	close(start)
	running.Wait()
	for _, o := range outcomes {
		if o.err == nil {
			won = append(won, o)
		} else {
			lost = append(lost, o)
		}
	}
	return won, lost
}

// P6: of 50 clusters that use one connection string at once, on two replicas, one wins.
// The others are told nothing, and the one is confirmed by its first beat.
func TestP6OneWins(t *testing.T) {
	t.Parallel()
	etcd := harness.NewExternalEtcd(t)
	etcd.Start(t)
	keys := t.TempDir()
	require.NoError(t, os.Chmod(keys, 0o700))
	one := start(t, replica(t, etcd, keys))
	text := one.invite("west", nil)
	// Both lead, as no two replicas should for long. By now there is nothing to mint.
	two := start(t, replica(t, etcd, keys))
	endpoints := []string{"https://" + one.Server.Server.GatewayAddress(), "https://" + two.Server.Server.GatewayAddress()}

	const tries = 50
	joiners := make([]*stranger, tries)
	for i := range joiners {
		joiners[i] = newStranger(t, "")
	}
	won, lost := race(t, tries, func(i int) outcome {
		answer, err := joiners[i].join(t.Context(), text, endpoints[i%len(endpoints)])
		return outcome{joiner: joiners[i], answer: answer, err: err}
	})
	require.Len(t, won, 1)
	for _, o := range lost {
		failure := failureOf(o.err)
		require.NotNil(t, failure, "%v", o.err)
		assert.Equal(t, client.Failure{Kind: client.Refused, Reason: protocol.FailureRefused}, *failure)
	}
	winner := won[0]
	assert.Equal(t, winner.joiner.self.ClusterUUID, uuid(one.says("west", "WaitingForPeer")), "P7")
	winner.joiner.beat(t, text, winner.answer)
	for _, replica := range []*cluster{one, two} {
		peer := replica.says("west", "Active")
		assert.Equal(t, winner.joiner.self.ClusterUUID, uuid(peer))
		assert.True(t, peer.Status.Invite.Used)
	}
}

// P6: one cluster that uses two connection strings at once becomes the peer of one
// ClusterPeer. The token of the other is not used up.
func TestP6TwoInvitesAtOnce(t *testing.T) {
	t.Parallel()
	east := start(t, manyJoins())
	names := []string{"first", "second"}
	texts := []string{east.invite(names[0], nil), east.invite(names[1], nil)}
	for range 5 {
		clusterUUID := newStranger(t, "").self.ClusterUUID
		joiners := []*stranger{newStranger(t, clusterUUID), newStranger(t, clusterUUID)}
		winner := -1
		var mu sync.Mutex
		won, lost := race(t, len(joiners), func(i int) outcome {
			answer, err := joiners[i].join(t.Context(), texts[i])
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				winner = i
			}
			return outcome{joiner: joiners[i], answer: answer, err: err}
		})
		require.Len(t, won, 1)
		require.Len(t, lost, 1)
		failure := failureOf(lost[0].err)
		require.NotNil(t, failure, "%v", lost[0].err)
		assert.Equal(t, client.Failure{Kind: client.Refused, Reason: protocol.FailureDuplicatePeer}, *failure)
		loser := 1 - winner
		east.says(names[loser], "DuplicatePeer")
		assert.False(t, east.get(names[loser]).Status.Invite.Used)

		// The winner makes room, and the token that was not used up is good for it.
		east.delete(names[winner])
		east.gone(names[winner])
		answer, err := lost[0].joiner.join(t.Context(), texts[loser])
		require.NoError(t, err)
		lost[0].joiner.beat(t, texts[loser], answer)
		east.says(names[loser], "Active")
		for i, name := range names {
			if i == loser {
				east.delete(name)
				east.gone(name)
			}
			texts[i] = east.invite(name, nil)
		}
	}
}
