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

package mutation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
)

type mutations = []corev1alpha1.ReleaseMutation

// canary stands for what no fault may quote.
const canary = "CANARY-7d1f"

var testCluster = map[string]string{"name": "east", "region": "eu-1", "zones": "a,b,c", "n": "3", "secret": canary}

func set(kind, path, expression string) corev1alpha1.ReleaseMutation {
	return corev1alpha1.ReleaseMutation{Target: corev1alpha1.ReleaseMutationTarget{Kind: kind}, Path: path, Expression: expression}
}

func parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	var object unstructured.Unstructured
	require.NoError(t, object.UnmarshalJSON([]byte(text)))
	return &object
}

func write(t testing.TB, object *unstructured.Unstructured) string {
	t.Helper()
	text, err := json.Marshal(object.Object)
	require.NoError(t, err)
	return string(text)
}

const thing = `{"apiVersion":"v1","kind":"Thing","metadata":{"name":"a","namespace":"n","labels":{"l":"v"}},"spec":{"list":[1,{"x":1},[2]],"scalar":"s","null":null},"status":{}}`

// apply compiles and applies mutations to objects.
func apply(t testing.TB, list mutations, objects ...*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	t.Helper()
	plan, err := Compile(t.Context(), list)
	if err != nil {
		return nil, err
	}
	return plan.Apply(t.Context(), objects, testCluster)
}

// requireFault requires a fault, and that it quotes nothing.
func requireFault(t testing.TB, err error, text string) {
	t.Helper()
	var fault *Fault
	require.ErrorAs(t, err, &fault)
	assert.Contains(t, err.Error(), text)
	assert.NotContains(t, err.Error(), canary)
	assert.NotContains(t, err.Error(), "%!")
}

