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
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	testingclock "k8s.io/utils/clock/testing"
)

const interval = 10 * time.Minute

// step lets one interval pass once the maintenance waits for it.
func step(t *testing.T, clock *testingclock.FakeClock) {
	t.Helper()
	require.Eventually(t, clock.HasWaiters, patience, 5*time.Millisecond)
	clock.Step(interval)
}

func databaseSize(t *testing.T, client *clientv3.Client) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	status, err := client.Status(ctx, client.Endpoints()[0])
	require.NoError(t, err)
	return status.DbSize
}

// Design section 3, k/k#45037: defragmentation runs by itself.
func TestDefragmentation(t *testing.T) {
	noLeaks(t)
	clock := testingclock.NewFakeClock(time.Now())
	server := startStore(t, Config{
		Dir:                 t.TempDir(),
		Clock:               clock,
		MaintenanceInterval: interval,
		DefragmentFreeBytes: 4 << 20,
	})
	client := dial(t, server)
	for i := range 16 {
		require.NoError(t, put(t, client, fmt.Sprintf("key%d", i), strings.Repeat("x", 1<<20)))
	}
	step(t, clock)
	require.NoError(t, put(t, client, "kept", "value"))
	require.Greater(t, databaseSize(t, client), int64(16<<20), "nothing is free yet, so nothing is done")

	response, err := client.Delete(t.Context(), "key", clientv3.WithPrefix())
	require.NoError(t, err)
	_, err = client.Compact(t.Context(), response.Header.Revision, clientv3.WithCompactPhysical())
	require.NoError(t, err)
	require.Greater(t, databaseSize(t, client), int64(16<<20), "compaction alone does not shrink the file")

	step(t, clock)
	require.Eventually(t, func() bool { return databaseSize(t, client) < 4<<20 }, patience, 10*time.Millisecond)
	assert.Equal(t, "value", get(t, client, "kept"))
}

// Design section 3, etcd#15001: a full store finds back to work by itself.
func TestFullStore(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	server := startStore(t, Config{
		Dir:                 t.TempDir(),
		Clock:               clock,
		MaintenanceInterval: interval,
		QuotaBackendBytes:   minQuotaBackendBytes,
	})
	client := dial(t, server)
	var err error
	for range 64 {
		if err = put(t, client, "key", strings.Repeat("x", 1<<20)); err != nil {
			break
		}
	}
	require.ErrorIs(t, err, rpctypes.ErrNoSpace)
	require.ErrorIs(t, put(t, client, "other", "value"), rpctypes.ErrNoSpace, "it stays full")

	step(t, clock)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		assert.NoError(c, put(t, client, "other", "value"))
	}, patience, 50*time.Millisecond)
	assert.Len(t, get(t, client, "key"), 1<<20, "nothing is lost")
}

// Full of what is in use: it stays refused, and says so; deleting helps.
func TestFullStoreStaysFull(t *testing.T) {
	server := startStore(t, Config{Dir: t.TempDir(), QuotaBackendBytes: minQuotaBackendBytes})
	client := dial(t, server)
	var full error
	for i := 0; i < 64 && full == nil; i++ {
		if err := put(t, client, fmt.Sprintf("key%d", i), strings.Repeat("x", 1<<20)); err != nil {
			require.ErrorIs(t, err, rpctypes.ErrNoSpace)
			full = server.reopen(testContext(t))
		}
	}
	require.ErrorContains(t, full, "the store is full")
	require.ErrorIs(t, put(t, client, "other", "value"), rpctypes.ErrNoSpace)

	_, err := client.Delete(t.Context(), "key", clientv3.WithPrefix())
	require.NoError(t, err)
	require.NoError(t, server.reopen(testContext(t)))
	require.NoError(t, put(t, client, "other", "value"))
}

// Design section 3: the quota is a metric.
func TestMetrics(t *testing.T) {
	server := startStore(t, Config{Dir: t.TempDir(), QuotaBackendBytes: 1 << 30})
	registry := metrics.NewKubeRegistry()
	require.NoError(t, server.RegisterMetrics(registry.CustomRegister))

	values := func() map[string]float64 {
		families, err := registry.Gather()
		require.NoError(t, err)
		got := map[string]float64{}
		for _, family := range families {
			got[family.GetName()] = family.GetMetric()[0].GetGauge().GetValue()
		}
		return got
	}
	got := values()
	assert.Len(t, got, 3)
	assert.Positive(t, got["entente_etcd_db_total_size_bytes"])
	assert.Positive(t, got["entente_etcd_db_in_use_bytes"])
	assert.InDelta(t, 1<<30, got["entente_etcd_quota_bytes"], 0)
	require.NoError(t, testutil.GatherAndCompare(registry, bytes.NewBufferString(`
# HELP entente_etcd_quota_bytes [ALPHA] Size of the embedded etcd's database above which writes are refused.
# TYPE entente_etcd_quota_bytes gauge
entente_etcd_quota_bytes 1.073741824e+09
`), "entente_etcd_quota_bytes"))

	require.NoError(t, server.Close())
	assert.Empty(t, values(), "a closed store has no size")

	next := startStore(t, Config{Dir: t.TempDir(), QuotaBackendBytes: 1 << 29})
	require.NoError(t, next.RegisterMetrics(registry.CustomRegister))
	assert.InDelta(t, 1<<29, values()["entente_etcd_quota_bytes"], 0, "the next server takes its place")
}
