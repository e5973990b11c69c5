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
	"cmp"
	"maps"
	"slices"
	"strings"

	"entente.dev/entente/peering/record"
)

// grants are those in memory: by the UID of the ClusterPeer, and by capability.
type grants map[string]map[string]*record.Grant

// set takes what is kept by an ID now; nil: nothing is.
func (g grants) set(id string, grant *record.Grant) {
	uid, capability, _ := strings.Cut(id, ":")
	if grant != nil {
		if g[uid] == nil {
			g[uid] = map[string]*record.Grant{}
		}
		g[uid][capability] = grant
		return
	}
	delete(g[uid], capability)
	if len(g[uid]) == 0 {
		delete(g, uid)
	}
}

// Grants implements record.Reader.
func (l *Ledger) Grants(peerUID string) []*record.Grant {
	l.view.mu.RLock()
	defer l.view.mu.RUnlock()
	return slices.SortedFunc(maps.Values(l.view.content.grants[peerUID]), func(a, b *record.Grant) int {
		return cmp.Compare(a.Capability, b.Capability)
	})
}

// Grant implements record.Reader.
func (l *Ledger) Grant(peerUID, capability string) *record.Grant {
	l.view.mu.RLock()
	defer l.view.mu.RUnlock()
	return l.view.content.grants[peerUID][capability]
}

// AllGrants implements record.Reader.
func (l *Ledger) AllGrants() []*record.Grant {
	l.view.mu.RLock()
	defer l.view.mu.RUnlock()
	var all []*record.Grant
	for _, granted := range l.view.content.grants {
		all = slices.AppendSeq(all, maps.Values(granted))
	}
	return all
}

// GrantKey implements record.Reader.
func (l *Ledger) GrantKey() *record.GrantKey {
	l.view.mu.RLock()
	defer l.view.mu.RUnlock()
	return l.view.content.grantKey
}