// C4: what an expression comes to is set, where the path says.
func TestC4Sets(t *testing.T) {
	for name, test := range map[string]struct{ path, expression, after string }{
		"string":               {"/spec/new", `cluster.region`, `"new":"eu-1"`},
		"in place":             {"/spec/scalar", `cluster["name"]`, `"scalar":"east"`},
		"int":                  {"/spec/new", `int(cluster.n) + 1`, `"new":4`},
		"uint":                 {"/spec/new", `3u`, `"new":3`},
		"double":               {"/spec/new", `1.5`, `"new":1.5`},
		"bool":                 {"/spec/new", `'region' in cluster && has(cluster.n)`, `"new":true`},
		"null is set":          {"/spec/scalar", `null`, `"scalar":null`},
		"bytes":                {"/spec/new", `b'abc'`, `"new":"YWJj"`},
		"timestamp":            {"/spec/new", `timestamp('2026-01-02T03:04:05.5+01:00')`, `"new":"2026-01-02T02:04:05.5Z"`},
		"duration":             {"/spec/new", `duration('1m1.5s')`, `"new":"61.5s"`},
		"whole duration":       {"/spec/new", `duration('100s')`, `"new":"100s"`},
		"list":                 {"/spec/new", `cluster.zones.split(',')`, `"new":["a","b","c"]`},
		"map":                  {"/spec/new", `{'a': {'b': [1]}}`, `"new":{"a":{"b":[1]}}`},
		"macro":                {"/spec/new", `cluster.zones.split(',').filter(z, z != 'b').map(z, {'zone': cluster.region + z})`, `"new":[{"zone":"eu-1a"},{"zone":"eu-1c"}]`},
		"macro in a macro":     {"/spec/new", `cluster.zones.split(',').map(z, [1, 2].map(i, z + string(i)))`, `"new":[["a1","a2"],["b1","b2"],["c1","c2"]]`},
		"macro over keys":      {"/spec/new", `cluster.all(k, v, k != v)`, `"new":true`},
		"macro that maps":      {"/spec/new", `{'a': 1}.transformMap(k, v, v + 1)`, `"new":{"a":2}`},
		"optional":             {"/spec/new", `cluster[?'none'].orValue('d') + cluster.?region.orValue('')`, `"new":"deu-1"`},
		"format":               {"/spec/new", `'%s-%d-%.2f'.format([cluster.name, 1, 2.0])`, `"new":"east-1-2.00"`},
		"replace, join":        {"/spec/new", `cluster.zones.replace(',', '-', 1) + cluster.zones.split(',').join('+')`, `"new":"a-b,ca+b+c"`},
		"search":               {"/spec/new", `cluster.region.matches('^eu') && cluster.region.indexOf('-') == 2 && cluster.region.find('[0-9]') == '1'`, `"new":true`},
		"quantity":             {"/spec/new", `quantity('1Ki').asInteger()`, `"new":1024`},
		"maps are made":        {"/spec/a/b/c", `1`, `"a":{"b":{"c":1}}`},
		"null is not there":    {"/spec/null/b", `1`, `"null":{"b":1}`},
		"root field":           {"/data/k", `'v'`, `"data":{"k":"v"}`},
		"append":               {"/spec/list/-", `2`, `"list":[1,{"x":1},[2],2]`},
		"append inside":        {"/spec/list/2/-", `3`, `"list":[1,{"x":1},[2,3]]`},
		"index":                {"/spec/list/0", `2`, `"list":[2,{"x":1},[2]]`},
		"through an index":     {"/spec/list/1/y", `2`, `"list":[1,{"x":1,"y":2},[2]]`},
		"dash in a map":        {"/spec/-", `2`, `"-":2`},
		"digits in a map":      {"/spec/0", `2`, `"0":2`},
		"escapes":              {"/spec/a~1b~0c", `2`, `"a/b~c":2`},
		"escape of an escape":  {"/spec/~01", `2`, `"~1":2`},
		"label":                {"/metadata/labels/example.com~1a", `cluster.n`, `"labels":{"example.com/a":"3","l":"v"}`},
		"annotation":           {"/metadata/annotations/a", `cluster.n`, `"annotations":{"a":"3"}`},
		"metadata of another":  {"/spec/template/metadata/name", `'x'`, `"metadata":{"name":"x"}`},
		"wide characters":      {"/spec/ключ", `'значение'`, `"ключ":"значение"`},
		"deep path":            {"/a" + strings.Repeat("/a", 511), `1`, strings.Repeat(`{"a":`, 512) + "1"},
		"whole field":          {"/spec", `{}`, `"spec":{}`},
		"escaped name is none": {"/metadata~1name", `1`, `"metadata/name":1`},
	} {
		t.Run(name, func(t *testing.T) {
			before := parse(t, thing)
			after, err := apply(t, mutations{set("Thing", test.path, test.expression)}, before)
			require.NoError(t, err)
			assert.Contains(t, write(t, after[0]), test.after)
			assert.Equal(t, parse(t, thing), before, "the input is not changed")
			assert.NotPanics(t, func() { after[0].DeepCopy() }, "it has the types of JSON")
		})
	}
}

// C4: neither what an object is, nor what others write, can be set.
func TestC4ForbiddenPaths(t *testing.T) {
	for _, path := range []string{
		"", "/", "spec", "//", "/spec/", "/spec//a", "/metadata/name/", "/metadata//name", "//metadata/name",
		"/~", "/spec/~2", "/spec/a~", "/spec/~~0",
		"/apiVersion", "/kind", "/apiVersion/a", "/kind/0", "/KIND", "/ApiVersion", "/\u212aind",
		"/metadata", "/Metadata/name", "/METADATA/labels/a", "/metadata/Labels/a",
		"/metadata/name", "/metadata/namespace", "/metadata/generateName", "/metadata/uid", "/metadata/resourceVersion", "/metadata/generation",
		"/metadata/creationTimestamp", "/metadata/deletionTimestamp", "/metadata/deletionGracePeriodSeconds", "/metadata/managedFields",
		"/metadata/managedFields/0", "/metadata/selfLink", "/metadata/ownerReferences", "/metadata/ownerReferences/-", "/metadata/finalizers",
		"/metadata/finalizers/-", "/metadata/labels", "/metadata/annotations", "/metadata/labels/a/b", "/metadata/annotations/a/-",
		"/metadata/labels/core.convoy.kumodo.io~1release", "/metadata/labels/Core.convoy.kumodo.io~1release", "/metadata/other",
		"/status", "/status/phase", "/Status", "/\xff", "/" + strings.Repeat("é", 1024),
	} {
		t.Run(path, func(t *testing.T) {
			_, err := Compile(t.Context(), mutations{set("Thing", path, `'`+canary+`'`)})
			requireFault(t, err, "spec.mutations[0].path: ")
		})
	}
	_, err := Compile(t.Context(), mutations{set("ThingList", "/items/0/metadata/name", "'a'")})
	requireFault(t, err, "is in a list of objects")
	_, err = Compile(t.Context(), mutations{set("Thing", "/"+strings.Repeat("é", 1023), "1"), set("Thing", "/items", "[1]")})
	require.NoError(t, err)
}

