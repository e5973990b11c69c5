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

package apiserver

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit/policy"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"

	"entente.dev/entente/apiserver/entrance"
	"entente.dev/entente/peering/gateway"
	"entente.dev/entente/peering/record"
)

const westUUID = "bbbbbbbb-0000-4000-8000-000000000002"

func exchangeOf(began time.Time) entrance.Exchange {
	return entrance.Exchange{
		ID:         "id",
		Peer:       gateway.Peer{UID: "u", Name: "west", ClusterUUID: westUUID, Role: record.RoleData, Key: record.Digest{1}, Source: netip.MustParseAddr("192.0.2.7")},
		User:       "peer:" + westUUID + ":system:serviceaccount:module-logs:controller",
		Capability: "logs", Token: record.Digest{2}, Code: http.StatusOK, Began: began, Duration: time.Second,
		Request: &genericapirequest.RequestInfo{
			IsResourceRequest: true, Path: "/api/v1/namespaces/shop/pods/a/log", Verb: "get", APIVersion: "v1", Namespace: "shop", Resource: "pods", Subresource: "log", Name: "a",
		},
	}
}

// G7: an exchange is in audit as what it is: a request of that user for that object, with
// a hash of the token and by which peer and capability.
func TestG7ExchangesAreAudited(t *testing.T) {
	j, backend, told := journalOf(t, auditinternal.LevelRequestResponse)
	began := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	j.Exchanged(exchangeOf(began))
	require.Len(t, backend.events, 1)
	event := backend.events[0]
	assert.Equal(t, auditinternal.LevelMetadata, event.Level, "there is no body")
	assert.Equal(t, auditinternal.StageResponseComplete, event.Stage)
	assert.Equal(t, "id", string(event.AuditID))
	assert.Equal(t, "peer:"+westUUID+":system:serviceaccount:module-logs:controller", event.User.Username)
	assert.Equal(t, []string{"peer:" + westUUID}, event.User.Groups)
	assert.Equal(t, &auditinternal.ObjectReference{APIVersion: "v1", Resource: "pods", Subresource: "log", Namespace: "shop", Name: "a"}, event.ObjectRef)
	assert.Equal(t, []string{"get", "/peering/v1/api/logs/api/v1/namespaces/shop/pods/a/log"}, []string{event.Verb, event.RequestURI})
	assert.Equal(t, []string{"192.0.2.7"}, event.SourceIPs)
	assert.EqualValues(t, http.StatusOK, event.ResponseStatus.Code)
	assert.Equal(t, metav1.NewMicroTime(began), event.RequestReceivedTimestamp)
	assert.Equal(t, metav1.NewMicroTime(began.Add(time.Second)), event.StageTimestamp)
	assert.Equal(t, map[string]string{
		"peering.entente.dev/capability":      "logs",
		"peering.entente.dev/token-sha256":    "02" + strings.Repeat("00", 31),
		"peering.entente.dev/cluster-peer":    "west",
		"peering.entente.dev/cluster-uuid":    westUUID,
		"peering.entente.dev/key-fingerprint": "SHA256:01" + strings.Repeat("00", 31),
	}, event.Annotations)
	assert.Empty(t, told, "no Event of an exchange")

	// One that was refused before it was known who asks, and for what.
	peer := exchangeOf(began).Peer
	peer.Source = netip.Addr{}
	refused := entrance.Exchange{ID: "x", Peer: peer, Code: http.StatusUnauthorized, Reason: entrance.NoToken, Refused: true, Began: began}
	j.Exchanged(refused)
	event = backend.events[1]
	assert.Equal(t, "peer:"+westUUID, event.User.Username)
	assert.Nil(t, event.ObjectRef)
	assert.Empty(t, event.SourceIPs)
	assert.Equal(t, "NoToken", event.Annotations["peering.entente.dev/reason"])
	assert.NotContains(t, event.Annotations, "peering.entente.dev/token-sha256")
	// One for what cannot be there.
	long := exchangeOf(began)
	long.Request.Path, long.Request.Name = "/"+strings.Repeat("x", 4000), strings.Repeat("y", 4000)
	j.Exchanged(long)
	assert.Equal(t, "/peering/v1/api/logs/"+strings.Repeat("x", 255), backend.events[2].RequestURI)
	assert.Equal(t, strings.Repeat("y", 256), backend.events[2].ObjectRef.Name)
	// One that nobody has answered.
	broken := exchangeOf(began)
	broken.Code = 0
	j.Exchanged(broken)
	assert.Nil(t, backend.events[3].ResponseStatus)
}

