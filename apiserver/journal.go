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
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/tools/events"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/gateway"
	"entente.dev/entente/peering/protocol"
)

// journal writes down what happens to peerings (P15): as Events of the ClusterPeer, and
// as events of audit, by the same policy and backend as requests to the API. Neither
// ever holds a token.
type journal struct {
	recorder events.EventRecorder
	backend  audit.Backend // nil: no audit
	policy   audit.PolicyRuleEvaluator
	metrics  *gatewayMetrics
	// strangers limits what those cause in audit who have not shown that they are a peer.
	strangers *rate.Limiter
}

// Events of audit that strangers may cause: enough to see them all at any rate at which
// somebody tries by hand. All are counted in the metrics.
const (
	strangersPerSecond = 5
	strangersBurst     = 100
)

func newJournal(backend audit.Backend, policy audit.PolicyRuleEvaluator, metrics *gatewayMetrics) *journal {
	return &journal{backend: backend, policy: policy, metrics: metrics, strangers: rate.NewLimiter(strangersPerSecond, strangersBurst)}
}

var (
	_ gateway.Observer     = &journal{}
	_ events.EventRecorder = &journal{}
)

// Keys of annotations of audit events. They say what the Event says.
const (
	auditReason      = "peering.entente.dev/reason"
	auditNote        = "peering.entente.dev/note"
	auditCluster     = "peering.entente.dev/cluster-uuid"
	auditFingerprint = "peering.entente.dev/key-fingerprint"
)

// controllersUser is whom events of audit name for what Entente does by itself.
const controllersUser = "system:entente:controllers"

// Eventf records an Event of a controller, and what it says in audit.
func (j *journal) Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any) {
	j.recorder.Eventf(regarding, related, eventType, reason, action, note, args...)
	object, ok := regarding.(*corev1.ObjectReference)
	if !ok {
		return
	}
	about, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
	j.audit(entry{
		user: controllersUser, verb: "update", about: about, name: object.Name, uid: object.UID, code: http.StatusOK,
		annotations: map[string]string{auditReason: reason, auditNote: fmt.Sprintf(note, args...)},
	})
}

// Occurred records what happened at the gateway.
func (j *journal) Occurred(what gateway.Occurrence) {
	j.metrics.occurred(string(what.Kind), string(what.Reason))
	if what.Kind == gateway.RateLimited {
		return // there may be any number of them
	}
	told, ok := tellings()[what.Kind]
	if ok && what.UID != "" {
		note := told.note
		switch {
		case what.Reason != "":
			note += ": " + string(what.Reason)
		case what.Kind == gateway.InviteRefused:
			note = "Somebody presented the ID of the connection string with a wrong token"
		}
		regarding := peeringv1alpha1.Reference("ClusterPeer", what.Name, types.UID(what.UID))
		j.recorder.Eventf(regarding, nil, told.eventType, string(what.Kind), "Serve", "%s (cluster %s, key %s, from %s)", note, what.ClusterUUID, fingerprint(what.Request), what.Source)
	}
	if isStranger(what) && !j.strangers.Allow() {
		return
	}
	code := what.Code
	if code == 0 {
		code = http.StatusOK
	}
	j.audit(entry{
		user: userOf(what), verb: "create", about: peeringv1alpha1.SchemeGroupVersion.WithResource("clusterpeers"), name: what.Name, uid: types.UID(what.UID), path: what.Path, code: code, source: what.Source.String(),
		annotations: map[string]string{
			auditReason:      string(what.Kind),
			auditNote:        string(what.Reason),
			auditCluster:     what.ClusterUUID,
			auditFingerprint: fingerprint(what.Request),
		},
	})
}

// Served counts a request to the gateway.
func (j *journal) Served(request gateway.Request) {
	j.metrics.served(request.Path, strconv.Itoa(request.Code), request.Duration)
}

// userOf is whom an event of audit names: a peer only where it has shown that it is one.
func userOf(what gateway.Occurrence) string {
	if isStranger(what) {
		return user.Anonymous
	}
	return protocol.UserGroup(what.ClusterUUID)
}

func isStranger(what gateway.Occurrence) bool {
	return what.Kind == gateway.Unauthorized || what.Kind == gateway.InviteRefused
}

// telling is how the owner of a ClusterPeer is told.
type telling struct{ eventType, note string }

func tellings() map[gateway.Kind]telling {
	return map[gateway.Kind]telling{
		gateway.InviteUsed:    {corev1.EventTypeNormal, "The connection string was used"},
		gateway.InviteRefused: {corev1.EventTypeWarning, "Somebody presented the connection string and was refused"},
		gateway.PeerConfirmed: {corev1.EventTypeNormal, "The other cluster has used its certificate for the first time"},
		gateway.KeyRenewed:    {corev1.EventTypeNormal, "Another key of the other cluster was certified"},
		gateway.PeerLeft:      {corev1.EventTypeWarning, "The other cluster has left"},
		gateway.PeerSuspended: {corev1.EventTypeWarning, "One key was renewed to two, so that two may hold it; the peering is suspended"},
		gateway.OfferRefused:  {corev1.EventTypeWarning, "What the other cluster said was not taken"},
	}
}

func fingerprint(request gateway.Request) string {
	if request.Key.IsZero() {
		return "none"
	}
	return "SHA256:" + request.Key.String()
}

// entry is one event of audit.
type entry struct {
	user, verb string
	// about is what kind of object it is about.
	about              schema.GroupVersionResource
	name, path, source string
	uid                types.UID
	code               int
	annotations        map[string]string
}

// audit sends an event to the backend, if the policy wants one. Empty annotations are
// left out.
func (j *journal) audit(e entry) {
	if j.backend == nil || j.policy == nil {
		return
	}
	attributes := authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: e.user}, Verb: e.verb, Name: e.name, Path: e.path,
		APIGroup: e.about.Group, APIVersion: e.about.Version, Resource: e.about.Resource, ResourceRequest: true,
	}
	level := j.policy.EvaluatePolicyRule(attributes).Level
	if level.Less(auditinternal.LevelMetadata) {
		return
	}
	now := metav1.NewMicroTime(time.Now())
	event := &auditinternal.Event{
		Level: auditinternal.LevelMetadata, AuditID: types.UID(uuid.NewString()), Stage: auditinternal.StageResponseComplete,
		RequestURI: e.path, Verb: e.verb, RequestReceivedTimestamp: now, StageTimestamp: now,
		ObjectRef: &auditinternal.ObjectReference{
			APIGroup: e.about.Group, APIVersion: e.about.Version, Resource: e.about.Resource, Name: e.name, UID: e.uid,
		},
		ResponseStatus: &metav1.Status{Code: int32(e.code)},
		Annotations:    map[string]string{},
	}
	event.User.Username = e.user
	if e.source != "" {
		event.SourceIPs = []string{e.source}
	}
	for key, value := range e.annotations {
		if value != "" {
			event.Annotations[key] = value
		}
	}
	j.backend.ProcessEvents(event)
}