// C4, R15: what cannot be compiled is said by its place, and by closed texts.
func TestC4CompileFaults(t *testing.T) {
	for name, test := range map[string]struct{ path, expression, text string }{
		"empty":                  {"/spec", "", "spec.mutations[1].expression: is no CEL"},
		"not UTF-8":              {"/spec", "'\xff'", "is no CEL"},
		"syntax":                 {"/spec", "1 +\n  CANARY-7d1f +", "is no CEL, at line 2, column"},
		"unknown name":           {"/spec", "'a' + CANARY", "has a name or function that there is not, or types that do not go together, at line 1, column 7"},
		"unknown function":       {"/spec", "CANARY(1)", "column 7"},
		"types":                  {"/spec", "'CANARY-7d1f' + 1", "types that do not go together"},
		"bad regex":              {"/spec", "cluster.n.matches('CANARY-7d1f(')", "types that do not go together"},
		"too long":               {"/spec", "'" + strings.Repeat("x", 4096) + "'", "is longer than 4,096 characters"},
		"too deep":               {"/spec", strings.Repeat("[", 1000) + strings.Repeat("]", 1000), "is no CEL"},
		"message":                {"/spec", "google.protobuf.Value{string_value: 'CANARY-7d1f'}", "has a protobuf message"},
		"dyn":                    {"/spec", "dyn('CANARY-7d1f')", "has a function that mutations do not have"},
		"time zones":             {"/spec", "timestamp('2026-01-01T00:00:00Z').getHours('CANARY-7d1f')", "has a function that mutations do not have"},
		"sets":                   {"/spec", "sets.contains([1], [1])", "has a function that mutations do not have"},
		"macro over lists":       {"/spec", "[['CANARY-7d1f']].map(a, a)", "has a macro over what may be lists or maps: there are only those over strings, numbers and the like, at line 1, column"},
		"accumulator":            {"/spec", "[1].map(a, __result__)", "has a name or function"},
		"optMap":                 {"/spec", "optional.of(1).optMap(a, a)", "has a name or function"},
		"cost in any case":       {"/spec", "[" + strings.Repeat("0,", 99) + "0]" + strings.Repeat(".all(a, ["+strings.Repeat("0,", 99)+"0]", 0) + ".all(a, [" + strings.Repeat("0,", 99) + "0].all(b, [" + strings.Repeat("0,", 99) + "0].all(c, true)))", "costs more"},
		"label that is a number": {"/metadata/labels/a", "1", "expression: does not come to a string"},
		"label that is null":     {"/metadata/annotations/a", "null", "expression: does not come to a string"},
		"label that may be":      {"/metadata/annotations/a", "cluster[?'a']", "expression: does not come to a string"},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := Compile(t.Context(), mutations{set("Thing", "/spec", "1"), set("Thing", test.path, test.expression)})
			if err == nil {
				_, err = plan.Apply(t.Context(), []*unstructured.Unstructured{parse(t, thing)}, testCluster)
			}
			requireFault(t, err, test.text)
			assert.NotContains(t, err.Error(), "CANARY")
		})
	}
	_, err := Compile(t.Context(), make(mutations, 257))
	requireFault(t, err, "spec.mutations: has more than 256 mutations")
	_, err = Compile(t.Context(), mutations{set("", "/spec", "1")})
	requireFault(t, err, "spec.mutations[0].target: has no kind")
}

