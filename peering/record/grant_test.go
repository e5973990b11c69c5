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

package record_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"entente.dev/entente/peering/record"
)

func granted(kind, namespace, name, uid string) record.GrantedObject {
	return record.GrantedObject{Kind: kind, Namespace: namespace, Name: name, UID: uid}
}

func TestG5ChangeGrant(t *testing.T) {
	b := newBook(t)
	change := func(put, drop []record.GrantedObject, displace ...record.GrantedObject) *record.Grant {
		t.Helper()
		b.must(func(tx record.Tx) error {
			return record.ChangeGrant(tx, record.GrantChange{PeerUID: uid, PeerName: "west", Capability: "logs", Put: put, Drop: drop, Displace: displace})
		})
		grants := b.Grants(uid)
		if len(grants) == 0 {
			return nil
		}
		return grants[0]
	}
	epoch := b.Epoch()
	role, binding := granted(record.KindRole, "a", "entente-1", ""), granted(record.KindRoleBinding, "a", "entente-2", "")
	whole := granted(record.KindClusterRole, "", "entente-3", "uid-3")
	grant := change([]record.GrantedObject{binding, role, whole}, nil)
	assert.Equal(t, []record.GrantedObject{whole, role, binding}, grant.Objects, "in order")
	assert.Equal(t, "west", grant.PeerName)
	assert.Empty(t, grant.Namespaces(), "not before the Role is there")

	made, madeToo := role, binding
	made.UID, madeToo.UID = "uid-1", "uid-2"
	elsewhere := granted(record.KindRole, "0", "entente-1", "uid-4")
	grant = change([]record.GrantedObject{made, elsewhere, madeToo}, nil)
	assert.Equal(t, []record.GrantedObject{whole, elsewhere, made, madeToo}, grant.Objects)
	assert.Equal(t, []string{"0", "a"}, grant.Namespaces())

	grant = change(nil, []record.GrantedObject{role, whole, elsewhere})
	assert.Equal(t, []record.GrantedObject{made, madeToo}, grant.Objects, "one that has another UID meanwhile stays")
	assert.Equal(t, grant, change(nil, nil, role), "nor is one that has another UID displaced")
	foreign := made
	foreign.UID, foreign.Foreign = "", true
	grant = change(nil, nil, made)
	assert.Equal(t, []record.GrantedObject{foreign, madeToo}, grant.Objects)
	assert.Empty(t, grant.Namespaces())

	assert.Nil(t, change(nil, []record.GrantedObject{foreign, madeToo}), "one that lists nothing is none")
	assert.Nil(t, change(nil, []record.GrantedObject{role}))
	assert.Equal(t, epoch, b.Epoch())
}

// H2: what lets Entente act as a peer's ServiceAccounts gives the peer nothing.
func TestH2Given(t *testing.T) {
	const grant, impersonation = record.GrantPrefix + "1", record.ImpersonationPrefix + "2"
	foreign := granted(record.KindClusterRole, "", grant, "")
	foreign.Foreign = true
	for name, test := range map[string]struct {
		object             record.GrantedObject
		clusterWide, given bool
	}{
		"a ClusterRole":                {granted(record.KindClusterRole, "", grant, "uid-1"), true, true},
		"its binding":                  {granted(record.KindClusterRoleBinding, "", grant, "uid-1"), false, true},
		"a Role":                       {granted(record.KindRole, "a", grant, "uid-1"), false, true},
		"a ClusterRole to be made":     {granted(record.KindClusterRole, "", grant, ""), false, false},
		"another's ClusterRole":        {foreign, false, false},
		"a ClusterRole to impersonate": {granted(record.KindClusterRole, "", impersonation, "uid-2"), false, false},
		"its binding, too":             {granted(record.KindClusterRoleBinding, "", impersonation, "uid-2"), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			beside := granted(record.KindClusterRole, "", impersonation+"3", "uid-3")
			g := &record.Grant{Objects: []record.GrantedObject{beside, test.object}}
			assert.Equal(t, test.clusterWide, g.ClusterWide())
			assert.Equal(t, test.given, g.IsGiven())
		})
	}
	assert.False(t, (&record.Grant{}).ClusterWide())
	assert.False(t, (&record.Grant{}).IsGiven())
}

