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

package clusterpeer

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/url"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"entente.dev/entente/apis/generated/clientset/versioned/scheme"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/connstring"
	"entente.dev/entente/peering/record"
)

// maxAnswer is the size in bytes of the answer that is read at most. An object
// fits the 1.5 MiB of etcd; JSON with its escapes needs more.
const maxAnswer = 8 << 20

// What the requests that deal with connection strings are for, in their errors.
const (
	doingRead    = "could not read clusterpeers/sensitive"
	doingDeliver = "could not write a connection string to the status"
)

var (
	errNotDecoded   = errors.New(doingRead + ": the answer is not a ClusterPeer")
	errNotDelivered = errors.New(doingDeliver + ": the answer is not a ClusterPeer")
	errPanicked     = errors.New("could not deal with a connection string: panic")
)

// finding is what is known of the connection string that a ClusterPeer is to join
// with, without its token. The zero finding is that there is none.
type finding struct {
	// denied: it could not be read for lack of permission.
	denied bool
	// fault is what is wrong with it, empty if nothing.
	fault connstring.Fault
	// text is its SHA-256 hash, by which the ledger knows it.
	text record.Digest
	// The rest is what it says.
	tokenID     string
	clusterUUID string
	expiresAt   time.Time
	protocol    connstring.ProtocolRange
}

// usable tells whether it was read and is well-formed.
func (f finding) usable() bool { return !f.denied && f.fault == "" && !f.text.IsZero() }

// inspection is a finding, and what it was found on. It counts for one generation
// of one object.
type inspection struct {
	uid        types.UID
	generation int64
	found      finding
}

// inspect reads the connection string that a ClusterPeer is to join with (R4). It
// returns what is to be kept of it, without the token; and what it says, to be used at
// once and dropped, nil if it is not usable. It logs nothing of it. An error holds
// nothing of the answer either.
func inspect(ctx context.Context, client rest.Interface, peer *peeringv1alpha1.ClusterPeer) (seen inspection, said *connstring.ConnectionString, err error) {
	defer quietly(ctx, &err)
	live, err := getSensitive(ctx, client, peer.Name)
	switch {
	case apierrors.IsForbidden(err):
		return inspection{uid: peer.UID, generation: peer.Generation, found: finding{denied: true}}, nil, nil
	case err != nil:
		return inspection{}, nil, err
	}
	seen = inspection{uid: live.UID, generation: live.Generation}
	if !hasConnectionString(live) {
		return seen, nil, nil
	}
	if live.Spec.Join.ConnectionString == peeringv1alpha1.Placeholder {
		// The answer was redacted: it says that the right is missing, and is no value.
		seen.found.denied = true
		return seen, nil, nil
	}
	said, err = connstring.Parse(live.Spec.Join.ConnectionString)
	if err != nil {
		if !errors.As(err, &seen.found.fault) {
			seen.found.fault = connstring.ErrForm
		}
		return seen, nil, nil
	}
	seen.found = finding{
		text:        sha256.Sum256([]byte(live.Spec.Join.ConnectionString)),
		tokenID:     said.TokenID,
		clusterUUID: said.ClusterUUID,
		expiresAt:   said.ExpiresAt,
		protocol:    said.Protocol,
	}
	return seen, said, nil
}

// issued is what became of a connection string that was issued here.
type issued string

const (
	// issuedShown: the status holds it.
	issuedShown issued = "Shown"
	// issuedLost: the status holds none, or another one.
	issuedLost issued = "Lost"
	// issuedDenied: the status could not be read for lack of permission.
	issuedDenied issued = "Denied"
)

// inspectIssued tells whether the status of a ClusterPeer holds the connection string
// that the ledger knows by its hash, and of which version of the object that is. Like
// inspect it keeps and logs nothing of the string.
func inspectIssued(ctx context.Context, client rest.Interface, peer *peeringv1alpha1.ClusterPeer, hash record.Digest) (is issued, live *metav1.ObjectMeta, err error) {
	defer quietly(ctx, &err)
	object, err := getSensitive(ctx, client, peer.Name)
	switch {
	case apierrors.IsForbidden(err):
		return issuedDenied, &peer.ObjectMeta, nil
	case err != nil:
		return "", nil, err
	}
	live = &object.ObjectMeta
	if object.Status.Invite == nil {
		return issuedLost, live, nil
	}
	text := object.Status.Invite.ConnectionString
	if text == peeringv1alpha1.Placeholder {
		return issuedDenied, live, nil
	}
	if isOf(text, string(object.UID), hash) {
		return issuedShown, live, nil
	}
	return issuedLost, live, nil
}

// isOf tells whether a text is a connection string with the token of that hash.
func isOf(text, uid string, hash record.Digest) bool {
	said, err := connstring.Parse(text)
	if err != nil {
		return false
	}
	found := record.Hash(uid, said.Token.Reveal())
	return subtle.ConstantTimeCompare(found[:], hash[:]) == 1
}

// quietly turns a panic into an error. What it says could quote a connection string,
// so nothing of it goes on; where it happened may.
func quietly(ctx context.Context, err *error) {
	if recover() != nil {
		klog.FromContext(ctx).Error(errPanicked, "Panic", "stack", string(debug.Stack()))
		*err = errPanicked
	}
}

// getSensitive reads a ClusterPeer with its sensitive values.
//
// client-go logs the bodies of answers at high verbosity. The logger that
// discards stops that, unless contextual logging was switched off
// (--feature-gates): then client-go takes the global logger whatever the context
// holds. A stream is never logged, so the answer is read as one; both together
// silence the rest of the request as well.
func getSensitive(ctx context.Context, client rest.Interface, name string) (*peeringv1alpha1.ClusterPeer, error) {
	ctx = klog.NewContext(ctx, logr.Discard())
	body, err := client.Get().
		Resource("clusterpeers").
		Name(name).
		SubResource("sensitive").
		SetHeader("Accept", runtime.ContentTypeJSON).
		Stream(ctx)
	if err != nil {
		return nil, withoutBody(err, doingRead)
	}
	data, err := readAll(body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doingRead, err)
	}
	peer := &peeringv1alpha1.ClusterPeer{}
	err = runtime.DecodeInto(scheme.Codecs.UniversalDeserializer(), data, peer)
	// Nothing at all decodes as well. The decoder's own words quote what it read.
	if err != nil || peer.Name != name {
		return nil, errNotDecoded
	}
	return peer, nil
}

// readAll reads an answer to its end.
func readAll(body io.ReadCloser) ([]byte, error) {
	defer func() {
		// Nothing depends on it: the answer was read, or an error is returned.
		_ = body.Close()
	}()
	return io.ReadAll(io.LimitReader(body, maxAnswer))
}

// withoutBody keeps the code and reason of an error of the API and drops its
// text, which may be a piece of a body.
func withoutBody(err error, doing string) error {
	var status apierrors.APIStatus
	var transport *url.Error
	switch {
	case errors.As(err, &status):
		kept := status.Status()
		kept.Message, kept.Details = doing+": "+string(kept.Reason), nil
		return &apierrors.StatusError{ErrStatus: kept}
	case errors.As(err, &transport), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", doing, err)
	default:
		return errors.New(doing + ": the request failed")
	}
}