// G7: of one that lasts it is told when it begins, too, and in the stages that the policy
// wants.
func TestG7LastingExchanges(t *testing.T) {
	began := time.Now()
	begins := exchangeOf(began)
	begins.Begins, begins.Lasts = true, true
	ends := begins
	ends.Begins, ends.Reason = false, entrance.NotGranted
	for _, test := range []struct {
		omit []auditinternal.Stage
		want []auditinternal.Stage
	}{
		{nil, []auditinternal.Stage{auditinternal.StageResponseStarted, auditinternal.StageResponseComplete}},
		{[]auditinternal.Stage{auditinternal.StageResponseStarted}, []auditinternal.Stage{auditinternal.StageResponseComplete}},
	} {
		j, backend, _ := journalOf(t, auditinternal.LevelMetadata)
		j.policy = policy.NewFakePolicyRuleEvaluator(auditinternal.LevelMetadata, test.omit)
		j.Exchanged(begins)
		j.Exchanged(ends)
		var stages []auditinternal.Stage
		for _, event := range backend.events {
			stages = append(stages, event.Stage)
			assert.Equal(t, "id", string(event.AuditID))
		}
		assert.Equal(t, test.want, stages)
	}
}

// G7: a policy chooses exchanges by who asks for what, like requests of anybody else.
func TestG7PolicyChoosesExchanges(t *testing.T) {
	j, backend, _ := journalOf(t, auditinternal.LevelMetadata)
	j.policy = policy.NewPolicyRuleEvaluator(&auditinternal.Policy{Rules: []auditinternal.PolicyRule{
		{Level: auditinternal.LevelNone, Verbs: []string{"get"}, Resources: []auditinternal.GroupResources{{Resources: []string{"pods/log"}}}, Namespaces: []string{"shop"}},
		{Level: auditinternal.LevelNone, NonResourceURLs: []string{"/version"}},
		{Level: auditinternal.LevelMetadata, UserGroups: []string{"peer:" + westUUID}},
		{Level: auditinternal.LevelNone},
	}})
	exchange := exchangeOf(time.Now())
	j.Exchanged(exchange)
	exchange.Request = &genericapirequest.RequestInfo{Path: "/version", Verb: "get"}
	j.Exchanged(exchange)
	assert.Empty(t, backend.events)
	exchange.Request = &genericapirequest.RequestInfo{Path: "/apis", Verb: "get"}
	j.Exchanged(exchange)
	assert.Len(t, backend.events, 1)
	assert.Nil(t, backend.events[0].ObjectRef)
	exchange.Peer.ClusterUUID = "cccccccc-0000-4000-8000-000000000003"
	j.Exchanged(exchange)
	assert.Len(t, backend.events, 1)
}

// P11: refusals do not fill the audit log, but all are counted; nothing that a peer
// chooses is a label.
func TestP11RefusalsAreCounted(t *testing.T) {
	registry := metrics.NewKubeRegistry()
	gatewayMetrics, err := newGatewayMetrics(registry.Register)
	require.NoError(t, err)
	backend := &audited{}
	j := newJournal(backend, policy.NewFakePolicyRuleEvaluator(auditinternal.LevelMetadata, nil), gatewayMetrics)
	refused := exchangeOf(time.Now())
	refused.Code, refused.Reason, refused.Refused, refused.Flood = http.StatusForbidden, entrance.NotInRules, true, true
	for range 3 {
		j.Exchanged(refused)
	}
	assert.Empty(t, backend.events)
	answered, lasting, begins := exchangeOf(time.Now()), exchangeOf(time.Now()), exchangeOf(time.Now())
	lasting.Lasts, begins.Begins = true, true
	j.Exchanged(answered)
	j.Exchanged(lasting)
	j.Exchanged(begins)
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP entente_entrance_exchanges_total [ALPHA] Requests of workloads of other clusters to the API, once they are over, by status code (0: there was no answer) and the reason why they were refused or ended.
# TYPE entente_entrance_exchanges_total counter
entente_entrance_exchanges_total{code="200",reason=""} 2
entente_entrance_exchanges_total{code="403",reason="NotInRules"} 3
`), "entente_entrance_exchanges_total"))
	count, err := testutil.GetHistogramMetricCount(gatewayMetrics.exchanging.WithLabelValues("get"))
	require.NoError(t, err)
	assert.EqualValues(t, 1, count)
}
