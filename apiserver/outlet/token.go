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

	"golang.org/x/sync/singleflight"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
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
	// tokenTimeout is for making one.
	tokenTimeout = 10 * time.Second
)

// badge says whose a token is, and for what it is.
type badge struct {
	caller
	audience string
}

func badgeOf(who caller, audience string) badge { return badge{caller: who, audience: audience} }

// key is the same for the same badge only.
func (b badge) key() string {
	return fmt.Sprintf("%q", []string{b.namespace, b.name, b.uid, b.podName, b.podUID, b.audience})
}

// tokens makes tokens of ServiceAccounts, for themselves (H1), and keeps them in memory for
// a while.
type tokens struct {
	getter corev1client.ServiceAccountsGetter
	clock  clock.PassiveClock
	kept   *cache.LRUExpireCache // *record.Secret by badge
	flight singleflight.Group
}

func newTokens(getter corev1client.ServiceAccountsGetter, clk clock.PassiveClock, count int) *tokens {
	return &tokens{getter: getter, clock: clk, kept: cache.NewLRUExpireCacheWithClock(count, clk)}
}

// get returns a token: one that is kept, or else a new one. Callers that ask for the same
// one at the same time share it. It fails with a *fault.
func (t *tokens) get(ctx context.Context, b badge) (record.Secret, error) {
	if kept, ok := t.kept.Get(b); ok {
		return *kept.(*record.Secret), nil
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
			return record.Secret{}, made.Err
		}
		return *made.Val.(*record.Secret), nil
	case <-ctx.Done():
		return record.Secret{}, &fault{code: http.StatusServiceUnavailable, text: "the request was ended"}
	}
}

func (t *tokens) make(ctx context.Context, b badge) (*record.Secret, error) {
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
	answer, err := t.getter.ServiceAccounts(b.namespace).CreateToken(ctx, b.name, request, metav1.CreateOptions{})
	if err != nil {
		return nil, tokenFault(err, b)
	}
	if !isOf(answer.Status.Token, b.caller) {
		return nil, &fault{code: http.StatusForbidden, text: "the ServiceAccount that called is gone, and another one has its name"}
	}
	token := ptr.To(record.NewSecret([]byte(answer.Status.Token)))
	life := min(answer.Status.ExpirationTimestamp.Sub(t.clock.Now()), tokenLife)
	if life > 0 {
		t.kept.Add(b, token, life*keptPercent/100)
	}
	return token, nil
}

// drop forgets a token that the peer does not take.
func (t *tokens) drop(b badge, token record.Secret) {
	if kept, ok := t.kept.Get(b); ok && string(kept.(*record.Secret).Reveal()) == string(token.Reveal()) {
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
