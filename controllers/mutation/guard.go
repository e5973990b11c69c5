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
	"errors"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

const (
	// maxText is how long a string may get that a function makes, in bytes.
	maxText = 64 << 10
	// maxProduct is how long two strings may be, multiplied, of which one is looked for in
	// the other, in bytes.
	maxProduct = 4 << 20
	// maxPattern is how long a regular expression may be, in bytes.
	maxPattern = 256
	// maxMatch is how long a string and what a regular expression is made of may be,
	// multiplied.
	maxMatch = 1 << 20
	// maxQuantity is how long a quantity may be, in bytes, and maxVersion a version.
	maxQuantity = 64
	maxVersion  = 256
	// maxURL is how long a URL may be, in bytes.
	maxURL = 4096
	// maxEntries is how many entries a list may get that a function makes. What counts the
	// cost takes time by the square of how many entries a macro goes over.
	maxEntries = 1024
	// maxScalar is how long a number or the like can be as a string, in bytes: the largest
	// double has 309 digits before the point, and format writes at most 99 after it.
	maxScalar = 512
)

// errTooLarge is what a call comes to that was not carried out. It is a value of CEL, and
// can be avoided by an expression as every other error.
const errTooLarge = "too large"

// guards return a decorator that has calls of some functions looked at before they are
// carried out: the cost limit only sees them after.
func guards(env *cel.Env) interpreter.InterpretableDecoratorV2 {
	return func(step interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		call, ok := step.(interpreter.InterpretableCall)
		if !ok {
			return step, nil
		}
		if call.Function() == operators.Add {
			return &guardedSum{call}, nil
		}
		if call.Function() == operators.Equals || call.Function() == operators.NotEquals {
			return &guardedEquality{call}, nil
		}
		check := checkOf(call.Function())
		if check == nil {
			return step, nil
		}
		bindings, err := env.Functions()[call.Function()].Bindings()
		if err != nil {
			return nil, err
		}
		for _, binding := range bindings {
			if binding.Operator == call.Function() {
				return newGuardedCall(call, check, binding), nil
			}
		}
		return nil, errors.New("could not guard a function that is not bound to a name of its own")
	}
}

// checkOf returns what tells whether a function may be called with arguments, nil if it
// always may.
func checkOf(function string) func(args []ref.Val) bool {
	switch function {
	case "indexOf", "lastIndexOf":
		return searchFits
	case "matches", "find", "findAll":
		return matchFits
	case "replace":
		return replaceFits
	case "join":
		return joinFits
	case "format":
		return formatFits
	case "quantity", "isQuantity":
		return quantityFits
	case operators.In:
		return readFits
	case "split":
		return splitFits
	case "url", "isURL":
		return func(args []ref.Val) bool { return length(args[0]) <= maxURL }
	case "semver", "isSemver":
		return func(args []ref.Val) bool { return length(args[0]) <= maxVersion }
	}
	return nil
}

// guardedSum is an addition whose result has to fit. It takes no more than its arguments.
type guardedSum struct{ interpreter.InterpretableCall }

// Exec carries the addition out.
func (g *guardedSum) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	result := g.InterpretableCall.Exec(frame)
	if !resultFits(result) {
		return types.NewErrWithNodeID(g.ID(), errTooLarge)
	}
	return result
}

// Eval does the same for callers of before there were frames.
func (g *guardedSum) Eval(vars interpreter.Activation) ref.Val {
	return g.Exec(interpreter.AsFrame(vars))
}

// guardedEquality is a comparison of two values that can be read for what an expression may
// cost. A list may have another a thousand times, and be compared with itself.
type guardedEquality struct{ interpreter.InterpretableCall }

// Exec carries the comparison out, if its arguments allow.
func (g *guardedEquality) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	var args [2]ref.Val
	for i, arg := range g.Args() {
		if args[i] = arg.Exec(frame); types.IsUnknownOrError(args[i]) {
			return args[i]
		}
	}
	if !readFits(args[:]) {
		return types.NewErrWithNodeID(g.ID(), errTooLarge)
	}
	same := types.Equal(args[0], args[1])
	if g.Function() == operators.NotEquals {
		return types.Bool(same != types.True)
	}
	return same
}

// Eval does the same for callers of before there were frames.
func (g *guardedEquality) Eval(vars interpreter.Activation) ref.Val {
	return g.Exec(interpreter.AsFrame(vars))
}

// guardedCall is a call of a function whose arguments are checked.
type guardedCall struct {
	interpreter.InterpretableCall
	args    []interpreter.InterpretableV2
	check   func(args []ref.Val) bool
	binding *functions.Overload
}

// variable is an argument that does not tell whether it is a constant. The planner calls a
// constant pattern in a way of its own, past the guard.
type variable struct{ interpreter.InterpretableV2 }

func newGuardedCall(call interpreter.InterpretableCall, check func([]ref.Val) bool, binding *functions.Overload) *guardedCall {
	guarded := &guardedCall{InterpretableCall: call, check: check, binding: binding}
	for _, arg := range call.Args() {
		guarded.args = append(guarded.args, variable{arg})
	}
	return guarded
}

// Args returns what is evaluated for the call.
func (g *guardedCall) Args() []interpreter.InterpretableV2 { return g.args }

