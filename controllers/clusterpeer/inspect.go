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
	"errors"
	"fmt"
	"io"
	"net/url"
	"runtime/debug"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"entente.dev/entente/apis/generated/clientset/versioned/scheme"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/connstring"
)

// maxAnswer is the size in bytes of the answer that is read at most. An object
// fits the 1.5 MiB of etcd; JSON with its escapes needs more.
const maxAnswer = 8 << 20

var (
	errNotAnswered = errors.New("could not read clusterpeers/sensitive: the request failed")
	errNotDecoded  = errors.New("could not read clusterpeers/sensitive: the answer is not a ClusterPeer")
	errPanicked    = errors.New("could not look at the connection string: panic")
)

// inspection is a finding, and what it was found on. It counts for one generation
// of one object.
type inspection struct {
	uid        types.UID
	generation int64
	found      finding
}

// inspect reads the connection string of a ClusterPeer (R4), and returns what it
// found without the string, which it neither keeps nor logs. An error holds
// nothing of the answer either.
func inspect(ctx context.Context, client rest.Interface, peer *peeringv1alpha1.ClusterPeer) (seen inspection, err error) {
	defer func() {
		// What a panic says could quote the string, so nothing of it goes on; where it
		// happened may.
		if recover() != nil {
			klog.FromContext(ctx).Error(errPanicked, "Panic", "stack", string(debug.Stack()))
			seen, err = inspection{}, errPanicked
		}
	}()
	live, err := getSensitive(ctx, client, peer.Name)
	switch {
	case apierrors.IsForbidden(err):
		return inspection{uid: peer.UID, generation: peer.Generation, found: finding{denied: true}}, nil
	case err != nil:
		return inspection{}, err
	}
	seen = inspection{uid: live.UID, generation: live.Generation}
	if !hasConnectionString(live) {
		return seen, nil
	}
	if live.Spec.Join.ConnectionString == peeringv1alpha1.Placeholder {
		// The answer was redacted: it says that the right is missing, and is no value.
		seen.found.denied = true
		return seen, nil
	}
	_, err = connstring.Parse(live.Spec.Join.ConnectionString)
	if err != nil && !errors.As(err, &seen.found.fault) {
		seen.found.fault = connstring.ErrForm
	}
	return seen, nil
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
		return nil, withoutBody(err)
	}
	defer func() {
		// Nothing depends on it: the answer was read, or an error is returned.
		_ = body.Close()
	}()
	data, err := io.ReadAll(io.LimitReader(body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("could not read clusterpeers/sensitive: %w", err)
	}
	peer := &peeringv1alpha1.ClusterPeer{}
	err = runtime.DecodeInto(scheme.Codecs.UniversalDeserializer(), data, peer)
	// Nothing at all decodes as well. The decoder's own words quote what it read.
	if err != nil || peer.Name != name {
		return nil, errNotDecoded
	}
	return peer, nil
}

// withoutBody keeps the code and reason of an error of the API and drops its
// text, which may be a piece of the answer's body.
func withoutBody(err error) error {
	var status apierrors.APIStatus
	var transport *url.Error
	switch {
	case errors.As(err, &status):
		kept := status.Status()
		kept.Message, kept.Details = "could not read clusterpeers/sensitive: "+string(kept.Reason), nil
		return &apierrors.StatusError{ErrStatus: kept}
	case errors.As(err, &transport), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("could not read clusterpeers/sensitive: %w", err)
	default:
		return errNotAnswered
	}
}
