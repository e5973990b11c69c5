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
	"fmt"
	"time"

	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
)

// How long answers of the host cluster count.
const (
	// tokenTTL is for who a token is.
	tokenTTL = 10 * time.Second
	// requestTTL is for whether a request may be made, yes or no.
	requestTTL = 10 * time.Second
	// sightTTL is for whether sensitive values may be seen, yes or no. With the five
	// seconds after which an open watch asks again, and the two that an answer may take,
	// a right that is lost ends its sight within fifteen (R3).
	sightTTL = 5 * time.Second
)

// Authenticate makes the server know users by the front proxy's headers and by
// tokens that the host cluster has issued. Client certificates are the front
// proxy's only. anonymous says what may be asked by nobody in particular; all else
// is 401 without a user.
//
// The library's own option would exit, or never look again, when the ConfigMap
// cannot be read, and lets anonymous requests in everywhere.
func (h *Host) Authenticate(generic *genericapiserver.Config, header *RequestHeader, anonymousConfig *apiserver.AnonymousAuthConfig) error {
	tokens, err := tokenReviews(h.urgent.AuthenticationV1())
	if err != nil {
		return err
	}
	generic.Authentication.Authenticator = newAuthenticator(header, tokens, anonymousConfig)
	generic.Authentication.RequestHeaderConfig = header.config()
	if err := generic.Authentication.ApplyClientCert(header, generic.SecureServing); err != nil {
		return fmt.Errorf("could not set up authentication: %w", err)
	}
	return nil
}

// newAuthenticator asks one after the other. Who shows credentials that are no good is
// not anonymous, but refused.
func newAuthenticator(header *RequestHeader, tokens authenticator.Request, anonymousConfig *apiserver.AnonymousAuthConfig) authenticator.Request {
	known := union.New(group.NewAuthenticatedGroupAdder(header), tokens)
	return union.NewFailOnError(known, anonymous.NewAuthenticator(anonymousConfig.Conditions))
}

// Authorizer asks the host cluster whether a request may be made.
func (h *Host) Authorizer() (authorizer.Authorizer, error) { return h.authorizer(requestTTL) }

// SightAuthorizer asks the host cluster whether sensitive values may be seen.
func (h *Host) SightAuthorizer() (authorizer.Authorizer, error) { return h.authorizer(sightTTL) }

func (h *Host) authorizer(ttl time.Duration) (authorizer.Authorizer, error) {
	factory := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: h.urgent.AuthorizationV1(),
		AllowCacheTTL:             ttl,
		DenyCacheTTL:              ttl,
		WebhookRetryBackoff:       genericoptions.DefaultAuthWebhookRetryBackoff(),
	}
	a, err := factory.New()
	if err != nil {
		return nil, fmt.Errorf("could not set up authorization: %w", err)
	}
	return a, nil
}
