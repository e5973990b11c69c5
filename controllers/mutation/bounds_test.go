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
	"errors"
	"fmt"
	"math"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// allocated returns how many bytes a call has allocated, in MiB, for want of a measure of time
// that is the same on every machine.
func allocated(call func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) >> 20
}

// nest puts an expression into something as often as is said.
func nest(open, inside, end string, times int) string {
	return strings.Repeat(open, times) + inside + strings.Repeat(end, times)
}

// C4: what would keep the type checker busy is refused before it is checked.
func TestC4ExpressionsAreBounded(t *testing.T) {
	const deep, parts, deepParts = "more than 16 deep in each other", "has more than 512 parts", "has parts that are more than 64 deep in each other"
	for name, test := range map[string]struct{ fits, expression, text string }{
		"lists":          {nest("[", "1", "]", 16), nest("[", "1", "]", 17), deep},
		"many lists":     {"", nest("[", "1", "]", 240), deep},
		"maps":           {nest("{1:", "1", "}", 16), nest("{1:", "1", "}", 17), deep},
		"many maps":      {"", nest("{1:", "1", "}", 240), deep},
		"keys":           {nest("{", "1", ":1}", 16), nest("{", "1", ":1}", 17), deep},
		"optionals":      {nest("optional.of(", "1", ").value()", 16), nest("optional.of(", "1", ").value()", 17), deep},
		"of nothing":     {"", nest("optional.ofNonZeroValue(", "1", ")", 17), deep},
		"lists in calls": {nest("size([", "1", "])", 16), nest("size([", "1", "])", 17), deep},
		"macros":         {nest("[1].map(a,", "1", ")", 8), nest("[1].map(a,", "1", ")", 17), deep},
		"two variables":  {nest("{1:1}.transformList(k,v,", "1", ")", 8), nest("{1:1}.transformList(k,v,", "1", ")", 163), deep},
		"sum":            {"1" + strings.Repeat("+1", 64), "1" + strings.Repeat("+1", 65), deepParts},
		"branches":       {strings.Repeat("true?1:", 64) + "1", strings.Repeat("true?1:", 65) + "1", deepParts},
		"entries":        {"[" + strings.Repeat("1,", 508) + "1]", "[" + strings.Repeat("1,", 510) + "1]", parts},
		"empty lists":    {"[" + strings.Repeat("[],", 70) + "[]]", "[" + strings.Repeat("[],", 80) + "[]]", parts},
		"empty maps":     {"[" + strings.Repeat("{},", 70) + "{}]", "[" + strings.Repeat("{},", 80) + "{}]", parts},
		"open optionals": {"[" + strings.Repeat("optional.none(),", 80) + "optional.none()].size()", "[" + strings.Repeat("optional.none(),", 90) + "optional.none()].size()", parts},
		"small macros":   {"[" + strings.Repeat("[].map(a,a),", 10) + "[]]", "[" + strings.Repeat("[].map(a,a),", 300) + "[]]", parts},
		"patterns":       {"[" + strings.Repeat("''.matches('(a{9}){9}'),", 5) + "true]", "[" + strings.Repeat("''.matches('(a{30}){30}'),", 100) + "true]", parts},
		"find":           {"", "'a'.find('" + nest("(", "a{9}", "){9}", 2) + strings.Repeat("a{30}", 40) + "')", parts},
		"long pattern":   {"", "''.matches('" + strings.Repeat("a", 257) + "')", "has a regular expression that is longer or has more in it than it may"},
		"wide pattern":   {"''.matches('(?i)[a-z]')", `''.matches('(?i)[B-\\x{1E943}]')`, "has a regular expression that is longer or has more in it than it may"},
		"wider pattern":  {"''.matches('[é-я]')", "''.matches('(?si:[B-\U0001E943])')", "has a regular expression that is longer or has more in it than it may"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.fits != "" {
				_, err := Compile(t.Context(), mutations{set("Thing", "/spec", test.fits)})
				require.NoError(t, err)
			}
			require.LessOrEqual(t, len([]rune(test.expression)), MaxExpression)
			assert.Less(t, allocated(func() {
				_, err := Compile(t.Context(), mutations{set("Thing", "/spec", test.expression)})
				requireFault(t, err, test.text)
			}), uint64(12), "refused before it is checked")
		})
	}
}