// C4, R15: what cannot be evaluated or set is said by closed texts, and no value.
func TestC4ApplyFaults(t *testing.T) {
	for name, test := range map[string]struct{ path, expression, text string }{
		"no such key":       {"/spec", "cluster.canary", "expression: reads a key that is not there"},
		"no number":         {"/spec", "int(cluster.secret)", "expression: could not be evaluated"},
		"overflow":          {"/spec", "9223372036854775807 + int(cluster.n)", "comes to a number that is too large on the way"},
		"division":          {"/spec", "1 / (int(cluster.n) - 3)", "divides by zero"},
		"index":             {"/spec", "cluster.zones.split(',')[5]", "reads an entry that a list has not"},
		"no optional":       {"/spec", "cluster[?'a'].value()", "reads the value of an optional that has none"},
		"optional":          {"/spec", "cluster[?'secret']", "comes to an optional"},
		"type":              {"/spec", "string", "comes to what JSON does not have"},
		"quantity":          {"/spec", "quantity('1Gi')", "comes to what JSON does not have"},
		"infinity":          {"/spec", "1.0 / 0.0", "comes to infinity"},
		"large uint":        {"/spec", "18446744073709551615u", "comes to a number that is too large for JSON"},
		"keys":              {"/spec", "{1: cluster.secret}", "comes to a map with keys that are no strings"},
		"too large":         {"/spec", "[" + strings.Repeat("'"+strings.Repeat("x", 100)+"',", 9) + "''].map(a, [" + strings.Repeat("a,", 200) + "a])", "comes to more than 64 KiB"},
		"cost":              {"/spec", digits + ".all(a, " + digits + ".all(b, " + digits + ".all(c, " + digits + ".all(d, " + digits + ".all(e, a+b+c+d+e >= 0)))))", "costs more to evaluate than it may"},
		"through a scalar":  {"/spec/scalar/a", "cluster.secret", "path: leads through what is neither an object nor a list"},
		"huge index":        {"/spec/list/99999999999999999999", "1", "path: leads to an entry that a list has not"},
		"index at the end":  {"/spec/list/3", "1", "leads to an entry"},
		"negative index":    {"/spec/list/-1", "1", "leads to an entry"},
		"index with a zero": {"/spec/list/01", "1", "leads to an entry"},
		"index with a plus": {"/spec/list/+1", "1", "leads to an entry"},
		"key of a list":     {"/spec/list/x", "1", "leads to an entry"},
		"beyond a dash":     {"/spec/list/-/x", "1", "goes on after a dash"},
	} {
		t.Run(name, func(t *testing.T) {
			before := parse(t, thing)
			after, err := apply(t, mutations{set("Thing", "/spec/first", "1"), set("Thing", test.path, test.expression)}, before)
			assert.Nil(t, after)
			requireFault(t, err, test.text)
			assert.Contains(t, err.Error(), "spec.mutations[1].")
			assert.Equal(t, parse(t, thing), before, "the input is not changed")
		})
	}
}

const digits = "[0,1,2,3,4,5,6,7,8,9]"

