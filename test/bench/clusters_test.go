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

package bench

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilwait "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"entente.dev/entente/apis/core"
	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	corev1alpha1client "entente.dev/entente/apis/generated/clientset/versioned/typed/core/v1alpha1"
	"entente.dev/entente/apis/peering"
	"entente.dev/entente/test/harness"
)

const (
	// fleet is the namespace of the Clusters, fleetSize how many there are.
	fleet     = "fleet"
	fleetSize = 1000
	// restWindow is for how long it is measured what they cost that are not probed, and
	// probeWindow those that are: long enough for each to write twice when it was seen.
	restWindow  = 10 * time.Second
	probeWindow = 2 * time.Minute
	// twinWindow is for how long it is measured what they cost that are all one cluster, and
	// twinsGone how many of those go.
	twinWindow = 20 * time.Second
	twinsGone  = 5
	// settling is for how long probes are let run before they are measured.
	settling = 10 * time.Second
	// fleetDeadline is for all that has to come about without being measured.
	fleetDeadline = 2 * time.Minute
	// someGoroutines are those that come and go with no Cluster: one that is left behind with
	// each Cluster, or with each rotation, makes many more.
	someGoroutines = fleetSize / 10
	// serveTargets has this binary be the target clusters, and no test.
	serveTargets = "ENTENTE_BENCH_SERVE_TARGETS"
)

// traffic is what the targets saw.
type traffic struct {
	// Open is how many connections there are.
	Open int
	// Probes is how many times a version was read.
	Probes int
	// Tokens is how many targets were asked with each token when they were asked last.
	Tokens map[string]int
	// LongestGap is the longest time between two probes of one target since it was asked for.
	LongestGap time.Duration
}

// farm is many target clusters in a process of its own. Each has a path, /UID/NAME, and answers
// what a probe asks as an API server does.
type farm struct {
	lock    sync.Mutex
	traffic traffic
	tokens  map[string]string
	asked   map[string]time.Time
	answers map[string]string
}

// whereabouts is how the farm is reached: by those who probe, and by the test.
type whereabouts struct {
	URL, Traffic string
	CA           []byte
}

// runFarm serves until standard input ends, as it does with the test.
func runFarm() error {
	f := &farm{tokens: map[string]string{}, asked: map[string]time.Time{}, answers: map[string]string{
		"version": `{"major":"1","minor":"37","gitVersion":"v1.37.2","gitCommit":"0123456789abcdef0123456789abcdef01234567","gitTreeState":"clean","buildDate":"2026-01-01T00:00:00Z","goVersion":"go1.26.0","compiler":"gc","platform":"linux/amd64"}`,
		"api":     `{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0","serverAddress":"10.0.0.1:6443"}]}`,
		"apis":    groups(),
	}}
	targets := httptest.NewUnstartedServer(f)
	targets.EnableHTTP2 = true
	targets.Config.ConnState = f.count
	targets.StartTLS()
	told := httptest.NewServer(http.HandlerFunc(f.tell))
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: targets.Certificate().Raw})
	if err := json.NewEncoder(os.Stdout).Encode(whereabouts{targets.URL, told.URL, ca}); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// groups are as many as a cluster with some operators has.
func groups() string {
	var all []string
	for i := range 30 {
		name := fmt.Sprintf("group%02d.example.com", i)
		all = append(all, fmt.Sprintf(`{"name":"%[1]s","versions":[{"groupVersion":"%[1]s/v1","version":"v1"},{"groupVersion":"%[1]s/v1beta1","version":"v1beta1"}],"preferredVersion":{"groupVersion":"%[1]s/v1","version":"v1"}}`, name))
	}
	return `{"kind":"APIGroupList","apiVersion":"v1","groups":[` + strings.Join(all, ",") + `]}`
}

