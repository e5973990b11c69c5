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

// Package bench measures the server's binary from outside: what it costs to run
// it, and what redaction costs beside the same request without it. Nothing here
// fails for being slow; `make bench` prints the figures.
package bench

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/test/harness"
)

const (
	path = "/apis/peering.entente.dev/v1alpha1/clusterpeers"

	// listed is how many objects the list has.
	listed = 5000
	// watchers is how many watches are open.
	watchers = 1000
	// pairs is the least number of paired runs for a ratio.
	pairs = 15
)

// BenchmarkStart measures the time from the start of the process to ready, on an
// empty folder. Wanted: at most 2 s.
func BenchmarkStart(b *testing.B) {
	harness.Binary(b)
	var times []time.Duration
	for range max(b.N, 5) {
		dir := filepath.Join(b.TempDir(), "data")
		begin := time.Now()
		p := harness.StartReadyProcess(b, dir)
		times = append(times, time.Since(begin))
		p.Signal(b, syscall.SIGKILL)
		p.WaitEnd(b)
	}
	ready := median(times)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ready.Seconds(), "s-to-ready")
	b.Logf("ready after %v on an empty folder (wanted: at most 2s)", ready.Round(time.Millisecond))
}

// BenchmarkIdleMemory measures the resident memory of a server that has been
// ready for a while and has nothing to do. Wanted: at most 150 MB.
func BenchmarkIdleMemory(b *testing.B) {
	p := harness.StartReadyProcess(b, filepath.Join(b.TempDir(), "data"))
	// The most of ten looks, half a second apart: start-up is over by then.
	var most int64
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	for range 10 {
		<-ticker.C
		most = max(most, residentBytes(b, p.PID()))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(most)/1e6, "MB-resident")
	b.Logf("%.0f MB resident when idle (wanted: at most 150 MB)", float64(most)/1e6)
}

// BenchmarkList measures a list of 5,000 objects that is redacted beside the same
// list that is not, through the same server. Wanted: at most 1.10 times the processor
// time and 2 more allocations an item.
func BenchmarkList(b *testing.B) {
	p := harness.StartReadyProcess(b, filepath.Join(b.TempDir(), "data"))
	fill(b, p, listed)
	compare(b, p, path+"?resourceVersion=0", 5)
}

// BenchmarkGet measures a get that is redacted beside the same get that is not.
func BenchmarkGet(b *testing.B) {
	p := harness.StartReadyProcess(b, filepath.Join(b.TempDir(), "data"))
	fill(b, p, 1)
	compare(b, p, path+"/peer-0", 100)
}

// cost is what a request takes: time until the answer is read, and the server's
// processor time and allocations.
type cost struct {
	wall, processor time.Duration
	allocations     float64
}

// compare measures a request by a user without the right and by one with it, in
// pairs, so that what disturbs one disturbs the other; times is how often a run
// repeats it, so that a run takes longer than the clock of processor time ticks.
func compare(b *testing.B, p *harness.Process, url string, times int) {
	redacted, full := p.HTTP(b, harness.Viewer), p.HTTP(b, harness.Admin)
	for _, client := range []*http.Client{redacted, full} {
		// Compressing takes several times as long as all the rest.
		client.Transport.(*http.Transport).DisableCompression = true
	}
	run := func(client *http.Client) cost {
		allocations, processor, begin := allocationsOf(b, p, full), processorTime(b, p.PID()), time.Now()
		for range times {
			get(b, client, p.Base+url)
		}
		wall, processor := time.Since(begin), processorTime(b, p.PID())-processor
		n := time.Duration(times)
		return cost{wall / n, processor / n, (allocationsOf(b, p, full) - allocations) / float64(times)}
	}
	require.Contains(b, string(get(b, full, p.Base+url)), value(0))
	require.NotContains(b, string(get(b, redacted, p.Base+url)), value(0))
	var with, without []cost
	for i := range max(b.N, pairs) {
		// Whoever comes second finds warmer caches.
		if i%2 == 0 {
			with, without = append(with, run(redacted)), append(without, run(full))
		} else {
			without, with = append(without, run(full)), append(with, run(redacted))
		}
	}
	wall, wallRatio := medians(with, without, func(c cost) float64 { return c.wall.Seconds() })
	processor, processorRatio := medians(with, without, func(c cost) float64 { return c.processor.Seconds() })
	extra := make([]float64, len(with))
	for i := range with {
		extra[i] = with[i].allocations - without[i].allocations
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(wall*1e3, "ms-redacted")
	b.ReportMetric(wallRatio, "redacted/full")
	b.ReportMetric(processor*1e3, "cpu-ms-redacted")
	b.ReportMetric(processorRatio, "cpu-redacted/full")
	b.ReportMetric(median(extra), "more-allocs")
	b.Logf("redacted %.2f ms, ratio to the same in the clear %.2f; %.2f ms of processor time, ratio %.2f; %.0f more allocations (medians of %d pairs)",
		wall*1e3, wallRatio, processor*1e3, processorRatio, median(extra), len(with))
}

// medians returns the median of a cost of redacted requests, and the median of its
// ratios to the other of each pair.
func medians(with, without []cost, of func(cost) float64) (value, ratio float64) {
	values, ratios := make([]float64, len(with)), make([]float64, len(with))
	for i := range with {
		values[i], ratios[i] = of(with[i]), of(with[i])/of(without[i])
	}
	return median(values), median(ratios)
}

// allocationsOf is how many allocations the server has made.
func allocationsOf(b *testing.B, p *harness.Process, client *http.Client) float64 {
	b.Helper()
	return sample(b, get(b, client, p.Base+"/metrics"), "go_memstats_mallocs_total")
}

// BenchmarkWatch measures the processor time that the server needs for an event
// to reach 1,000 watches that are redacted, beside 1,000 that are not. Wanted: at most
// 1.1 times.
func BenchmarkWatch(b *testing.B) {
	p := harness.StartReadyProcess(b, filepath.Join(b.TempDir(), "data"))
	fill(b, p, 1)
	perEvent := func(user string) time.Duration {
		ctx, cancel := context.WithCancel(b.Context())
		var read sync.WaitGroup
		defer read.Wait()
		defer cancel()
		var delivered atomic.Int64
		for range watchers {
			open(ctx, b, p, user, &delivered, &read)
		}
		// Each begins with the object that is there.
		awaitCount(b, &delivered, watchers)
		events := max(b.N, 100)
		peers := p.Client(b, harness.Operator).PeeringV1alpha1().ClusterPeers()
		begin := processorTime(b, p.PID())
		for i := range events {
			patch := fmt.Appendf(nil, `{"metadata":{"labels":{"event":"e%d-%d"}}}`, i, time.Now().UnixNano())
			_, err := peers.Patch(b.Context(), "peer-0", "application/merge-patch+json", patch, metav1.PatchOptions{})
			require.NoError(b, err)
			if i%10 == 9 { // a watch that falls too far behind is ended
				awaitCount(b, &delivered, int64(watchers*(i+2)))
			}
		}
		awaitCount(b, &delivered, int64(watchers*(events+1)))
		return (processorTime(b, p.PID()) - begin) / time.Duration(events)
	}
	var with, without []cost
	for i := range 5 {
		of := map[string]cost{}
		users := []string{harness.Viewer, harness.Admin}
		if i%2 == 1 {
			slices.Reverse(users)
		}
		for _, user := range users {
			of[user] = cost{processor: perEvent(user)}
		}
		with, without = append(with, of[harness.Viewer]), append(without, of[harness.Admin])
	}
	processor, ratio := medians(with, without, func(c cost) float64 { return c.processor.Seconds() })
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(processor*1e3, "cpu-ms/event-redacted")
	b.ReportMetric(ratio, "cpu-redacted/full")
	b.Logf("an event to %d redacted watches: %.2f ms of processor time, ratio to the same in the clear %.2f (medians of %d pairs)", watchers, processor*1e3, ratio, len(with))
}

// open opens a watch and counts the events that it delivers.
func open(ctx context.Context, b *testing.B, p *harness.Process, user string, delivered *atomic.Int64, read *sync.WaitGroup) {
	b.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Base+path+"?watch=1", nil)
	require.NoError(b, err)
	resp, err := p.HTTP(b, user).Do(req)
	require.NoError(b, err)
	require.Equal(b, http.StatusOK, resp.StatusCode)
	read.Go(func() {
		defer func() { _ = resp.Body.Close() }()
		buffer := make([]byte, 64<<10)
		for {
			n, err := resp.Body.Read(buffer)
			delivered.Add(int64(strings.Count(string(buffer[:n]), "\n"))) // an event is a line
			if err != nil {
				return
			}
		}
	})
}