// C4: what would keep the parser, the type checker or the evaluation busy for ever, or take
// all memory, ends soon.
func TestC4BombsEnd(t *testing.T) {
	long := "'" + strings.Repeat("a", 1000) + "'"
	nested := "1"
	for range 100 {
		nested = "[[a,a]].map(a," + nested + ")"
	}
	for name, expression := range map[string]string{
		"optMap":              "optional.of(1)" + strings.Repeat(".optMap(a,a)", 100),
		"types of maps":       "[{[1]:[1]}]" + strings.Repeat(".map(a,{a:a})", 100),
		"types of lists":      "[1]" + strings.Repeat(".map(a,[a,a])", 200),
		"types in each other": "[1].map(a," + nested + ")",
		"types by branches":   "[1]" + strings.Repeat(".map(a,true?[a,a]:[a])", 100),
		"types by optionals":  "[1]" + strings.Repeat(".map(a,optional.of([a,a]).value())", 100),
		"types by maps":       "[1]" + strings.Repeat(".map(a,{'k':[a,a]}.k)", 100),
		"types by transform":  "{1:1}" + strings.Repeat(".transformMap(k,v,[v,v])", 100),
		"sums of lists":       "[1]" + strings.Repeat(".map(a,a+a)", 100),
		"replace":             long + strings.Repeat(".replace('a',"+long+")", 3),
		"replace of nothing":  long + strings.Repeat(".replace('',"+long+")", 3),
		"join":                digits + ".map(a," + digits + ".map(b," + long + ").join(" + long + ")).join(" + long + ")",
		"sums of strings":     "['a']" + strings.Repeat(".map(a,a+a+a+a+a+a+a+a)", 100),
		"format":              "'" + strings.Repeat("%s", 100) + "'.format([" + strings.Repeat(long[:30]+"',", 99) + "''])",
		"precision":           "'%.999999999f'.format([1.0])",
		"precision of a sum":  "('%.99999999' + '9f').format([1.0])",
		"precision of e":      "('%.99999999' + '9e').format([1.0])",
		"search":              "(" + strings.Repeat("'"+strings.Repeat("a", 1000)+"'+", 3) + "'')" + ".split('').map(a, a + a).join('aaaaaaaa').indexOf(" + long[:900] + "b')",
		"pattern":             digits + ".map(a," + digits + ".map(b," + long + ").join(''))" + ".join('').matches(" + digits + ".map(a,'(a?){999}').join('')+'b')",
		"quantity":            "quantity('1e2147483647').isGreaterThan(quantity('1e-2147483647'))",
		"quantity sum":        "quantity('1e99999999').add(quantity('1e-99999999'))",
		"constant pattern":    digits + ".map(a," + long + ").join('').matches('(a?){999}b')",
		"nested pattern":      digits + ".map(a," + long + ").join('').find('(a{30}){30}b')",
		"is quantity":         "isQuantity('1e-999999999')",
		"quantity integer":    "quantity('1e999999999').asInteger()",
		"quantity float":      "quantity('1e999999999').asApproximateFloat()",
		"minus":               strings.Repeat("-", 4000) + "1",
		"and":                 "true" + strings.Repeat("&&true", 600),
		"junk":                strings.Repeat("a?.[b]{", 500),
		"same lists":          digits + ".map(a," + digits + ".map(b,[" + strings.Repeat("0,", 500) + "0])) == " + digits + ".map(a," + digits + ".map(b,[" + strings.Repeat("0,", 500) + "0]))",
		"repeated lists":      digits + ".all(a," + digits + ".all(b," + digits + ".all(c,[[" + strings.Repeat("0,", 900) + "0]]==[[" + strings.Repeat("0,", 900) + "0]])))",
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan struct{})
			begin := time.Now()
			go func() {
				defer close(done)
				_, err := apply(t, mutations{set("Thing", "/spec", expression)}, parse(t, thing))
				t.Log(time.Since(begin), err)
			}()
			select {
			case <-done:
			case <-time.After(20 * time.Second):
				require.Fail(t, "it does not end")
			}
		})
	}
}

// C4: all mutations together are bounded too.
func TestC4BoundedTogether(t *testing.T) {
	expensive := "[1,2,3,4,5].all(a, " + digits + ".all(b, " + digits + ".all(c, '%.99f'.format([1.0]) != '')))"
	list := make(mutations, 100)
	for i := range list {
		list[i] = set("Thing", "/spec/x", expensive)
	}
	_, err := apply(t, list[:1], parse(t, thing))
	require.NoError(t, err)
	_, err = apply(t, list, parse(t, thing))
	requireFault(t, err, "costs more to evaluate than it may, with those before it")

	objects := make([]*unstructured.Unstructured, 256)
	for i := range objects {
		objects[i] = parse(t, thing)
	}
	for i := range list {
		list[i] = set("Thing", "/spec/list/-", "'"+strings.Repeat("x", 300)+"'")
	}
	_, err = apply(t, list, objects...)
	requireFault(t, err, "path: adds to more than 4 MiB, with what was set before")
	for i := range list {
		list[i] = set("Thing", fmt.Sprintf("/spec/%d%s", i, strings.Repeat("/a", 500)), "1")
	}
	_, err = apply(t, list, objects...)
	requireFault(t, err, "path: adds to more than 4 MiB, with what was set before")

	plan, err := Compile(t.Context(), list[:1])
	require.NoError(t, err)
	_, err = plan.Apply(t.Context(), objects, map[string]string{"a": strings.Repeat(canary, 10000)})
	requireFault(t, err, "spec.mutations: cannot be carried out: the metadata of the Cluster is longer than 64 KiB")
}