// Exec carries the call out, if its arguments allow.
func (g *guardedCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	args := make([]ref.Val, len(g.args))
	for i, arg := range g.args {
		if args[i] = arg.Exec(frame); types.IsUnknownOrError(args[i]) {
			return args[i]
		}
	}
	if !g.check(args) {
		return types.NewErrWithNodeID(g.ID(), errTooLarge)
	}
	result := g.call(args)
	if !resultFits(result) {
		return types.NewErrWithNodeID(g.ID(), errTooLarge)
	}
	return result
}

func (g *guardedCall) call(args []ref.Val) ref.Val {
	switch {
	case len(args) == 1 && g.binding.Unary != nil:
		return g.binding.Unary(args[0])
	case len(args) == 2 && g.binding.Binary != nil:
		return g.binding.Binary(args[0], args[1])
	case g.binding.Function != nil:
		return g.binding.Function(args...)
	}
	return types.MaybeNoSuchOverloadErr(args[0])
}

// Eval does the same for callers of before there were frames.
func (g *guardedCall) Eval(vars interpreter.Activation) ref.Val {
	return g.Exec(interpreter.AsFrame(vars))
}

// length is that of a string or bytes, 0 for all else.
func length(value ref.Val) int {
	switch text := value.(type) {
	case types.String:
		return len(text)
	case types.Bytes:
		return len(text)
	}
	return 0
}

// resultFits looks at what a function made, of which it is not known before how much it is,
// but that it is no more than some times what the function was called with.
func resultFits(result ref.Val) bool {
	if list, ok := result.(traits.Lister); ok {
		size, ok := list.Size().(types.Int)
		return ok && size <= maxEntries
	}
	return length(result) <= maxText
}

// splitFits refuses to make more entries than a list may have before they are made: each
// takes many times what its characters do.
func splitFits(args []ref.Val) bool {
	text, ok := args[0].(types.String)
	separator, isString := args[1].(types.String)
	if !ok || !isString {
		return true
	}
	entries := strings.Count(string(text), string(separator)) + 1
	if separator == "" {
		entries -= 2 // neither in front nor behind
	}
	if len(args) > 2 {
		if limit, ok := args[2].(types.Int); ok && limit >= 0 && limit <= maxEntries {
			return true
		}
	}
	return entries <= maxEntries
}

// readFits refuses what takes longer to be read than a whole expression may.
func readFits(args []ref.Val) bool {
	for _, arg := range args {
		if costOf(arg, true) > MaxCost {
			return false
		}
	}
	return true
}

func searchFits(args []ref.Val) bool {
	return (length(args[0])+1)*(length(args[1])+1) <= maxProduct
}

// matchFits goes by what a pattern is made of: one of ten characters can stand for a
// thousand states, each of which each character is held against.
func matchFits(args []ref.Val) bool {
	text, ok := args[1].(types.String)
	if !ok {
		return true
	}
	return isPattern(string(text)) && (length(args[0])+1)*instructions(string(text)) <= maxMatch
}

func replaceFits(args []ref.Val) bool {
	text, ok := args[0].(types.String)
	old, isString := args[1].(types.String)
	if !ok || !isString {
		return true
	}
	return len(text)+strings.Count(string(text), string(old))*length(args[2]) <= maxText
}

func joinFits(args []ref.Val) bool {
	list, ok := args[0].(traits.Lister)
	if !ok {
		return true
	}
	separator := 0
	if len(args) > 1 {
		separator = length(args[1])
	}
	total := 0
	for each := list.Iterator(); each.HasNext() == types.True; {
		if total += length(each.Next()) + separator; total > maxText+separator {
			return false
		}
	}
	return true
}

// formatFits also refuses a precision of three digits or more, whatever it is for.
func formatFits(args []ref.Val) bool {
	text, ok := args[0].(types.String)
	if !ok {
		return true
	}
	for rest := string(text); ; {
		_, after, found := strings.Cut(rest, ".")
		if !found {
			break
		}
		if rest = strings.TrimLeft(after, "0123456789"); len(after)-len(rest) > 2 && strings.Contains(string(text), "%.") {
			return false
		}
	}
	left := maxText - len(text)
	return printFits(args[1], &left)
}

// quantityFits refuses what no quantity needs: the parser writes out all digits that an
// exponent stands for.
func quantityFits(args []ref.Val) bool {
	text, ok := args[0].(types.String)
	if !ok {
		return true
	}
	if i := strings.IndexAny(string(text), "eE"); i >= 0 && len(text)-i > len("e-99") {
		return false
	}
	return len(text) <= maxQuantity
}

// printFits takes off what is left what a value is as a string, at most: %x makes twice its
// length of a string.
func printFits(value ref.Val, left *int) bool {
	switch aggregate := value.(type) {
	case types.String, types.Bytes:
		*left -= 2*length(value) + 2
	case traits.Lister:
		*left -= 2
		for each := aggregate.Iterator(); *left >= 0 && each.HasNext() == types.True; {
			*left -= 2
			printFits(each.Next(), left)
		}
	case traits.Mapper:
		*left -= 2
		for each := aggregate.Iterator(); *left >= 0 && each.HasNext() == types.True; {
			key := each.Next()
			printFits(key, left)
			printFits(aggregate.Get(key), left)
		}
	default:
		*left -= maxScalar
	}
	return *left >= 0
}