// C4: all expressions of a Release together are bounded, in what is parsed and in what is checked.
func TestC4ExpressionsAreBoundedTogether(t *testing.T) {
	for name, test := range map[string]struct{ expression, text string }{
		"text":       {"1" + strings.Repeat(" ", 255), "all expressions together have at most 32 KiB"},
		"wide text":  {"'" + strings.Repeat("é", 100) + "'", "all expressions together have at most 32 KiB"},
		"parens":     {nest("(", "1", ")", 249), "all expressions together have at most 32 KiB"},
		"parts":      {"[" + strings.Repeat("1,", 100) + "1]", "all expressions together have at most 8,192"},
		"maps":       {nest("{1:", "1", "}", 16), "all expressions together have at most 8,192"},
		"macros":     {nest("[1].map(a,", "1", ")", 8), "all expressions together have at most 8,192"},
		"open types": {"[]" + strings.Repeat("+[]", 40), "all expressions together have at most 8,192"},
		"indices":    {"[][0]" + strings.Repeat("+[][0]", 40), "all expressions together have at most 8,192"},
		"maps, read": {"{1:1}[1]" + strings.Repeat("+{1:1}[1]", 60), "all expressions together have at most 8,192"},
		"patterns":   {"''.matches('(a{9}){9}')", "all expressions together have at most 8,192"},
	} {
		t.Run(name, func(t *testing.T) {
			list := make(mutations, MaxMutations)
			for i := range list {
				list[i] = set("Thing", "/spec", test.expression)
			}
			_, err := Compile(t.Context(), list[:2])
			require.NoError(t, err)
			list = append(list[:MaxMutations-1], set("Thing", "/spec", test.expression+" "))
			assert.Less(t, allocated(func() {
				_, err = Compile(t.Context(), list)
				if name == "text" {
					list[MaxMutations-1].Expression = strings.Repeat(" ", 256) + "1"
					_, err = Compile(t.Context(), list)
				}
			}), uint64(256))
			requireFault(t, err, test.text)
		})
	}
	list := make(mutations, MaxMutations)
	for i := range list {
		list[i] = set("Thing", "/spec", "cluster.zones.split(',').map(z, {'zone': cluster.region + z})")
	}
	_, err := Compile(t.Context(), list)
	require.NoError(t, err, "256 of what is usual")
}

// countdown is a context that ends after it was asked some times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// C4: the end of a context ends compiling between two mutations, and is not the fault of one.
func TestC4CompileInterrupted(t *testing.T) {
	list := mutations{set("Thing", "/spec", "1"), set("Thing", "/spec", "1"), set("Thing", "/spec", "cluster.")}
	for asked := range 3 {
		ctx := &countdown{Context: t.Context(), left: asked}
		_, err := Compile(ctx, list)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		var fault *Fault
		assert.False(t, errors.As(err, &fault))
	}
	_, err := Compile(&countdown{Context: t.Context(), left: 3}, list)
	requireFault(t, err, "spec.mutations[2].expression: is no CEL")
}