func awaitCount(b *testing.B, count *atomic.Int64, want int64) {
	b.Helper()
	harness.Eventually(b, "every event reaches every watch", func(context.Context) bool { return count.Load() >= want })
}

// fill stores objects, and waits until the controller is through with them.
func fill(b *testing.B, p *harness.Process, count int) {
	b.Helper()
	peers := p.Client(b, harness.Operator).PeeringV1alpha1().ClusterPeers()
	var workers sync.WaitGroup
	var next atomic.Int64
	errs := make([]error, 16)
	for worker := range errs {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < count && errs[worker] == nil; i = int(next.Add(1)) - 1 {
				_, errs[worker] = peers.Create(b.Context(), &peeringv1alpha1.ClusterPeer{
					ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("peer-%d", i)},
					Spec: peeringv1alpha1.ClusterPeerSpec{
						Type: peeringv1alpha1.ClusterPeerTypeJoin,
						Join: &peeringv1alpha1.JoinSpec{ConnectionString: value(i)},
					},
				}, metav1.CreateOptions{})
			}
		})
	}
	workers.Wait()
	for _, err := range errs {
		require.NoError(b, err)
	}
	// The controller works through them in its own time, long for that many.
	for remaining := 1; remaining > 0; {
		list, err := peers.List(b.Context(), metav1.ListOptions{ResourceVersion: "0"})
		require.NoError(b, err)
		remaining = count - len(list.Items)
		for _, peer := range list.Items {
			if peer.Status.ObservedGeneration != peer.Generation {
				remaining++
			}
		}
	}
}

// value is about as long as the placeholder, so that answers with values are no
// larger than those without.
func value(i int) string { return fmt.Sprintf("join%05d", i) }

func get(b *testing.B, client *http.Client, url string) []byte {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, nil)
	require.NoError(b, err)
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	require.NoError(b, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(b, err)
	require.NoError(b, resp.Body.Close())
	require.Equal(b, http.StatusOK, resp.StatusCode)
	return body
}

// residentBytes is the resident memory of a process.
func residentBytes(b *testing.B, pid int) int64 {
	b.Helper()
	fields := procFields(b, pid, "statm")
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	require.NoError(b, err)
	return pages * int64(os.Getpagesize())
}

// processorTime is the processor time that a process has used.
func processorTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	const ticksPerSecond = 100 // USER_HZ, on every architecture of Linux that Go has
	fields := procFields(b, pid, "stat")
	var ticks int64
	for _, field := range fields[13:15] {
		n, err := strconv.ParseInt(field, 10, 64)
		require.NoError(b, err)
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond
}

func procFields(b *testing.B, pid int, file string) []string {
	b.Helper()
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		b.Skipf("this needs Linux: %v", err)
	}
	return strings.Fields(string(content))
}

func median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
