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

package validation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"entente.dev/entente/apis/core"
)

// releaseOf is a stored Release of some objects.
func releaseOf(objects ...string) *core.Release {
	release := &core.Release{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a.release", UID: "uid", ResourceVersion: "5"},
		Spec:       core.ReleaseSpec{ClusterRef: core.ClusterReference{Name: "a"}, DeletionPolicy: core.ReleaseDeletionPolicyDelete},
	}
	for _, object := range objects {
		release.Spec.Resources = append(release.Spec.Resources, runtime.RawExtension{Raw: []byte(object)})
	}
	return release
}

// object is one with more in its metadata, and more beside.
func object(metadata, beside string) string {
	return `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"` + metadata + `}` + beside + `}`
}

// C4: what an object of a Release must be and say, and what it must not; told by its path.
func TestC4Objects(t *testing.T) {
	const at = "spec.resources[0]"
	for name, test := range map[string]struct {
		object string
		want   []string // after the path of the object
	}{
		"least":                       {object("", ""), nil},
		"core":                        {`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a:b.C"}}`, nil},
		"all that is the author's":    {object(`,"namespace":"b","labels":{"a":"b"},"annotations":{"c":"d"},"finalizers":["e"],"creationTimestamp":null`, `,"spec":{}`), nil},
		"a status":                    {object("", `,"status":{"replicas":1}`), nil},
		"empty namespace":             {object(`,"namespace":""`, ""), nil},
		"white space":                 {" \n" + object("", "") + " ", nil},
		"no JSON":                     {`{"kind":`, []string{"Invalid "}},
		"nothing":                     {``, []string{"Invalid "}},
		"null":                        {`null`, []string{"Invalid "}},
		"a text":                      {`"CANARY"`, []string{"Invalid "}},
		"a number":                    {`7`, []string{"Invalid "}},
		"an array":                    {`[` + object("", "") + `]`, []string{"Invalid "}},
		"empty":                       {`{}`, []string{"Required .apiVersion", "Required .kind", "Required .metadata"}},
		"no name":                     {`{"apiVersion":"v1","kind":"A","metadata":{}}`, []string{"Required .metadata.name"}},
		"of other types":              {`{"apiVersion":1,"kind":["CANARY"],"metadata":{"name":{}}}`, []string{"Required .apiVersion", "Required .kind", "Required .metadata.name"}},
		"metadata of another type":    {`{"apiVersion":"v1","kind":"A","metadata":"CANARY"}`, []string{"Required .metadata"}},
		"names in other letters":      {`{"APIVersion":"v1","Kind":"A","Metadata":{"Name":"a"}}`, []string{"Required .apiVersion", "Required .kind", "Required .metadata"}},
		"an odd API version":          {`{"apiVersion":"a/b/CANARY","kind":"A","metadata":{"name":"a"}}`, []string{"Invalid .apiVersion"}},
		"a version that is none":      {`{"apiVersion":"apps/V1!","kind":"A","metadata":{"name":"a"}}`, []string{"Invalid .apiVersion"}},
		"a group that is none":        {`{"apiVersion":"_/v1","kind":"A","metadata":{"name":"a"}}`, []string{"Invalid .apiVersion"}},
		"an empty group":              {`{"apiVersion":"/v1","kind":"A","metadata":{"name":"a"}}`, []string{"Invalid .apiVersion"}},
		"a group of all letters":      {`{"apiVersion":"` + strings.Repeat("g", 253) + "/" + strings.Repeat("v", 63) + `","kind":"A","metadata":{"name":"a"}}`, nil},
		"a group that is too long":    {`{"apiVersion":"` + strings.Repeat("g", 254) + `/v1","kind":"A","metadata":{"name":"a"}}`, []string{"Invalid .apiVersion"}},
		"a version that is too long":  {`{"apiVersion":"apps/` + strings.Repeat("v", 64) + `","kind":"A","metadata":{"name":"a"}}`, []string{"Invalid .apiVersion"}},
		"a version with a line end":   {`{"apiVersion":"v1\n","kind":"A","metadata":{"name":"a"}}`, []string{"Invalid .apiVersion"}},
		"a kind that is none":         {`{"apiVersion":"v1","kind":"A/CANARY","metadata":{"name":"a"}}`, []string{"Invalid .kind"}},
		"a kind of a CRD":             {`{"apiVersion":"v1","kind":"My-Kind2","metadata":{"name":"a"}}`, nil},
		"a long kind":                 {`{"apiVersion":"v1","kind":"` + strings.Repeat("K", 63) + `","metadata":{"name":"a"}}`, nil},
		"a kind that is too long":     {`{"apiVersion":"v1","kind":"` + strings.Repeat("K", 64) + `","metadata":{"name":"a"}}`, []string{"Invalid .kind"}},
		"a kind with a control":       {`{"apiVersion":"v1","kind":"A\u001b","metadata":{"name":"a"}}`, []string{"Invalid .kind"}},
		"a kind with the Kelvin sign": {`{"apiVersion":"v1","kind":"\u212a","metadata":{"name":"a"}}`, []string{"Invalid .kind"}},
		"a name of any letters":       {`{"apiVersion":"v1","kind":"A","metadata":{"name":"system:Ä b~"}}`, nil},
		"a name with a line end":      {`{"apiVersion":"v1","kind":"A","metadata":{"name":"a\nCANARY"}}`, []string{"Invalid .metadata.name"}},
		"a name with an escape":       {`{"apiVersion":"v1","kind":"A","metadata":{"name":"\u001b[2JCANARY"}}`, []string{"Invalid .metadata.name"}},
		"a name that ends in DEL":     {`{"apiVersion":"v1","kind":"A","metadata":{"name":"a\u007f"}}`, []string{"Invalid .metadata.name"}},
		"a name with C1":              {`{"apiVersion":"v1","kind":"A","metadata":{"name":"a\u009b"}}`, []string{"Invalid .metadata.name"}},
		"a name from right to left":   {`{"apiVersion":"v1","kind":"A","metadata":{"name":"a\u202eb"}}`, []string{"Invalid .metadata.name"}},
		"a name with another space":   {`{"apiVersion":"v1","kind":"A","metadata":{"name":"a\u2028b"}}`, []string{"Invalid .metadata.name"}},
		"a name with nothing to see":  {`{"apiVersion":"v1","kind":"A","metadata":{"name":"a\u200b"}}`, []string{"Invalid .metadata.name"}},
		"a name that is none":         {`{"apiVersion":"v1","kind":"A","metadata":{"name":"../CANARY"}}`, []string{"Invalid .metadata.name"}},
		"a name that is too long":     {`{"apiVersion":"v1","kind":"A","metadata":{"name":"` + strings.Repeat("n", 254) + `"}}`, []string{"Invalid .metadata.name"}},
		"a namespace that is none":    {object(`,"namespace":"A.CANARY"`, ""), []string{"Invalid .metadata.namespace"}},
		"a namespace of another type": {object(`,"namespace":null`, ""), []string{"Invalid .metadata.namespace"}},
		"a List":                      {`{"apiVersion":"v1","kind":"List","metadata":{"name":"a"},"items":[]}`, []string{"Invalid "}},
		"a list":                      {`{"apiVersion":"v1","kind":"PodList","metadata":{"name":"a"},"items":[{"CANARY":1}]}`, []string{"Invalid "}},
		"a kind that ends in List":    {`{"apiVersion":"a.b/v1","kind":"AllowList","metadata":{"name":"a"}}`, nil},
		"generateName":                {object(`,"generateName":"CANARY"`, ""), []string{"Forbidden .metadata.generateName"}},
		"what the server writes":      {object(`,"uid":"u","resourceVersion":"1","managedFields":null`, ""), []string{"Forbidden .metadata.managedFields", "Forbidden .metadata.resourceVersion", "Forbidden .metadata.uid"}},
		"owners":                      {object(`,"ownerReferences":[]`, ""), []string{"Forbidden .metadata.ownerReferences"}},
		"the label of Releases":       {object(`,"labels":{"core.convoy.kumodo.io/release":"CANARY"}`, ""), []string{"Forbidden .metadata.labels[core.convoy.kumodo.io/release]"}},
		"labels of another type":      {object(`,"labels":["CANARY"]`, ""), []string{"Invalid .metadata.labels"}},
	} {
		t.Run(name, func(t *testing.T) {
			release, want := releaseOf(test.object), []string(nil)
			for _, fault := range test.want {
				kind, path, _ := strings.Cut(fault, " ")
				want = append(want, "FieldValue"+kind+" "+at+path)
			}
			errs := ValidateRelease(release)
			assert.Equal(t, want, told(errs))
			assert.Equal(t, want, told(ValidateReleaseUpdate(release, releaseOf(object("", ""), object("", "")))), "an update finds the same")
			assert.NotContains(t, fmt.Sprintf("%v %+v", errs.ToAggregate(), errs), "CANARY", "R15")
		})
	}
}

