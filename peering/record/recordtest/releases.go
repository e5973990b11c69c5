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
	"testing"

	"github.com/stretchr/testify/assert"

	"entente.dev/entente/peering/record"
)

func applied(kind, name string) record.ReleaseObject {
	return record.ReleaseObject{Group: "apps", Version: "v1", Kind: kind, Resource: "deployments", Namespace: "a", Name: name}
}

func testReleases(t *testing.T, l ledger) {
	assert.Empty(t, l.Releases())
	first := &record.Release{UID: "u-1", Namespace: "a", Name: "shop", Target: "t-1"}
	first.List(applied("Deployment", "web"), applied("Deployment", "db"), applied("Deployment", "web"))
	second := &record.Release{UID: "u-2", Namespace: "b", Name: "shop", Target: "t-1"}
	l.update(t, func(tx record.Tx) error { return errors.Join(tx.PutRelease(first), tx.PutRelease(second)) })
	eventually(t, func() bool { return len(l.Releases()) == 2 }, "the releases")
	assert.ElementsMatch(t, []*record.Release{first, second}, l.Releases())
	assert.Equal(t, first, l.Release("u-1"))
	assert.Nil(t, l.Release("u-3"))

	l.update(t, func(tx record.Tx) error {
		read, err := tx.Release("u-1")
		assert.NoError(t, err)
		assert.Equal(t, first, read)
		read.Strike(applied("Deployment", "db"), applied("Deployment", "absent"))
		assert.NoError(t, tx.PutRelease(read))
		again, err := tx.Release("u-1")
		assert.NoError(t, err)
		assert.Equal(t, []record.ReleaseObject{applied("Deployment", "web")}, again.Objects, "its own writes")
		absent, err := tx.Release("u-3")
		assert.Nil(t, absent)
		return err
	})
	l.update(t, func(tx record.Tx) error { return tx.DeleteRelease("u-2") })
	l.update(t, func(tx record.Tx) error { return tx.DeleteRelease("u-2") })
	eventually(t, func() bool { return len(l.Releases()) == 1 }, "the deletion")
	assert.Equal(t, []record.ReleaseObject{applied("Deployment", "web")}, l.Releases()[0].Objects)
	for _, odd := range []string{"", "a/b", "a b"} {
		assert.Error(t, l.Update(t.Context(), func(tx record.Tx) error { return tx.PutRelease(&record.Release{UID: odd}) }), odd)
	}
}