// C4: a mutation is for the objects of which all is true that its target says.
func TestC4Targets(t *testing.T) {
	objects := func() []*unstructured.Unstructured {
		return []*unstructured.Unstructured{
			parse(t, `{"apiVersion":"v1","kind":"Thing","metadata":{"name":"a"}}`),
			parse(t, `{"apiVersion":"v1","kind":"Thing","metadata":{"name":"b","namespace":"n"}}`),
			parse(t, `{"apiVersion":"apps/v1","kind":"Thing","metadata":{"name":"a","namespace":"n"}}`),
			parse(t, `{"apiVersion":"apps/v2","kind":"Other","metadata":{"name":"a"}}`),
		}
	}
	for name, test := range map[string]struct {
		target corev1alpha1.ReleaseMutationTarget
		want   []int
	}{
		"kind":        {corev1alpha1.ReleaseMutationTarget{Kind: "Thing"}, []int{0, 1}},
		"group":       {corev1alpha1.ReleaseMutationTarget{Group: "apps", Kind: "Thing"}, []int{2}},
		"any version": {corev1alpha1.ReleaseMutationTarget{Group: "apps", Kind: "Other"}, []int{3}},
		"name":        {corev1alpha1.ReleaseMutationTarget{Kind: "Thing", Name: "a"}, []int{0}},
		"namespace":   {corev1alpha1.ReleaseMutationTarget{Kind: "Thing", Namespace: "n"}, []int{1}},
		"none":        {corev1alpha1.ReleaseMutationTarget{Kind: "Thing", Name: "a", Namespace: "n"}, nil},
		"other case":  {corev1alpha1.ReleaseMutationTarget{Kind: "thing"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			before := objects()
			after, err := apply(t, mutations{{Target: test.target, Path: "/x/y", Expression: "{'z': 1}"}, {Target: test.target, Path: "/x/y/w", Expression: "2"}}, before...)
			if test.want == nil {
				requireFault(t, err, "spec.mutations[0].target: selects no object")
				return
			}
			require.NoError(t, err)
			var changed []int
			for i := range after {
				if after[i] == before[i] {
					continue
				}
				changed = append(changed, i)
				assert.Equal(t, map[string]any{"z": int64(1), "w": int64(2)}, after[i].Object["x"].(map[string]any)["y"])
			}
			assert.Equal(t, test.want, changed)
			assert.Equal(t, objects(), before)
		})
	}
}

// C4: mutations are carried out in order, and what they set is nobody else's.
func TestC4InOrder(t *testing.T) {
	one, two := parse(t, thing), parse(t, thing)
	two.SetName("b")
	list := mutations{set("Thing", "/spec/new", "{'a': [1]}"), set("Thing", "/spec/new/a/-", "2"), set("Thing", "/spec/new/a/0", "0")}
	list[2].Target.Name = "b"
	after, err := apply(t, list, one, two)
	require.NoError(t, err)
	assert.Contains(t, write(t, after[0]), `"new":{"a":[1,2]}`)
	assert.Contains(t, write(t, after[1]), `"new":{"a":[0,2]}`)

	plan, err := Compile(t.Context(), nil)
	require.NoError(t, err)
	after, err = plan.Apply(t.Context(), []*unstructured.Unstructured{one}, nil)
	require.NoError(t, err)
	assert.Same(t, one, after[0])
}

// C4: the end of a context is not the fault of a mutation.
func TestC4Interrupted(t *testing.T) {
	plan, err := Compile(t.Context(), mutations{set("Thing", "/spec", digits+".map(a, a)")})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = plan.Apply(ctx, []*unstructured.Unstructured{parse(t, thing)}, testCluster)
	require.ErrorIs(t, err, context.Canceled)
	var fault *Fault
	assert.False(t, errors.As(err, &fault))
}

// C4: a plan can be applied by many at the same time.
func TestC4Concurrent(t *testing.T) {
	plan, err := Compile(t.Context(), mutations{
		set("Thing", "/spec/new", "cluster.zones.split(',').map(z, '%s-%s'.format([cluster.name, z])).join(';').replace('a', cluster.name)"),
		set("Thing", "/spec/list/-", "{'a': cluster.name.matches('[a-z0-9]+')}"),
	})
	require.NoError(t, err)
	shared := parse(t, thing)
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			name := fmt.Sprint("c", i)
			for range 20 {
				after, err := plan.Apply(t.Context(), []*unstructured.Unstructured{shared}, Context(name, testCluster))
				if assert.NoError(t, err) {
					assert.Contains(t, write(t, after[0]), fmt.Sprintf(`"new":"%s-%s;%s-b;%s-c"`, name, name, name, name))
				}
			}
		})
	}
	group.Wait()
	assert.Equal(t, parse(t, thing), shared)
}

