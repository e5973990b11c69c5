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

package host

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/websocket"
	"k8s.io/apiserver/pkg/authentication/token/cache"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/webhook"
	authenticationv1client "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/klog/v2"
)

// tokenReviews knows users by tokens that the host cluster has issued, as delegated
// authentication of the library does, but for one thing: the library has the reviews, in
// which the tokens are, written to the log at high verbosity (R15).
func tokenReviews(client authenticationv1client.AuthenticationV1Interface) (authenticator.Request, error) {
	reviewer, err := webhook.NewFromInterface(client, nil, *genericoptions.DefaultAuthWebhookRetryBackoff(), reviewTimeout, webhook.AuthenticatorMetrics{
		RecordRequestTotal:   authenticatorfactory.RecordRequestTotal,
		RecordRequestLatency: authenticatorfactory.RecordRequestLatency,
	})
	if err != nil {
		return nil, fmt.Errorf("could not set up authentication: %w", err)
	}
	authenticatorfactory.RegisterMetrics()
	// Within the cache, which asks under a context of its own.
	quiet := authenticator.TokenFunc(func(ctx context.Context, token string) (*authenticator.Response, bool, error) {
		return reviewer.AuthenticateToken(klog.NewContext(ctx, logr.Discard()), token)
	})
	remembered := cache.New(quiet, false, tokenTTL, tokenTTL)
	return group.NewAuthenticatedGroupAdder(union.New(bearertoken.New(remembered), websocket.NewProtocolAuthenticator(remembered))), nil
}