// C4: a function costs more the longer what it is called with is, whatever CEL says.
func TestC4FunctionsCostWhatTheyTake(t *testing.T) {
	long := map[string]string{
		"a": strings.Repeat("a", 60000), "b": strings.Repeat("b", 60000), "n": strings.Repeat("1", 60000), "c": strings.Repeat("a,", 500),
		"q": strings.Repeat("a&", 2000), "v": "1.2.3-" + strings.Repeat("1.", 100) + "1", "w": strings.Repeat("é", 30000), "x": "x",
	}
	for expression, least := range map[string]uint64{
		"cluster.a.charAt(59999)": 6000, "cluster.w.charAt(29999)": 6000, "size(cluster.a)": 6000, "cluster.a.size()": 6000,
		"cluster.a == cluster.b": 6000, "cluster.a != cluster.b": 6000, "cluster.a < cluster.b": 6000, "cluster.a + 'a'": 12000, "bytes(cluster.a)": 12000,
		"cluster.a.startsWith('b')": 6000, "cluster.a.contains('bbbbbbbbbbb')": 12000, "cluster.a.indexOf('bbbbbbbbbbb')": 12000, "cluster.a.lastIndexOf('bbbbbbbbbbb')": 12000,
		"cluster.a.substring(59999)": 6000, "cluster.a.trim()": 12000, "cluster.a.upperAscii()": 12000, "cluster.a.lowerAscii()": 12000, "cluster.a.replace('z', 'b')": 12000,
		"cluster.a.split('b')": 6000, "cluster.c.split(',')": 500, "cluster.c.split(',').join('')": 1000, "cluster.c.split(',').max()": 1000, "cluster.c.split(',').isSorted()": 1000,
		"cluster.c.split(',') == []": 1000, "'b' in cluster.c.split(',')": 1000, "cluster == cluster": 40000, "[cluster.a].max()": 6000,
		"'%s'.format([cluster.c])": 200, "'%.99f'.format([1e308])": 100, "isIP(cluster.a)": 6000, "isCIDR(cluster.a)": 6000, "ip.isCanonical(cluster.c.replace(cluster.c, '::1'))": 100,
		"isURL('http://a/' + cluster.c)": 100, "url('http://a/?' + cluster.q).getQuery().size()": 8000, "url('http://a/?' + cluster.q).getHost()": 800, "isSemver(cluster.v)": 20,
		"semver(cluster.v).compareTo(semver(cluster.v))": 400, "quantity('1').compareTo(quantity('1'))": 20, "double(cluster.n) > 0.0 || true": 6000, "int(cluster.n) > 0 || true": 6000,
		"bool(cluster.a) || true": 6000, "duration(cluster.a) == duration('1s') || true": 6000, "timestamp(cluster.a) == timestamp('2026-01-02T03:04:05Z') || true": 6000,
		"cluster.x.matches('(a{10}){25}')": 5000, "cluster.x.find('(a{10}){25}')": 5000, "cluster.x.findAll('(a{10}){25}')": 5000, `cluster.x.matches(r'\pL\pL')`: 4000,
		"cluster.c.matches('a+b')": 600, "cluster.c.findAll('a')": 1000, "cluster[cluster.a + ''] == '' || true": 6000, "optional.of(cluster.a).orValue('')": 6000,
	} {
		t.Run(expression, func(t *testing.T) {
			plan, err := Compile(t.Context(), mutations{set("Thing", "/spec", expression)})
			require.NoError(t, err)
			left := uint64(MaxTotalCost)
			_, _, _, err = plan.steps[0].program.evaluate(t.Context(), long, &left)
			require.NoError(t, err)
			assert.GreaterOrEqual(t, MaxTotalCost-left, least)
			assert.Less(t, MaxTotalCost-left, uint64(MaxCost))
		})
	}
}

// C4: what costs little in CEL and takes long is stopped by its cost, or refused.
func TestC4EvaluationIsBounded(t *testing.T) {
	long := map[string]string{"a": strings.Repeat("a", 60000), "c": strings.Repeat("a,", 1000), "q": strings.Repeat("a&", 2000)}
	for i := range 200 {
		long[fmt.Sprint(i)] = ""
	}
	const costly, large = "costs more to evaluate than it may", "calls a function with more than it takes"
	entries := "cluster.a.substring(0,1000).split('')"
	for name, test := range map[string]struct{ expression, text string }{
		"charAt":         {entries + ".all(x, cluster.a.charAt(59999) == 'a')", costly},
		"size":           {entries + ".all(x, size(cluster.a) > 1)", costly},
		"isURL":          {entries + ".all(x, !isURL(cluster.a.substring(0, 4000)))", costly},
		"query":          {"[url('http://a/?' + cluster.q)].all(u, " + entries + ".all(x, u.getQuery() != {}))", costly},
		"pattern":        {entries + ".all(x, !x.matches('(a{10}){25}b'))", costly},
		"split":          {"cluster.a.split('')", large},
		"split in parts": {"cluster.a.split('', 1025)", large},
		"split by a":     {"cluster.a.substring(0,1024).split('a')", large},
		"find all":       {"cluster.a.substring(0, 1100).findAll('a')", large},
		"sum of lists":   {entries + "+" + entries, large},
		"sum in a macro": {entries + ".transformMap(i, x, x).size() == 1000 && (" + entries + "+[" + strings.Repeat("'',", 24) + "'']).size() > 1", large},
		"same lists":     {"[" + entries + ".map(x, " + entries + ".map(y, cluster))].all(z, true)", "macro over"},
		"same maps":      {"cluster.a.substring(0,900).split('').map(x, cluster) == cluster.a.substring(0,900).split('').map(x, cluster)", costly},
		"not same maps":  {"cluster.a.substring(0,900).split('').map(x, cluster) != cluster.a.substring(0,900).split('').map(x, cluster)", costly},
		"in the same":    {"cluster in cluster.a.substring(0,900).split('').map(x, [cluster, cluster]).map(x, 'a').map(x, cluster)", "macro over"},
		"in the others":  {"{'a': 'b'} in cluster.a.substring(0,900).split('').map(x, cluster)", costly},
		"wide pattern":   {"'a'.matches('(?i)[B-' + '\U0001E943' + ']')", large},
		"hex pattern":    {`'a'.matches('(?i)[B-' + '\\x{1E943}' + ']')`, large},
		"long URL":       {"isURL('http://a/' + cluster.a)", large},
		"long version":   {"isSemver('1.2.3-' + cluster.a)", large},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			assert.Less(t, allocated(func() {
				var plan *Plan
				if plan, err = Compile(t.Context(), mutations{set("Thing", "/spec", test.expression)}); err != nil {
					return
				}
				left, found := uint64(MaxTotalCost), (*objection)(nil)
				if _, _, found, err = plan.steps[0].program.evaluate(t.Context(), long, &left); found != nil {
					err = found.at(0, FieldExpression)
				}
			}), uint64(48))
			requireFault(t, err, test.text)
		})
	}
	for _, expression := range []string{"cluster.a.split('', 1024).size() == 1024", "cluster.a.substring(0,1024).split('').size() == 1024", "cluster.a.substring(0,1023).split('a').size() == 1024", entries + ".size() == 1000", "cluster.a.substring(0,1024).findAll('a').size() == 1024", entries + ".map(x, x).map(x, x) == " + entries, "isURL('http://a/')"} {
		plan, err := Compile(t.Context(), mutations{set("Thing", "/spec", expression)})
		require.NoError(t, err)
		left := uint64(MaxTotalCost)
		value, _, found, err := plan.steps[0].program.evaluate(t.Context(), long, &left)
		require.NoError(t, err)
		require.Nil(t, found, expression)
		assert.Equal(t, true, value, expression)
	}
}

