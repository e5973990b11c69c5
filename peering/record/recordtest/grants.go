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

package recordtest

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/record"
)

func granting(uid, capability string, objects ...record.GrantedObject) *record.Grant {
	return &record.Grant{PeerUID: uid, PeerName: "peer-" + uid, Capability: capability, Objects: objects}
}

func role(namespace, uid string) record.GrantedObject {
	return record.GrantedObject{Kind: record.KindRole, Namespace: namespace, Name: "entente-1", UID: uid}
}

func (l ledger) grant(t *testing.T, uid, capability string) (grant *record.Grant) {
	t.Helper()
	l.update(t, func(tx record.Tx) (err error) {
		grant, err = tx.Grant(uid, capability)
		return err
	})
	return grant
}

func (l ledger) putGrants(t *testing.T, grants ...*record.Grant) {
	t.Helper()
	l.update(t, func(tx record.Tx) error {
		for _, grant := range grants {
			if err := tx.PutGrant(grant); err != nil {
				return err
			}
		}
		return nil
	})
}

// capabilities are those that a reader sees, of one ClusterPeer or of all.
func capabilities(grants []*record.Grant) []string {
	var all []string
	for _, grant := range grants {
		all = append(all, grant.PeerUID+" "+grant.Capability)
	}
	return all
}

func testGrants(t *testing.T, l ledger) {
	assert.Empty(t, l.Grants("u"))
	assert.Empty(t, l.AllGrants())
	assert.Nil(t, l.Grant("u", "logs"))
	assert.Nil(t, l.grant(t, "u", "logs"))
	whole := granting("u", "logs", role("a", "uid-1"), record.GrantedObject{Kind: record.KindRoleBinding, Namespace: "a", Name: "entente-2", Foreign: true})
	l.putGrants(t, whole, granting("u", "backup", role("a", "")), granting("v", "logs", role("b", "uid-2")))
	assert.Equal(t, whole, l.grant(t, "u", "logs"))
	eventually(t, func() bool { return len(l.AllGrants()) == 3 }, "the grants")
	assert.Equal(t, []string{"u backup", "u logs"}, capabilities(l.Grants("u")), "in order")
	assert.Equal(t, whole, l.Grants("u")[1])
	assert.ElementsMatch(t, []string{"u backup", "u logs", "v logs"}, capabilities(l.AllGrants()))
	assert.Empty(t, l.Grants("w"))
	assert.Equal(t, whole, l.Grant("u", "logs"))
	assert.Equal(t, granting("v", "logs", role("b", "uid-2")), l.Grant("v", "logs"), "the one of that ClusterPeer")
	assert.Nil(t, l.Grant("v", "backup"))
	assert.Nil(t, l.Grant("w", "logs"))

	l.update(t, func(tx record.Tx) error {
		read, err := tx.Grant("u", "logs")
		if err != nil {
			return err
		}
		read.Objects[0].UID = "changed after it was read"
		assert.NoError(t, tx.PutGrant(granting("u", "backup", role("c", ""))))
		own, err := tx.Grant("u", "backup")
		assert.NoError(t, err)
		assert.Equal(t, "c", own.Objects[0].Namespace, "a transaction sees its writes")
		return nil
	})
	assert.Equal(t, whole, l.grant(t, "u", "logs"))

	// One without objects is none.
	l.putGrants(t, granting("u", "logs"), granting("none", "logs"))
	eventually(t, func() bool { return len(l.Grants("u")) == 1 }, "the deletion")
	assert.Nil(t, l.grant(t, "u", "logs"))
	assert.Nil(t, l.grant(t, "none", "logs"))
	assert.Nil(t, l.Grant("u", "logs"))
	assert.NotNil(t, l.Grant("u", "backup"))

	// They outlive the record of the ClusterPeer.
	l.put(t, inviting("u", "t"))
	l.update(t, func(tx record.Tx) error { return tx.DeletePeer("u") })
	eventually(t, func() bool { return l.Peer("u") == nil }, "the deletion")
	assert.Equal(t, []string{"u backup"}, capabilities(l.Grants("u")))

	err := l.Update(t.Context(), func(tx record.Tx) error {
		return errors.Join(tx.PutGrant(granting("v", "logs")), errNo)
	})
	require.ErrorIs(t, err, errNo)
	assert.NotNil(t, l.grant(t, "v", "logs"))
}

func testGrantNames(t *testing.T, l ledger) {
	long := string(slices.Repeat([]byte("x"), 1<<10))
	for _, odd := range []string{"", "a/b", "a:b", "../authority", "\x00", " ", long} {
		for _, grant := range []*record.Grant{granting(odd, "logs", role("a", "")), granting("u", odd, role("a", ""))} {
			assert.Error(t, l.Update(t.Context(), func(tx record.Tx) error { return tx.PutGrant(grant) }), odd)
			assert.Nil(t, l.grant(t, grant.PeerUID, grant.Capability))
			assert.Nil(t, l.Grant(grant.PeerUID, grant.Capability))
		}
		assert.Empty(t, l.Grants(odd))
	}
	assert.Empty(t, l.AllGrants())
}

func testGrantKey(t *testing.T, l ledger) {
	assert.Nil(t, l.GrantKey())
	before := l.epoch(t)
	for _, content := range []string{"first", "second"} {
		key := &record.GrantKey{Key: record.NewSecret([]byte(content))}
		l.update(t, func(tx record.Tx) error {
			kept, err := record.KeepGrantKey(tx, key)
			if err != nil {
				return err
			}
			assert.Equal(t, "first", string(kept.Key.Reveal()), "there is one, for ever")
			return nil
		})
	}
	eventually(t, func() bool { return l.GrantKey() != nil }, "the key")
	assert.Equal(t, "first", string(l.GrantKey().Key.Reveal()))
	assert.Equal(t, before+1, l.epoch(t), "a copy from before the key is recognised (S2), and nothing else is new")
}

func testGrantsAreTold(t *testing.T, l ledger) {
	l.put(t, inviting("u", "t"))
	eventually(t, func() bool { return l.Peer("u") != nil }, "the record")
	waiting := l.Changed("u")
	var mu sync.Mutex
	told := map[string]int{}
	defer l.Subscribe(func(uid string) {
		state := "none"
		if len(l.Grants(uid)) > 0 {
			state = "some"
		}
		mu.Lock()
		defer mu.Unlock()
		told[uid+" "+state]++
	})()
	count := func(what string) int {
		mu.Lock()
		defer mu.Unlock()
		return told[what]
	}
	l.putGrants(t, granting("u", "logs", role("a", "")))
	eventually(t, func() bool { return count("u some") > 0 }, "a grant")
	l.putGrants(t, granting("u", "logs"))
	eventually(t, func() bool { return count("u none") > 0 }, "its end")
	assert.Zero(t, count("v none"))
	select {
	case <-waiting:
		t.Error("who waits for the record does not care about grants")
	default:
	}
}