func (f *farm) count(_ net.Conn, state http.ConnState) {
	f.lock.Lock()
	defer f.lock.Unlock()
	switch state {
	case http.StateNew:
		f.traffic.Open++
	case http.StateClosed, http.StateHijacked:
		f.traffic.Open--
	case http.StateActive, http.StateIdle:
	}
}

// ServeHTTP implements http.Handler.
func (f *farm) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	parts := strings.SplitN(strings.TrimPrefix(r.URL.Path, "/"), "/", 3)
	if token == "" || len(parts) != 3 {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	answer, found := f.answers[parts[2]]
	switch parts[2] {
	case "version":
		f.probed(parts[1], strings.TrimRight(token, "."))
	case "api/v1/namespaces/kube-system":
		answer, found = fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-system","uid":%q},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}}`, parts[0]), true
	}
	if !found {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, answer) // whoever asked may be gone
}

func (f *farm) probed(name, token string) {
	f.lock.Lock()
	defer f.lock.Unlock()
	now := time.Now()
	if before, ok := f.asked[name]; ok {
		f.traffic.LongestGap = max(f.traffic.LongestGap, now.Sub(before))
	}
	f.asked[name], f.tokens[name] = now, token
	f.traffic.Probes++
}

func (f *farm) tell(w http.ResponseWriter, _ *http.Request) {
	f.lock.Lock()
	defer f.lock.Unlock()
	f.traffic.Tokens = map[string]int{}
	for _, token := range f.tokens {
		f.traffic.Tokens[token]++
	}
	_ = json.NewEncoder(w).Encode(f.traffic) // the test fails if it cannot read it
	f.traffic.LongestGap = 0
}

// clusterFleet is a server and the targets of its Clusters.
type clusterFleet struct {
	server   *harness.Process
	clusters corev1alpha1client.ClusterInterface
	releases corev1alpha1client.ReleaseInterface
	admin    *http.Client
	farm     whereabouts
	farmPID  int
}

func startFleet(b *testing.B) *clusterFleet {
	b.Helper()
	f := &clusterFleet{}
	executable, err := os.Executable()
	require.NoError(b, err)
	// Not with the test's context: it ends after what is started below.
	cmd := exec.CommandContext(context.WithoutCancel(b.Context()), executable)
	cmd.Env, cmd.Stderr = append(os.Environ(), serveTargets+"=1"), os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(b, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		_ = stdin.Close() // that ends it
		_ = cmd.Wait()
	})
	require.NoError(b, json.NewDecoder(stdout).Decode(&f.farm))
	f.farmPID = cmd.Process.Pid
	// Profiling, for a collection of garbage before memory is looked at.
	f.server = harness.StartReadyProcess(b, filepath.Join(b.TempDir(), "data"), "--serve-groups="+peering.GroupName+","+core.GroupName, "--profiling")
	client := f.server.Client(b, harness.Admin).CoreV1alpha1()
	f.clusters, f.releases, f.admin = client.Clusters(fleet), client.Releases(fleet), f.server.HTTP(b, harness.Admin)
	return f
}

func clusterName(i int) string { return fmt.Sprintf("c%04d", i) }

// own and same say which cluster is the target of a Cluster: one of its own, or the same one
// as of all others.
func own(name string) string { return name }
func same(string) string     { return "same" }

// keep writes the Secret of each Cluster: a kubeconfig with a token, as long as real ones are.
func (f *clusterFleet) keep(b *testing.B, uid func(name string) string, token string) {
	b.Helper()
	for i := range fleetSize {
		name := clusterName(i)
		config := clientcmdapi.NewConfig()
		config.Clusters["target"] = &clientcmdapi.Cluster{Server: f.farm.URL + "/" + uid(name) + "/" + name, CertificateAuthorityData: f.farm.CA}
		config.AuthInfos["entente"] = &clientcmdapi.AuthInfo{Token: token + strings.Repeat(".", 900)}
		config.Contexts["target"] = &clientcmdapi.Context{Cluster: "target", AuthInfo: "entente"}
		config.CurrentContext = "target"
		content, err := clientcmd.Write(*config)
		require.NoError(b, err)
		folder := filepath.Join(f.server.Dir, "secrets", fleet, name)
		require.NoError(b, os.MkdirAll(folder, 0o700))
		// In one step, so that no half of it is read.
		require.NoError(b, os.WriteFile(filepath.Join(folder, "next"), content, 0o600))
		require.NoError(b, os.Rename(filepath.Join(folder, "next"), filepath.Join(folder, "kubeconfig")))
	}
}