// C4: what is compared is not read for longer than a whole expression may take.
func TestC4ComparisonsAreBounded(t *testing.T) {
	all := make([]any, 1000)
	for i := range all {
		all[i] = map[string]string{"key": strings.Repeat("a", 900)}
	}
	value := types.DefaultTypeAdapter.NativeToValue(all)
	assert.True(t, readFits([]ref.Val{types.String(""), value}))
	assert.False(t, readFits([]ref.Val{types.String(""), types.DefaultTypeAdapter.NativeToValue([]any{value, value})}))
	assert.Equal(t, MaxCost+1, costOf(types.DefaultTypeAdapter.NativeToValue([]any{value, value, value}), true), "it does not go on")
}

// C4: guards refuse what is compared before it is, not only by its cost after.
func TestC4ComparisonsAreRefusedBefore(t *testing.T) {
	env, err := language()
	require.NoError(t, err)
	long := Context("east", map[string]string{"a": strings.Repeat("a", 60000)})
	const all = "cluster.a.substring(0,900).split('').map(x, cluster)"
	for _, expression := range []string{all + " == " + all, all + " != " + all, "{'a': 'b'} in " + all} {
		checked, issues := env.Compile(expression)
		require.NoError(t, issues.Err())
		unlimited, err := env.Program(checked, cel.CostLimit(math.MaxInt64), cel.CustomDecoratorV2(guards(env)))
		require.NoError(t, err)
		_, _, err = unlimited.Eval(map[string]any{variableCluster: long})
		require.ErrorContains(t, err, errTooLarge, expression)
	}
}

// C4: what the guard refuses is not looked at for its cost, and URLs cost what they are long.
func TestC4CostsOfCalls(t *testing.T) {
	refused := costs{}.CallCost("matches", "", []ref.Val{types.String(""), types.String("(?i)[B-\U0001E943]{9}")}, types.NewErr(errTooLarge))
	assert.Less(t, *refused, uint64(10))
	long := apiservercel.URL{URL: &url.URL{Host: "a", RawQuery: strings.Repeat("a", 4000)}}
	assert.GreaterOrEqual(t, *costs{}.CallCost("getHost", "", []ref.Val{long}, types.String("a")), uint64(400))
}

// C4: a value is converted no deeper than is said, however it was made.
func TestC4ValuesAreBounded(t *testing.T) {
	value := any(fmt.Sprint(1))
	for range maxDepth + 1 {
		value = []any{value}
	}
	_, found := (&converter{}).convert(types.DefaultTypeAdapter.NativeToValue(value), 0)
	require.NotNil(t, found)
	assert.Equal(t, "comes to lists or maps more than 64 levels deep", found.text)
}