// C4: no object is in a Release twice, in whichever version; without a namespace it is in that
// of the Release.
func TestC4Duplicates(t *testing.T) {
	of := func(apiVersion, kind, namespace, name string) string {
		return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"namespace":%q,"name":%q}}`, apiVersion, kind, namespace, name)
	}
	first := of("apps/v1", "Deployment", "", "a")
	for name, test := range map[string]struct {
		second string
		twice  bool
	}{
		"the same":              {first, true},
		"another version":       {of("apps/v1beta1", "Deployment", "", "a"), true},
		"the Release's own":     {of("apps/v1", "Deployment", "default", "a"), true},
		"another namespace":     {of("apps/v1", "Deployment", "b", "a"), false},
		"another name":          {of("apps/v1", "Deployment", "", "b"), false},
		"another kind":          {of("apps/v1", "StatefulSet", "", "a"), false},
		"another group":         {of("v1", "Deployment", "", "a"), false},
		"a faulty one and this": {`{}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := told(ValidateRelease(releaseOf(first, test.second)))
			assert.Equal(t, test.twice, len(got) == 1 && got[0] == "FieldValueDuplicate spec.resources[1]", "%v", got)
		})
	}
}

// C4: counts and sizes are bounded, and what is beyond them is not read.
func TestC4Bounds(t *testing.T) {
	var many []string
	for i := range MaxResources {
		many = append(many, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"n%d"}}`, i))
	}
	assert.Empty(t, ValidateRelease(releaseOf(many...)))
	assert.Equal(t, []string{"FieldValueTooMany spec.resources"}, told(ValidateRelease(releaseOf(append(many, "no JSON")...))))
	deep := strings.Repeat("[", 100000) + strings.Repeat("]", 100000)
	assert.Equal(t, []string{"FieldValueInvalid spec.resources[0]"}, told(ValidateRelease(releaseOf(object("", `,"data":`+deep)))))
}

// C4: the form of a mutation.
func TestC4Mutations(t *testing.T) {
	for pointer, valid := range map[string]bool{
		"/": true, "/spec/replicas": true, "/a~0b/c~1d": true, "/a/-": true, "/a//b": true, "": true, // which generated code says
		"spec": false, "#/a": false, "/a~": false, "/a~2": false, "/~~0": false, "$.CANARY": false,
	} {
		release := releaseOf()
		release.Spec.Mutations = []core.ReleaseMutation{{Target: core.ReleaseMutationTarget{Kind: "A"}, Path: pointer, Expression: "1"}}
		errs := ValidateRelease(release)
		if valid {
			assert.Empty(t, errs, pointer)
			continue
		}
		require.Equal(t, []string{"FieldValueInvalid spec.mutations[0].path"}, told(errs), pointer)
		assert.NotContains(t, errs.ToAggregate().Error(), "CANARY")
	}
}

// K2: a Release whose spec is as it was is not read again.
func TestK2UnchangedRelease(t *testing.T) {
	release := releaseOf("no JSON")
	changed := release.DeepCopy()
	changed.Finalizers = nil
	assert.Empty(t, ValidateReleaseUpdate(changed, release))
}