// each does something for each Cluster, some at once.
func (f *clusterFleet) each(b *testing.B, do func(name string) error) {
	b.Helper()
	var all sync.WaitGroup
	errs := make([]error, 16)
	for worker := range errs {
		all.Go(func() {
			for i := worker; i < fleetSize && errs[worker] == nil; i += len(errs) {
				errs[worker] = do(clusterName(i))
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(b, err)
	}
}

// agentless is the spec of a Cluster that is probed.
func agentless(name string) corev1alpha1.ClusterSpec {
	return corev1alpha1.ClusterSpec{
		ConnectionMode: corev1alpha1.ConnectionModeAgentless,
		Agentless: &corev1alpha1.ClusterAgentlessModeSpec{
			Server: "https://" + name + ".example.com:6443",
			Auth: corev1alpha1.ClusterAuthSpec{
				Type: corev1alpha1.AuthTypeKubeconfig,
				Kubeconfig: &corev1alpha1.KubeconfigAuthSpec{
					SecretRef: corev1alpha1.SecretKeySelector{Name: name, Key: "kubeconfig"},
				},
			},
		},
	}
}

// unprobed is the spec of a Cluster that costs the same but for the probes: its mode is not
// implemented.
func unprobed(string) corev1alpha1.ClusterSpec {
	return corev1alpha1.ClusterSpec{ConnectionMode: corev1alpha1.ConnectionModeAgent, Agent: &corev1alpha1.ClusterAgentModeSpec{}}
}

func (f *clusterFleet) create(b *testing.B, spec func(name string) corev1alpha1.ClusterSpec) {
	b.Helper()
	f.each(b, func(name string) error {
		_, err := f.clusters.Create(b.Context(), &corev1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec(name)}, metav1.CreateOptions{})
		return err
	})
}

// connect has Clusters probed that were not.
func (f *clusterFleet) connect(b *testing.B) {
	b.Helper()
	f.each(b, func(name string) error {
		spec, err := json.Marshal(agentless(name))
		if err != nil {
			return err
		}
		patch := fmt.Appendf(nil, `[{"op":"replace","path":"/spec","value":%s}]`, spec)
		_, err = f.clusters.Patch(b.Context(), name, types.JSONPatchType, patch, metav1.PatchOptions{})
		return err
	})
}

func (f *clusterFleet) list(b *testing.B) []corev1alpha1.Cluster {
	b.Helper()
	list, err := f.clusters.List(b.Context(), metav1.ListOptions{})
	require.NoError(b, err)
	return list.Items
}

// until waits for something, which tells how far it has come.
func until(b *testing.B, what string, is func() (done bool, now string)) {
	b.Helper()
	now := ""
	err := utilwait.PollUntilContextTimeout(b.Context(), 500*time.Millisecond, fleetDeadline, true, func(context.Context) (done bool, _ error) {
		done, now = is()
		return done, nil
	})
	require.NoErrorf(b, err, "did not happen in %v: %s: %s", fleetDeadline, what, now)
}

// untilReady waits until the status of each Cluster is the one of now, with that reason.
func (f *clusterFleet) untilReady(b *testing.B, reason string) {
	b.Helper()
	until(b, "every Cluster is "+reason, func() (bool, string) {
		count := 0
		for _, cluster := range f.list(b) {
			ready := meta.FindStatusCondition(cluster.Status.Conditions, corev1alpha1.ConditionReady)
			if ready != nil && ready.Reason == reason && ready.ObservedGeneration == cluster.Generation {
				count++
			}
		}
		return count == fleetSize, strconv.Itoa(count)
	})
}

// untilAsked waits until each target was asked with that token, by one connection each.
func (f *clusterFleet) untilAsked(b *testing.B, token string) {
	b.Helper()
	until(b, "every target is asked with token "+token+" by one connection", func() (bool, string) {
		seen := f.seen(b)
		return seen.Tokens[token] == fleetSize && seen.Open == fleetSize, fmt.Sprintf("%+v", seen)
	})
}

func (f *clusterFleet) seen(b *testing.B) traffic {
	b.Helper()
	var seen traffic
	require.NoError(b, json.Unmarshal(get(b, http.DefaultClient, f.farm.Traffic), &seen))
	return seen
}

// sample adds up the samples of a metric that have all of those labels.
func sample(b *testing.B, text []byte, name string, labels ...string) float64 {
	b.Helper()
	sum, found := 0.0, false
lines:
	for line := range strings.Lines(string(text)) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest[0] != ' ' && rest[0] != '{' {
			continue
		}
		for _, label := range labels {
			if !strings.Contains(rest, label) {
				continue lines
			}
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(rest[strings.LastIndexByte(rest, ' '):]), 64)
		require.NoError(b, err)
		sum, found = sum+value, true
	}
	require.True(b, found || len(labels) > 0, "there is no metric %s", name)
	return sum
}

func (f *clusterFleet) metrics(b *testing.B) []byte {
	b.Helper()
	return get(b, f.admin, f.server.Base+"/metrics")
}

// holding is what the server holds: bytes, and goroutines.
type holding struct{ resident, heap, goroutines float64 }

func (f *clusterFleet) held(b *testing.B) holding {
	b.Helper()
	// As it is, before it is tidied up.
	resident := float64(residentBytes(b, f.server.PID()))
	for range 2 { // pools are emptied by the second
		get(b, f.admin, f.server.Base+"/debug/pprof/heap?gc=1")
	}
	text := f.metrics(b)
	return holding{resident, sample(b, text, "go_memstats_heap_alloc_bytes"), sample(b, text, "go_goroutines")}
}

// less is what is held for each Cluster beyond before.
func (h holding) less(before holding) holding {
	return holding{(h.resident - before.resident) / fleetSize, (h.heap - before.heap) / fleetSize, (h.goroutines - before.goroutines) / fleetSize}
}

func (h holding) String() string {
	return fmt.Sprintf("%.1f MB resident, %.1f MB of heap, %.0f goroutines", h.resident/1e6, h.heap/1e6, h.goroutines)
}

// untilHeld waits until no more goroutines are there than before, nor much more heap.
func (f *clusterFleet) untilHeld(b *testing.B, when string, before holding, factor float64) holding {
	b.Helper()
	var now holding
	until(b, fmt.Sprintf("after %s the server holds what it held before, which was %v", when, before), func() (bool, string) {
		now = f.held(b)
		return now.goroutines <= before.goroutines+someGoroutines && now.heap <= factor*before.heap, now.String()
	})
	return now
}

// statusWrites is how many statuses of Clusters were asked to be written so far.
func (f *clusterFleet) statusWrites(b *testing.B) float64 {
	b.Helper()
	return sample(b, f.metrics(b), "apiserver_request_total", `resource="clusters"`, `subresource="status"`, `verb="APPLY"`)
}

// revision is how many writes the store has seen.
func (f *clusterFleet) revision(b *testing.B) float64 {
	b.Helper()
	list, err := f.releases.List(b.Context(), metav1.ListOptions{})
	require.NoError(b, err)
	revision, err := strconv.ParseFloat(list.ResourceVersion, 64)
	require.NoError(b, err)
	return revision
}

// spent is what some time has cost.
type spent struct {
	window time.Duration
	// server and farm are processor time.
	server, farm time.Duration
	probes       int
	// longestGap is between two probes of one Cluster.
	longestGap time.Duration
	// statusWrites are those of Clusters, revisions all writes to the store.
	statusWrites, revisions float64
	// between is from one status of a Cluster that says when it was seen to the next.
	between time.Duration
}

func (s spent) share() float64 { return s.server.Seconds() / s.window.Seconds() }

// spend measures what some time costs.
func (f *clusterFleet) spend(b *testing.B, window time.Duration) spent {
	b.Helper()
	before, from := f.list(b), spent{statusWrites: f.statusWrites(b), revisions: f.revision(b), probes: f.seen(b).Probes, server: processorTime(b, f.server.PID()), farm: processorTime(b, f.farmPID)}
	begin := time.Now()
	wait(b, window)
	s := spent{window: time.Since(begin), server: processorTime(b, f.server.PID()) - from.server, farm: processorTime(b, f.farmPID) - from.farm}
	seen := f.seen(b)
	s.probes, s.longestGap = seen.Probes-from.probes, seen.LongestGap
	s.statusWrites, s.revisions = f.statusWrites(b)-from.statusWrites, f.revision(b)-from.revisions
	// The time from one write to the next, not how many fall into the window: all come in
	// waves, since all were made at the same time.
	passed := time.Duration(0)
	for i, cluster := range f.list(b) {
		if cluster.Status.LastSeen != nil && before[i].Status.LastSeen != nil {
			passed += cluster.Status.LastSeen.Sub(before[i].Status.LastSeen.Time)
		}
	}
	s.between = passed / time.Duration(max(1, s.statusWrites))
	return s
}

// BenchmarkClusters measures what 1,000 Clusters cost that are well: processor time, memory,
// goroutines, and writes when nothing changes (C3). Those that are not probed, in the same
// server, are what they are measured against. It fails if something stays behind when all
// Secrets were replaced, or all Clusters deleted.
func BenchmarkClusters(b *testing.B) {
	f := startFleet(b)
	f.list(b)
	empty := f.held(b)
	f.create(b, unprobed)
	f.untilReady(b, corev1alpha1.ReasonUnsupported)
	rest := f.spend(b, restWindow)
	registered := f.held(b)
	require.Zero(b, rest.probes)

	f.keep(b, own, "first")
	f.connect(b)
	f.untilAsked(b, "first")
	f.untilReady(b, corev1alpha1.ReasonReachable)
	wait(b, settling)
	well := f.spend(b, probeWindow)
	probed := f.held(b)
	// Once a minute, at the most.
	require.LessOrEqual(b, well.statusWrites, fleetSize*(1+well.window.Minutes()))
	require.Equal(b, fleetSize, f.seen(b).Open)

	begin, from := time.Now(), processorTime(b, f.server.PID())
	f.keep(b, own, "second")
	f.untilAsked(b, "second")
	took := time.Since(begin)
	perRotation := (processorTime(b, f.server.PID()) - from - time.Duration(well.share()*float64(took))) / fleetSize
	// A timer of net/http holds the buffers of a closed connection for half a minute.
	rotated := f.untilHeld(b, "rotations", probed, 1.1)
	require.Equal(b, fleetSize, f.seen(b).Open)

	require.NoError(b, f.clusters.DeleteCollection(b.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	until(b, "all Clusters and all connections are gone", func() (bool, string) {
		left, open := len(f.list(b)), f.seen(b).Open
		return left == 0 && open == 0, fmt.Sprintf("%d Clusters and %d connections", left, open)
	})
	// The last events of what is gone stay in the watch cache, for watches that begin before
	// it went. With all connections left it would be more than that.
	deleted := f.untilHeld(b, "deletions", empty, 4)

	object, connection := registered.less(empty), probed.less(registered)
	cpu := float64((well.server - time.Duration(rest.share()*float64(well.window))).Microseconds()) / float64(max(1, well.probes))
	perMinute := float64(time.Minute) / float64(max(1, well.between))
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(100*well.share(), "%cpu")
	b.ReportMetric(cpu, "µs-cpu/probe")
	b.ReportMetric(probed.resident/1e6, "MB-resident")
	b.ReportMetric((object.heap+connection.heap)/1e3, "kB-heap/cluster")
	b.ReportMetric((object.resident+connection.resident)/1e3, "kB-resident/cluster")
	b.ReportMetric(connection.goroutines, "goroutines/cluster")
	b.ReportMetric(perMinute, "writes/cluster/min")
	b.Logf("%d Clusters: %.1f %% of one processor for %d probes in %v, of which %.1f %% without probes; %.0f µs a probe (the targets: %.0f µs). The longest time between two probes of one: %v",
		fleetSize, 100*well.share(), well.probes, well.window.Round(time.Second), 100*rest.share(), cpu, float64(well.farm.Microseconds())/float64(max(1, well.probes)), well.longestGap.Round(time.Millisecond))
	b.Logf("empty: %v; not probed: %v; probed: %v", empty, registered, probed)
	b.Logf("for each Cluster: its object %.1f kB of heap, %.1f kB resident, %.2f goroutines; its connection and its status %.1f kB of heap, %.1f kB resident, %.2f goroutines",
		object.heap/1e3, object.resident/1e3, object.goroutines, connection.heap/1e3, connection.resident/1e3, connection.goroutines)
	b.Logf("nothing changed: %.0f statuses were written in %v, and %.0f times something else; %v between two writes for one Cluster, %.2f a minute (allowed: 1). Not probed: %.0f writes in %v",
		well.statusWrites, well.window.Round(time.Second), well.revisions-well.statusWrites, well.between.Round(10*time.Millisecond), perMinute, rest.revisions, rest.window.Round(time.Second))
	b.Logf("%d rotations, used within %v, %v of processor time each: %v after them; after all were deleted: %v, no connection", fleetSize, took.Round(time.Second), perRotation.Round(10*time.Microsecond), rotated, deleted)
}

// BenchmarkClustersOfOneTarget measures the same if all are one cluster, which each says of all
// others; and how many statuses are written if a few of them go.
func BenchmarkClustersOfOneTarget(b *testing.B) {
	f := startFleet(b)
	f.keep(b, same, "first")
	f.create(b, agentless)
	f.untilAsked(b, "first")
	f.untilReady(b, corev1alpha1.ReasonReachable)
	wait(b, settling)
	made := f.statusWrites(b)
	well := f.spend(b, twinWindow)

	begin, from := time.Now(), f.statusWrites(b)
	for i := range twinsGone {
		require.NoError(b, f.clusters.Delete(b.Context(), clusterName(i), metav1.DeleteOptions{}))
		until(b, "no Cluster names the one that was deleted", func() (bool, string) {
			naming := 0
			for _, cluster := range f.list(b) {
				if ready := meta.FindStatusCondition(cluster.Status.Conditions, corev1alpha1.ConditionReady); cluster.Name == clusterName(i) || strings.Contains(ready.Message, clusterName(i)) {
					naming++
				}
			}
			return naming == 0, strconv.Itoa(naming)
		})
	}
	// Each says once a minute when it was seen.
	took := time.Since(begin)
	other := fleetSize * took.Minutes()
	gone := max(0, f.statusWrites(b)-from-other) / twinsGone
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(100*well.share(), "%cpu")
	b.ReportMetric(float64(well.server.Microseconds())/float64(max(1, well.probes)), "µs-cpu/probe")
	b.ReportMetric(made/fleetSize, "writes/cluster-made")
	b.ReportMetric(gone, "writes/cluster-gone")
	b.Logf("%d Clusters of one target: %.1f %% of one processor for %d probes in %v; %.1f statuses written for each that was made, %.0f for each of %d that went, the first by name, in %v together",
		fleetSize, 100*well.share(), well.probes, well.window.Round(time.Second), made/fleetSize, gone, twinsGone, took.Round(time.Second))
}
