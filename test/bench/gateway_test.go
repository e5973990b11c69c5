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
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/klog/v2"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/apiserver"
	"entente.dev/entente/apiserver/options"
	"entente.dev/entente/peering/client"
	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/peering/gateway"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/protocol"
	"entente.dev/entente/test/harness"
)

const (
	// peers is how many live peers one gateway has.
	peers = 1000
	// beats is for how long they beat while it is measured.
	beats = 60 * time.Second
	// unlimited is more than a benchmark asks for.
	unlimited = 1 << 20
	// serveDir has this binary be a server on that folder, and no test.
	serveDir = "ENTENTE_BENCH_SERVE_DIR"
)

// TestMain is the tests, or a process of its own: a server whose gateway does not limit what
// the loopback interface may ask of it, or what the Clusters of another server lead to.
func TestMain(m *testing.M) {
	if os.Getenv(serveTargets) != "" {
		if err := runFarm(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if dir := os.Getenv(serveDir); dir != "" {
		if err := serve(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func serve(dir string) error {
	ctx := klog.NewContext(context.Background(), klog.Background())
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	o, err := options.New()
	if err != nil {
		return err
	}
	o.Standalone, o.DataDir, o.SecureServing.BindPort = true, dir, 0
	o.Peering.Endpoints = []string{"https://" + listener.Addr().String()}
	if err := o.Validate(); err != nil {
		return err
	}
	config := o.Config()
	config.Peering.GatewayListener = listener
	config.Peering.Limits = gateway.Limits{
		JoinsPerSource: unlimited, JoinBurstPerSource: unlimited, Joins: unlimited, JoinBurst: unlimited,
		ConcurrentJoins: 64, ConnectionsPerSource: unlimited, Calls: unlimited, CallBurst: unlimited,
	}
	completed, err := config.Complete()
	if err != nil {
		return err
	}
	server, err := apiserver.New(ctx, completed)
	if err != nil {
		return err
	}
	return server.Run(ctx)
}

// startGateway starts that server.
func startGateway(b *testing.B) *harness.Process {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "data")
	executable, err := os.Executable()
	require.NoError(b, err)
	cmd := exec.CommandContext(context.Background(), executable)
	cmd.Env = append(os.Environ(), serveDir+"="+dir)
	p := harness.StartCommand(b, dir, cmd)
	p.WaitServing(b)
	p.WaitReady(b)
	return p
}

// invite makes invites, and returns their connection strings.
func invite(b *testing.B, p *harness.Process, count int) []*connstring.ConnectionString {
	b.Helper()
	clusterPeers := p.Client(b, harness.Admin).PeeringV1alpha1().ClusterPeers()
	for i := range count {
		peer := &peeringv1alpha1.ClusterPeer{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%06d", i)},
			Spec:       peeringv1alpha1.ClusterPeerSpec{Type: peeringv1alpha1.ClusterPeerTypeInvite},
		}
		_, err := clusterPeers.Create(b.Context(), peer, metav1.CreateOptions{})
		require.NoError(b, err)
	}
	var all []*connstring.ConnectionString
	deadline := time.Now().Add(5 * time.Minute)
	for len(all) < count {
		require.True(b, time.Now().Before(deadline), "%d of %d were minted", len(all), count)
		list, err := clusterPeers.List(b.Context(), metav1.ListOptions{})
		require.NoError(b, err)
		all = all[:0]
		for _, peer := range list.Items {
			if peer.Status.Invite == nil || !strings.HasPrefix(peer.Status.Invite.ConnectionString, "entente1.") {
				continue
			}
			said, err := connstring.Parse(peer.Status.Invite.ConnectionString)
			require.NoError(b, err)
			all = append(all, said)
		}
	}
	return all
}

// joiner is another cluster, as far as the gateway can tell.
type joiner struct {
	said *connstring.ConnectionString
	key  *pki.Key
	self protocol.Self
	csr  []byte
}

func newJoiner(b *testing.B, said *connstring.ConnectionString) *joiner {
	b.Helper()
	j := &joiner{said: said}
	var err error
	j.key, err = pki.NewKey()
	require.NoError(b, err)
	j.csr, err = pki.NewCSR(j.key)
	require.NoError(b, err)
	ca, err := pki.NewAuthority("joiner", j.key, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	require.NoError(b, err)
	trust := [][]byte{ca.Certificate.Raw}
	j.self = protocol.Self{ClusterUUID: string(uuid.NewUUID()), Trust: trust, TrustDigest: pki.BundleDigest(trust)}
	return j
}

func (j *joiner) join(ctx context.Context, dialer *client.Dialer, token []byte) (protocol.JoinResponse, error) {
	self := j.self
	self.Time = time.Now().Unix()
	answer, _, err := dialer.Join(ctx, client.JoinParams{
		Endpoints: j.said.Endpoints, Pins: j.said.Pins, Key: j.key,
		Request: protocol.JoinRequest{Protocol: protocol.MaxVersion, TokenID: j.said.TokenID, Token: token, CSR: j.csr, Self: self},
	})
	return answer, err
}

func newDialer(b *testing.B) *client.Dialer {
	b.Helper()
	dialer, err := client.New(client.Config{Policy: client.Policy{AllowLocal: true}})
	require.NoError(b, err)
	return dialer
}

// BenchmarkRedeem measures how many connection strings one gateway redeems a second, one
// after the other and by sixteen at once, beside joins with a wrong token: the rest is
// what the ledger and the epoch cost, each of which is written to the disk.
func BenchmarkRedeem(b *testing.B) {
	for _, atOnce := range []int{1, 16} {
		b.Run(fmt.Sprintf("at-once=%d", atOnce), func(b *testing.B) {
			p, dialer := startGateway(b), newDialer(b)
			count := max(b.N, 64)
			var joiners []*joiner
			for _, said := range invite(b, p, count) {
				joiners = append(joiners, newJoiner(b, said))
			}
			all := func(token func(*joiner) []byte, refused bool) time.Duration {
				begin := time.Now()
				var next atomic.Int64
				var group sync.WaitGroup
				for range atOnce {
					group.Go(func() {
						for i := next.Add(1); i <= int64(count); i = next.Add(1) {
							_, err := joiners[i-1].join(b.Context(), dialer, token(joiners[i-1]))
							if (err != nil) != refused {
								b.Error("not the answer that is expected", err)
							}
						}
					})
				}
				group.Wait()
				return time.Since(begin)
			}
			wrong := all(func(*joiner) []byte { return make([]byte, 32) }, true)
			b.ResetTimer()
			right := all(func(j *joiner) []byte { return j.said.Token.Reveal() }, false)
			b.StopTimer()
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(count)/right.Seconds(), "redeems/s")
			b.ReportMetric(right.Seconds()/wrong.Seconds(), "x-refused")
		})
	}
}

// BenchmarkPeers measures what a gateway costs that 1,000 live peers hold a long poll at:
// memory, processor time, and how often statuses are written when nothing changes.
func BenchmarkPeers(b *testing.B) {
	p, dialer := startGateway(b), newDialer(b)
	before := residentBytes(b, p.PID())
	strings := invite(b, p, peers)
	idle := residentBytes(b, p.PID())

	ctx, cancel := context.WithCancel(b.Context())
	var beating, connected sync.WaitGroup
	var polls, failures atomic.Int64
	defer beating.Wait()
	defer cancel()
	limit := make(chan struct{}, 16)
	for _, said := range strings {
		connected.Add(1)
		beating.Go(func() {
			limit <- struct{}{}
			sync, err := connect(ctx, dialer, newJoiner(b, said))
			<-limit
			connected.Done()
			if err != nil {
				failures.Add(1)
				return
			}
			for ctx.Err() == nil {
				if err := sync(ctx, 15); err != nil && ctx.Err() == nil {
					failures.Add(1)
					return
				}
				polls.Add(1)
			}
		})
	}
	connected.Wait()
	require.Zero(b, failures.Load(), "peers that could not connect")

	// One beat later nothing is new to anybody.
	wait(b, 16*time.Second)
	versions := statuses(b, p)
	polls.Store(0)
	begin := processorTime(b, p.PID())
	wait(b, beats)
	spent := processorTime(b, p.PID()) - begin
	resident := residentBytes(b, p.PID())
	polled := polls.Load()
	changed := 0
	for name, version := range statuses(b, p) {
		if versions[name] != version {
			changed++
		}
	}
	require.Zero(b, failures.Load(), "peers that were refused")
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(resident)/1e6, "MB-resident")
	b.ReportMetric(float64(resident-idle)/peers/1e3, "kB/peer")
	b.ReportMetric(100*spent.Seconds()/beats.Seconds(), "%cpu")
	b.ReportMetric(float64(spent.Microseconds())/float64(max(1, polled)), "µs-cpu/beat")
	b.ReportMetric(float64(changed)/peers*float64(time.Hour/beats), "statuses/peer/h")
	b.Logf("%d peers: %.0f MB resident (%.0f MB before, %.0f MB with invites that wait), %.1f %% of one processor for %d beats in %v on %d processors; %d statuses were written",
		peers, float64(resident)/1e6, float64(before)/1e6, float64(idle)/1e6, 100*spent.Seconds()/beats.Seconds(), polled, beats, runtime.NumCPU(), changed)
	p.Signal(b, syscall.SIGKILL)
}

// connect joins, and returns how to beat from then on.
func connect(ctx context.Context, dialer *client.Dialer, j *joiner) (beat func(ctx context.Context, seconds int) error, err error) {
	answer, err := j.join(ctx, dialer, j.said.Token.Reveal())
	if err != nil {
		return nil, err
	}
	conn, err := dialer.Connect(client.Target{Endpoints: j.said.Endpoints, Trust: answer.Trust, Certificate: j.key.TLS(answer.Certificate)})
	if err != nil {
		return nil, err
	}
	offer := protocol.Offer{Alias: "joiner"}
	state := protocol.State{
		Self: j.self, Offer: protocol.OfferHeader{Epoch: 1, Generation: 1, Digest: offer.Digest()}, OfferBody: &offer,
		Holds: protocol.Holding{Trust: answer.TrustDigest},
	}
	beat = func(ctx context.Context, seconds int) error {
		state.Time = time.Now().Unix()
		answer, err := conn.Sync(ctx, protocol.SyncRequest{Protocol: protocol.MaxVersion, Wait: seconds, State: state})
		if err != nil {
			return err
		}
		state.Holds.Offer, state.Holds.Trust = answer.Offer, answer.TrustDigest
		if answer.Holds.Offer == state.Offer {
			state.OfferBody, state.Trust = nil, nil
		}
		return nil
	}
	return beat, beat(ctx, 0)
}

// statuses are the resourceVersions of all ClusterPeers.
func statuses(b *testing.B, p *harness.Process) map[string]string {
	b.Helper()
	list, err := p.Client(b, harness.Viewer).PeeringV1alpha1().ClusterPeers().List(b.Context(), metav1.ListOptions{})
	require.NoError(b, err)
	versions := map[string]string{}
	for _, peer := range list.Items {
		versions[peer.Name] = peer.ResourceVersion
	}
	return versions
}

// wait lets time pass: that is what is measured.
func wait(b *testing.B, duration time.Duration) {
	b.Helper()
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-b.Context().Done():
		b.FailNow()
	}
}
