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

// Package workloadtoken verifies the tokens by which ServiceAccounts of another cluster
// ask for something here (G6).
//
// A Verifier is for one issuer of one peer, with the keys that the peer has published: the
// peer is known by its certificate before, and never by what a token says. Equal issuer
// URLs of two peers are therefore as good as different ones. The OIDC authenticator of
// Kubernetes does the verifying (signature, issuer, audience, expiry, and the life by a CEL
// rule), with a key set that is given and without ever asking anybody. What it does not
// look at is looked at here, in the claims that were verified: that there is no other
// audience, that the token is from the past, and that it is of a ServiceAccount.
//
// No token, and nothing that is in one, is in an error or a log.
package workloadtoken
