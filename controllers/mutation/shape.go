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
	"maps"

	"github.com/google/cel-go/common/ast"
)

// shape is how deep a value can be.
type shape int

const (
	// scalar is neither a list nor a map.
	scalar shape = iota
	// flat is a list or map of scalars.
	flat
	// deep may be anything.
	deep
)

// entry is the shape of the entries of a list or map.
func (s shape) entry() shape {
	if s == deep {
		return deep
	}
	return scalar
}

// container is the shape of a list or map that has such entries.
func (s shape) container() shape { return min(s+1, deep) }

func deepest(all ...shape) shape {
	result := scalar
	for _, one := range all {
		result = max(result, one)
	}
	return result
}

// shapes finds the shapes of the parts of an expression, as it is parsed, before its types
// are checked.
//
// A macro may only go over a list or map of scalars. So what is repeated by a variable is
// always a scalar, and neither values nor their types get larger than the expression makes
// them. Otherwise each macro could double them: the type checker would not come to an end
// for [1].map(a, [a, a]) with more of the same, nor a comparison of what it came to.
type shapes struct {
	// variables are those of macros, by name.
	variables map[string]shape
	// badRange is the first range found that a macro may not go over, nil if there is none.
	badRange ast.Expr
	// hasMessage tells that there is a protobuf message, which may be of any type.
	hasMessage bool
}

// of returns the shape of an expression. It goes as deep as the parser does: some hundreds.
func (s *shapes) of(expr ast.Expr) shape {
	switch expr.Kind() {
	case ast.LiteralKind:
		return scalar
	case ast.IdentKind:
		if expr.AsIdent() == variableCluster {
			return max(flat, s.variables[variableCluster])
		}
		return s.variables[expr.AsIdent()]
	case ast.SelectKind:
		operand := s.of(expr.AsSelect().Operand())
		if expr.AsSelect().IsTestOnly() {
			return scalar
		}
		return operand.entry()
	case ast.CallKind:
		return s.ofCall(expr.AsCall())
	case ast.ListKind:
		entries := scalar
		for _, entry := range expr.AsList().Elements() {
			entries = max(entries, s.of(entry))
		}
		return entries.container()
	case ast.MapKind:
		entries := scalar
		for _, entry := range expr.AsMap().Entries() {
			entries = max(entries, s.of(entry.AsMapEntry().Key()), s.of(entry.AsMapEntry().Value()))
		}
		return entries.container()
	case ast.ComprehensionKind:
		return s.ofMacro(expr.AsComprehension())
	}
	s.hasMessage = true
	return deep
}

func (s *shapes) ofCall(call ast.CallExpr) shape {
	var args []shape
	if call.IsMemberFunction() {
		args = append(args, s.of(call.Target()))
	}
	for _, arg := range call.Args() {
		args = append(args, s.of(arg))
	}
	return shapeOfCall(call.FunctionName(), args)
}

// ofMacro returns the shape of what a macro comes to. What it collects, its accumulator,
// no expression can name: it is only ever added to.
func (s *shapes) ofMacro(macro ast.ComprehensionExpr) shape {
	if s.of(macro.IterRange()) > flat && s.badRange == nil {
		s.badRange = macro.IterRange()
	}
	result := s.of(macro.AccuInit())
	before := s.variables
	defer func() { s.variables = before }()
	s.variables = maps.Clone(before)
	s.variables[macro.IterVar()], s.variables[macro.IterVar2()] = scalar, scalar
	s.variables[macro.AccuVar()] = result
	s.of(macro.LoopCondition())
	result = max(result, s.of(macro.LoopStep()))
	s.variables[macro.AccuVar()] = result
	return s.of(macro.Result())
}
