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
	"unicode/utf8"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
)

// budget is what is left of what all expressions of a Release may have together, so that
// compiling them ends soon: 256 of the longest would take minutes.
type budget struct{ text, parts int }

// takeText takes an expression off what may be parsed. The parser takes up to 10 µs for each
// byte, whether it is CEL or not.
func (b *budget) takeText(text string) *objection {
	if utf8.RuneCountInString(text) > MaxExpression {
		return object("is longer than 4,096 characters")
	}
	if b.text -= len(text); b.text < 0 {
		return object("is longer than it may be: all expressions together have at most 32 KiB")
	}
	return nil
}

// takeParts takes what was parsed off what may be checked. The type checker copies all that
// it knows so far for each part, and a type as often as it is in another.
func (b *budget) takeParts(parsed ast.Expr) *objection {
	counted := bounds{}
	if !counted.count(parsed, 0, 0) {
		return counted.found
	}
	if b.parts -= counted.parts; b.parts < 0 {
		return object("has more parts than it may: all expressions together have at most 8,192")
	}
	return nil
}

// bounds counts the parts of an expression: what operators, calls and literals are made of,
// and what macros become. It counts more of what takes the type checker longer: lists, maps
// and macros the deeper they are, and what has a type that is still to be found.
type bounds struct {
	parts int
	found *objection
}

// count counts a part and all in it, and tells whether they are within what is allowed.
// Depth is in how many parts it is, and nesting in how many that make a list, a map or an
// optional.
func (b *bounds) count(expr ast.Expr, depth, nesting int) bool {
	b.parts++
	if makesContainer(expr) {
		nesting++
		b.parts += nesting
	}
	if isOpen(expr) {
		b.parts += partsOpen
	}
	switch {
	case b.parts > maxParts:
		b.found = object("has more than 512 parts")
	case depth > maxPartDepth:
		b.found = object("has parts that are more than 64 deep in each other")
	case nesting > maxNesting:
		b.found = object("has lists, maps, macros or optionals that are more than 16 deep in each other")
	case expr.Kind() == ast.CallKind:
		b.countPattern(expr.AsCall())
	}
	if b.found != nil {
		return false
	}
	for _, child := range children(expr) {
		if !b.count(child, depth+1, nesting) {
			return false
		}
	}
	return true
}

// countPattern counts a regular expression that stands in an expression as as many parts as
// it takes time: the type checker compiles it.
func (b *bounds) countPattern(call ast.CallExpr) {
	switch call.FunctionName() {
	case "matches", "find", "findAll":
	default:
		return
	}
	for _, arg := range call.Args() {
		if arg.Kind() != ast.LiteralKind {
			continue
		}
		text, ok := arg.AsLiteral().(types.String)
		if !ok {
			continue
		}
		if !isPattern(string(text)) {
			b.found = object("has a regular expression that is longer or has more in it than it may")
			return
		}
		b.parts += patternCost(string(text)) / costPart
	}
	if b.parts > maxParts {
		b.found = object("has more than 512 parts")
	}
}

// makesContainer tells whether the type of an expression may have one more level than those
// of its parts.
func makesContainer(expr ast.Expr) bool {
	switch expr.Kind() {
	case ast.ListKind, ast.MapKind, ast.ComprehensionKind:
		return true
	case ast.CallKind:
		switch expr.AsCall().FunctionName() {
		case "of", "ofNonZeroValue", "optional.of", "optional.ofNonZeroValue":
			return true
		}
	}
	return false
}

// isOpen tells whether the type of an expression follows from what else there is.
func isOpen(expr ast.Expr) bool {
	switch expr.Kind() {
	case ast.ListKind:
		return expr.AsList().Size() == 0
	case ast.MapKind:
		return expr.AsMap().Size() == 0
	case ast.CallKind:
		return expr.AsCall().FunctionName() == "none" || expr.AsCall().FunctionName() == "optional.none"
	}
	return false
}

// children returns the parts that an expression is made of directly. Those of protobuf
// messages are not among them, since there are no such messages.
func children(expr ast.Expr) []ast.Expr {
	switch expr.Kind() {
	case ast.SelectKind:
		return []ast.Expr{expr.AsSelect().Operand()}
	case ast.CallKind:
		call := expr.AsCall()
		if call.IsMemberFunction() {
			return append([]ast.Expr{call.Target()}, call.Args()...)
		}
		return call.Args()
	case ast.ListKind:
		return expr.AsList().Elements()
	case ast.MapKind:
		var all []ast.Expr
		for _, entry := range expr.AsMap().Entries() {
			all = append(all, entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
		}
		return all
	case ast.ComprehensionKind:
		macro := expr.AsComprehension()
		return []ast.Expr{macro.IterRange(), macro.AccuInit(), macro.LoopCondition(), macro.LoopStep(), macro.Result()}
	}
	return nil
}