// C4: the context is the metadata and the name, which wins, and nothing else.
func TestC4Context(t *testing.T) {
	metadata := map[string]string{"name": "other", "region": "eu-1"}
	assert.Equal(t, map[string]string{"name": "east", "region": "eu-1"}, Context("east", metadata))
	assert.Equal(t, map[string]string{"name": "other", "region": "eu-1"}, metadata)
	assert.Equal(t, map[string]string{"name": "east"}, Context("east", nil))
}

// C4: expressions have the functions that the table says, and each returns what it says.
func TestC4Functions(t *testing.T) {
	env, err := language()
	require.NoError(t, err)
	for name, function := range env.Functions() {
		if !isFunction(name) || strings.ContainsAny(name, "_@!-") || strings.HasPrefix(name, "optional.") {
			continue
		}
		for _, overload := range function.OverloadDecls() {
			if shapeOfCall(name, []shape{scalar, scalar}) != scalar {
				continue
			}
			// Those with a type of their arguments return an entry of a list.
			assert.NotContains(t, []string{"list", "map", "dyn"}, overload.ResultType().TypeName(), overload.ID())
		}
	}
	names := map[string]bool{}
	for _, variable := range env.Variables() {
		names[variable.Name()] = true
	}
	assert.True(t, names[variableCluster])
	for _, name := range []string{"object", "oldObject", "request", "params", "authorizer", "namespaceObject", "variables", "self"} {
		assert.False(t, names[name], name)
	}
}

// FuzzApply: whatever the mutation, there is no panic, and what it may not change it does not.
func FuzzApply(f *testing.F) {
	for _, path := range []string{"/spec/list/-", "/metadata/labels/a", "/spec/list/1/y", "/metadata/name", "/metadata/~01", "/spec/null/b", "/kind", "/a~1b"} {
		for _, expression := range []string{"cluster.region", "{'a': [1, null]}", "cluster.zones.split(',').map(z, {z: 1})", "'%s'.format([cluster])", "[1].map(a, a).join('')", "1 / 0"} {
			f.Add(path, expression)
		}
	}
	f.Fuzz(func(t *testing.T, path, expression string) {
		before := parse(t, thing)
		after, err := apply(t, mutations{set("Thing", path, expression)}, before)
		assert.Equal(t, parse(t, thing), before)
		if err != nil {
			var fault *Fault
			require.ErrorAs(t, err, &fault)
			return
		}
		require.Len(t, after, 1)
		for _, field := range []string{"apiVersion", "kind", "status"} {
			assert.Equal(t, before.Object[field], after[0].Object[field])
		}
		metadata := after[0].Object["metadata"].(map[string]any)
		for key, value := range metadata {
			if key != "labels" && key != "annotations" {
				assert.Equal(t, before.Object["metadata"].(map[string]any)[key], value)
				continue
			}
			for _, text := range value.(map[string]any) {
				assert.IsType(t, "", text)
			}
			assert.NotContains(t, value, corev1alpha1.LabelRelease)
		}
		assert.Contains(t, metadata, "name")
		assert.Contains(t, metadata, "namespace")
		_, err = json.Marshal(after[0].Object)
		require.NoError(t, err)
		after[0].DeepCopy()
	})
}

var benchmarked = mutations{
	set("Thing", "/spec/new", "cluster.zones.split(',').map(z, {'zone': cluster.region + z})"),
	set("Thing", "/metadata/labels/a", "cluster.name"),
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		_, err := Compile(b.Context(), benchmarked)
		require.NoError(b, err)
	}
}

func BenchmarkApply(b *testing.B) {
	plan, err := Compile(b.Context(), benchmarked)
	require.NoError(b, err)
	objects := []*unstructured.Unstructured{parse(b, thing)}
	begin := time.Now()
	_, err = Compile(b.Context(), benchmarked)
	require.NoError(b, err)
	compiling := time.Since(begin)
	for b.Loop() {
		_, err := plan.Apply(b.Context(), objects, testCluster)
		require.NoError(b, err)
	}
	b.ReportMetric(float64(compiling)/(float64(b.Elapsed())/float64(b.N)), "compile/apply")
}
