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

package outlet

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/singleflight"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"entente.dev/entente/peering/record"
)

const (
	// tokenLife is for how long a token is asked for (H1): the least that Kubernetes gives.
	tokenLife = 10 * time.Minute
	// keptPercent is for which part of its life a token is used here: what is left is for
	// the request to arrive in, and for clocks that differ.
	keptPercent = 80
	// dropAfter is how old a token is that is given up because the peer does not take it:
	// whatever a peer says, of no ServiceAccount more are made than one in that time.
	dropAfter = time.Minute
	// tokenTimeout is for making one.
	tokenTimeout = 10 * time.Second
)

// badge says whose a token is, and for what it is.
type badge struct {
	caller
	audience string
}

// key is the same for the same badge only.
func (b badge) key() string {
	return fmt.Sprintf("%q", []string{b.namespace, b.name, b.uid, b.podName, b.podUID, b.audience})
}

// token is a token that was made here. It does not change.
type token struct {
	secret        record.Secret
	made, expires time.Time
}

// tokens makes tokens of ServiceAccounts, for themselves (H1), and keeps them in memory for
// a while.
type tokens struct {
	getter corev1client.ServiceAccountsGetter
	clock  clock.PassiveClock
	kept   *cache.LRUExpireCache // *token by badge
	flight singleflight.Group
}

func newTokens(getter corev1client.ServiceAccountsGetter, clk clock.PassiveClock, count int) *tokens {
	return &tokens{getter: getter, clock: clk, kept: cache.NewLRUExpireCacheWithClock(count, clk)}
}

// get returns a token: one that is kept, or else a new one. Callers that ask for the same
// one at the same time share it. It fails with a *fault.
func (t *tokens) get(ctx context.Context, b badge) (*token, error) {
	if kept, ok := t.kept.Get(b); ok {
		return kept.(*token), nil
	}
	// The first who asks may go while others wait.
	making := t.flight.DoChan(b.key(), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tokenTimeout)
		defer cancel()
		if kept, ok := t.kept.Get(b); ok { // since we looked
			return kept, nil
		}
		return t.make(ctx, b)
	})
	select {
	case made := <-making:
		if made.Err != nil {
			return nil, made.Err
		}
		return made.Val.(*token), nil
	case <-ctx.Done():
		return nil, &fault{code: http.StatusServiceUnavailable, text: "the request was ended"}
	}
}

func (t *tokens) make(ctx context.Context, b badge) (*token, error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences:         []string{b.audience},
		ExpirationSeconds: ptr.To(int64(tokenLife / time.Second)),
	}}
	if b.podUID != "" {
		// It ends with the Pod, as does the one that the caller has.
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{
			Kind: "Pod", APIVersion: "v1", Name: b.podName, UID: types.UID(b.podUID),
		}
	}
	// client-go logs bodies at high verbosity, and this one is a token (R15).
	ctx = klog.NewContext(ctx, logr.Discard())
	answer, err := t.getter.ServiceAccounts(b.namespace).CreateToken(ctx, b.name, request, metav1.CreateOptions{})
	if err != nil {
		return nil, tokenFault(err, b)
	}
	if !isOf(answer.Status.Token, b.caller) {
		return nil, &fault{code: http.StatusForbidden, text: "the ServiceAccount that called is gone, and another one has its name"}
	}
	now := t.clock.Now()
	life := answer.Status.ExpirationTimestamp.Sub(now)
	if life <= 0 {
		return nil, &fault{code: http.StatusServiceUnavailable, retry: retryLater, text: "the host cluster's token of the ServiceAccount has ended by the clock of this replica"}
	}
	made := &token{secret: record.NewSecret([]byte(answer.Status.Token)), made: now, expires: answer.Status.ExpirationTimestamp.Time}
	t.kept.Add(b, made, min(life, tokenLife)*keptPercent/100)
	return made, nil
}

// drop forgets a token that the peer does not take, unless it was made just now.
func (t *tokens) drop(b badge, refused *token) {
	if t.clock.Since(refused.made) < dropAfter {
		return
	}
	if kept, ok := t.kept.Get(b); ok && kept == any(refused) {
		t.kept.Remove(b)
	}
}

// sweep forgets the tokens that are too old.
func (t *tokens) sweep() {
	good := map[any]bool{}
	for _, b := range t.kept.Keys() {
		good[b] = true
	}
	t.kept.RemoveAll(func(b any) bool { return !good[b] })
}

// isOf tells whether a token, whose maker is trusted, says that it is that very
// ServiceAccount's.
func isOf(token string, who caller) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return false
	}
	var claims struct {
		Kubernetes struct {
			Namespace      string `json:"namespace"`
			ServiceAccount struct {
				Name string `json:"name"`
				UID  string `json:"uid"`
			} `json:"serviceaccount"`
		} `json:"kubernetes.io"`
	}
	if json.Unmarshal(payload, &claims) != nil {
		return false
	}
	said := claims.Kubernetes
	return said.Namespace == who.namespace && said.ServiceAccount.Name == who.name && (who.uid == "" || said.ServiceAccount.UID == who.uid)
}

// tokenFault says why the host cluster made no token.
func tokenFault(err error, b badge) *fault {
	switch {
	case apierrors.IsForbidden(err):
		return &fault{code: http.StatusForbidden, text: "Entente may make no token of ServiceAccount " + b.namespace + "/" + b.name +
			": it takes a Role in namespace " + b.namespace + ", bound to Entente's ServiceAccount, with verb create on resource serviceaccounts/token and resourceNames [" + strconv.Quote(b.name) + "]"}
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return &fault{code: http.StatusForbidden, text: "the ServiceAccount that called, or its Pod, is gone"}
	default:
		return &fault{code: http.StatusServiceUnavailable, retry: retrySoon, text: "the host cluster made no token of the ServiceAccount"}
	}
}
