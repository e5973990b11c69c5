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

// Package servingcert keeps the serving certificate of host mode: an authority of
// our own and a leaf in a Secret that the replicas share, and the authority's
// certificate in spec.caBundle of our APIServices, where kube-aggregator reads
// whom to trust. Everything is renewed in time, and in such an order that no leaf
// is served that kube-aggregator does not trust at that moment:
//
//  1. a next authority is put into the Secret; it signs nothing yet
//  2. its certificate is published beside the others in every APIService
//  3. seen there for a while, it signs a leaf; what was the authority is an old one
//  4. replicas that read the Secret late serve a leaf of the old authority, which
//     stays published until the last leaf that it signed has expired
//
// The first start takes the same way. There is no leader: each replica looks at the
// APIServices, then at the Secret, decides what comes next (decide.go), writes that
// on condition that nobody else wrote, and publishes what the Secret holds. The
// order of reading matters: what is published comes from the Secret, so a Secret
// that is read after an APIService is never older than the bundle in it; with the
// condition on both resource versions a slow replica cannot put an older bundle
// over a newer one.
//
// # The Secret
//
//	ca.crt, ca.key            the authority that signs
//	tls.crt, tls.key          the leaf
//	next-ca.crt, next-ca.key  the next authority, until it signs
//	old-ca.crt                former authorities that are still trusted
//	old-tls.crt               the last leaf of each, which says until when
//
// It is shipped empty and never created here: a right to create Secrets cannot be
// limited by name. What somebody broke in it is made anew. To replace an
// authority at once, empty the Secret; when the new leaf is served, remove
// old-ca.crt and old-tls.crt, and nothing trusts the former one any more. Other
// keys in the Secret are left alone.
//
// # Rights (H4)
//
//	get, update  secrets                           resourceNames: the Secret, in our namespace
//	get, patch   apiservices.apiregistration.k8s.io resourceNames: ours
package servingcert