// G7: a grant covers the namespaces in which it has a Role, and no others, however many there
// are; what is about to be made, or stands in its way, covers nothing.
func TestG7Covers(t *testing.T) {
	b := newBook(t)
	change := record.GrantChange{PeerUID: uid, PeerName: "west", Capability: "logs"}
	foreign := granted(record.KindRole, "foreign", record.GrantPrefix+"1", "")
	foreign.Foreign = true
	change.Put = []record.GrantedObject{
		granted(record.KindRole, "b", record.GrantPrefix+"1", "uid-1"), granted(record.KindRoleBinding, "b", record.GrantPrefix+"1", "uid-2"),
		granted(record.KindRole, "a", record.GrantPrefix+"2", ""), granted(record.KindRole, "a", record.GrantPrefix+"1", "uid-3"), // one replaces the other
		granted(record.KindRole, "about", record.GrantPrefix+"1", ""), granted(record.KindRoleBinding, "bound", record.GrantPrefix+"1", "uid-4"),
		granted(record.KindRole, "z", record.ImpersonationPrefix+"1", "uid-5"), foreign,
		granted(record.KindClusterRole, "", record.GrantPrefix+"1", "uid-6"),
	}
	b.must(func(tx record.Tx) error { return record.ChangeGrant(tx, change) })
	grant := b.Grant(uid, "logs")
	for namespace, want := range map[string]bool{
		"a": true, "b": true, "about": false, "bound": false, "foreign": false, "z": false, "": false, "aa": false, "0": false, "zz": false,
	} {
		assert.Equal(t, want, grant.Covers(namespace), namespace)
	}
	assert.False(t, (&record.Grant{}).Covers("a"))
}

// G5: a proof is worth something on the object that it was made for, and nowhere else.
func TestG5Proof(t *testing.T) {
	key, err := record.NewGrantKey(bytes.NewReader(bytes.Repeat([]byte{1}, 32)))
	require.NoError(t, err)
	other, err := record.NewGrantKey(bytes.NewReader(bytes.Repeat([]byte{2}, 32)))
	require.NoError(t, err)
	object := granted(record.KindRole, "a", "b-c", "uid-1")
	proof := key.Proof(uid, object)
	assert.Len(t, proof, 64)
	assert.True(t, key.Proves(proof, uid, object))
	object.UID = ""
	assert.True(t, key.Proves(proof, uid, object), "before it is made it has no UID")
	for name, wrong := range map[string]record.GrantedObject{
		"kind":      granted(record.KindRoleBinding, "a", "b-c", ""),
		"namespace": granted(record.KindRole, "x", "b-c", ""),
		"name":      granted(record.KindRole, "a", "x", ""),
		"shifted":   granted(record.KindRole, "a-b", "c", ""),
		"joined":    granted(record.KindRole, "ab", "-c", ""),
	} {
		assert.False(t, key.Proves(proof, uid, wrong), name)
	}
	assert.False(t, key.Proves(proof, "another", object))
	assert.False(t, key.Proves("", uid, object))
	assert.False(t, other.Proves(proof, uid, object))
	for _, none := range []*record.GrantKey{nil, {}} {
		assert.False(t, none.Proves((&record.GrantKey{}).Proof(uid, object), uid, object), "without a key none is right")
	}
	_, err = record.NewGrantKey(bytes.NewReader([]byte("short")))
	require.Error(t, err)
	_, err = record.NewGrantKey(failing{})
	require.ErrorIs(t, err, errFailing)
}

var errFailing = errors.New("no random bytes")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errFailing }

// R15: the key prints redacted, and is kept when it is stored.
func TestR15GrantKey(t *testing.T) {
	const canary = "CANARYgrantkey"
	key := &record.GrantKey{Key: record.NewSecret([]byte(canary))}
	for _, value := range []any{key, *key, struct{ hidden *record.GrantKey }{key}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%q"} {
			text := fmt.Sprintf(verb, value)
			assert.NotContains(t, text, canary)
			assert.NotContains(t, text, fmt.Sprintf("%x", canary))
		}
		data, err := json.Marshal(value)
		require.NoError(t, err)
		assert.NotContains(t, string(data), canary)
	}
	data, err := record.Encode(key)
	require.NoError(t, err)
	read := &record.GrantKey{}
	require.NoError(t, record.Decode(data, read))
	assert.Equal(t, canary, string(read.Key.Reveal()))
}
