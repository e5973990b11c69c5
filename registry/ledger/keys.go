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

package ledger

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"entente.dev/entente/apis/peering"
	"entente.dev/entente/peering/record"
)

// Resource is what the records are encrypted as. No API serves it.
func Resource() schema.GroupResource {
	return schema.GroupResource{Group: peering.GroupName, Resource: "ledger"}
}

// Kinds of keys. Of the last four there is one each, of the others one for each ID.
const (
	kindPeer      = "peers"
	kindToken     = "tokens"
	kindCluster   = "clusters"
	kindTombstone = "tombstones"
	kindGrant     = "grants"
	kindRelease   = "releases"
	kindAuthority = "authority"
	kindIdentity  = "identity"
	kindGrantKey  = "grantkey"
	kindEpoch     = "epoch"
)

// keys makes keys of etcd. It is what they all begin with.
type keys string

func newKeys(prefix string) keys {
	resource := Resource()
	return keys("/" + strings.Trim(prefix, "/") + "/" + resource.Group + "/" + resource.Resource + "/")
}

// one is the key of a kind of which there is one.
func (k keys) one(kind string) string { return string(k) + kind }

// of is the key of something that is known by an ID; empty if nothing can be.
func (k keys) of(kind, id string) string {
	if !record.ValidID(id) {
		return ""
	}
	return string(k) + kind + "/" + id
}

// split is the reverse of both: of one, the ID is empty.
func (k keys) split(key string) (kind, id string) {
	kind, id, _ = strings.Cut(strings.TrimPrefix(key, string(k)), "/")
	return kind, id
}
