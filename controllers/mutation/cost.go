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
	"regexp/syntax"
	"strings"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// What a unit of cost stands for: each is about 0.1 µs.
const (
	// bytesPerCost is how many bytes are read, copied or counted for a unit.
	bytesPerCost = 10
	// costDirective is what writing one argument of format costs at most: that of %.99f.
	costDirective = 100
	// What compiling a regular expression costs: for each of its characters, for each
	// instruction it becomes, for each class in brackets, and for each class of Unicode, which
	// has some hundreds of ranges.
	costCharacter   = 2
	costInstruction = 20
	costClass       = 50
	costUnicode     = 2000
	// stepsPerCost is how many instructions of a regular expression are held against one
	// character for a unit.
	stepsPerCost = 5
	// costQuery is how many times more than reading it making a map of a query costs.
	costQuery = 20
	// costQuantity and costVersion are what reading the largest of them costs.
	costQuantity = 10
	costVersion  = 200
	// costPart is about what compiling one part of an expression costs.
	costPart = 40
)

// costs tells what calls cost. It knows better than those of cel-go and Kubernetes: for them
// many functions cost the same whatever they are called with, as charAt, size, or isURL.
type costs struct{}

// CallCost returns what a call has cost: more the longer its arguments and what it came to
// are. It is always called after the call, so guard.go limits what one may be called with.
func (costs) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	cost := 1
	for _, arg := range args {
		cost += costOf(arg, readsEntries(function))
	}
	cost += costOf(result, false)
	switch function {
	case "split", "findAll", "getQuery":
		cost += costOf(result, true)
	}
	switch function {
	case "getQuery":
		cost *= costQuery
	case "format":
		if text, ok := args[0].(types.String); ok {
			cost += strings.Count(string(text), "%") * costDirective
		}
	case "contains", "indexOf", "lastIndexOf":
		if len(args) > 1 {
			cost += costOf(args[0], false) * costOf(args[1], false)
		}
	case "matches", "find", "findAll":
		// It is not even looked at if the guard has not let it pass.
		if text, ok := args[1].(types.String); ok && isPattern(string(text)) {
			cost += patternCost(string(text)) + (length(args[0])+1)*instructions(string(text))/stepsPerCost
		}
	}
	total := uint64(max(cost, 1))
	return &total
}

// readsEntries tells whether a function reads all of a list or map that it is called with.
func readsEntries(function string) bool {
	switch function {
	case operators.Equals, operators.NotEquals, operators.In, "isSorted", "max", "min", "sum", "join", "format", "string":
		return true
	}
	return false
}

// costOf returns what reading a value costs, perhaps with all that is in it. It does not go on
// when that is more than an expression may cost: a value may be in another many times.
func costOf(value ref.Val, entries bool) int {
	left := MaxCost + 1
	spend(value, entries, &left)
	return MaxCost + 1 - max(left, 0)
}

// spend takes what reading a value costs off what is left.
func spend(value ref.Val, entries bool, left *int) {
	switch whole := value.(type) {
	case types.String, types.Bytes:
		*left -= (length(value) + bytesPerCost - 1) / bytesPerCost
	case apiservercel.URL:
		*left -= (len(whole.Host) + len(whole.Path) + len(whole.RawQuery) + len(whole.Fragment)) / bytesPerCost
	case apiservercel.Quantity:
		*left -= costQuantity
	case apiservercel.Semver:
		*left -= costVersion
	case *types.Optional:
		if whole.HasValue() {
			spend(whole.GetValue(), entries, left)
		}
	case traits.Lister:
		if !entries {
			return
		}
		for each := whole.Iterator(); *left > 0 && each.HasNext() == types.True; {
			*left--
			spend(each.Next(), true, left)
		}
	case traits.Mapper:
		if !entries {
			return
		}
		for each := whole.Iterator(); *left > 0 && each.HasNext() == types.True; {
			*left -= 2
			key := each.Next()
			spend(key, true, left)
			spend(whole.Get(key), true, left)
		}
	}
}

// isPattern tells whether a regular expression may be compiled at all. One that does not
// mind the case has each character of a range looked at, of which there can be a million,
// so there are no ranges beyond ASCII in those.
func isPattern(text string) bool {
	if len(text) > maxPattern {
		return false
	}
	if strings.Contains(text, "(?") && strings.Contains(text, "i") && (strings.Contains(text, `\x`) || !isASCII(text)) {
		return false
	}
	return true
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

// patternCost returns what compiling a regular expression costs, if isPattern allows it.
func patternCost(text string) int {
	unicode := strings.Count(text, `\p`) + strings.Count(text, `\P`)
	return len(text)*costCharacter + instructions(text)*costInstruction + strings.Count(text, "[")*costClass + unicode*costUnicode
}

// instructions returns how many a regular expression is compiled to, 0 if it is none.
func instructions(text string) int {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0
	}
	compiled, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0
	}
	return len(compiled.Inst)
}
