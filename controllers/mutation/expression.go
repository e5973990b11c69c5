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
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

// variableCluster is the only variable that expressions have.
const variableCluster = "cluster"

// language is the CEL of mutations: that of Kubernetes 1.33, whatever version of the
// libraries there is, so that no function comes to it unseen.
//
// optMap and optFlatMap are not in it: each of them doubles what it is called on.
var language = sync.OnceValues(func() (*cel.Env, error) {
	base := environment.MustBaseEnvSet(version.MajorMinor(1, 33)).NewExpressionsEnv()
	var macros []cel.Macro
	for _, macro := range base.Macros() {
		if macro.Function() != "optMap" && macro.Function() != "optFlatMap" {
			macros = append(macros, macro)
		}
	}
	env, err := base.Extend(cel.ClearMacros(), cel.Macros(macros...), cel.Variable(variableCluster, cel.MapType(cel.StringType, cel.StringType)))
	if err != nil {
		return nil, fmt.Errorf("could not make the language of mutations: %w", err)
	}
	return env, nil
})

// program is an expression that can be evaluated, by many at the same time.
type program struct {
	cel.Program
	// isText tells that it comes to a string, if to anything.
	isText bool
}

// compile checks an expression and makes a program of it.
func compile(env *cel.Env, text string, left *budget) (*program, *objection) {
	if found := left.takeText(text); found != nil {
		return nil, found
	}
	parsed, issues := env.Parse(text)
	if issues.Err() != nil {
		return nil, positioned("is no CEL", issues)
	}
	if found := left.takeParts(parsed.NativeRep().Expr()); found != nil {
		return nil, found
	}
	if found := shapeFault(parsed); found != nil {
		return nil, found
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return nil, positioned("has a name or function that there is not, or types that do not go together", issues)
	}
	if found := functionFault(checked); found != nil {
		return nil, found
	}
	// The largest cost is of no use: nothing is said about how long metadata may be.
	if cost, err := env.EstimateCost(checked, &library.CostEstimator{}); err != nil || cost.Min > MaxCost {
		return nil, tooCostly()
	}
	compiled, err := env.Program(checked, cel.CostLimit(MaxCost), cel.CostTracking(costs{}), cel.InterruptCheckFrequency(apiservercel.CheckFrequency), cel.CustomDecoratorV2(guards(env)))
	if err != nil {
		return nil, object("could not be made ready to be evaluated")
	}
	return &program{Program: compiled, isText: checked.OutputType().IsExactType(cel.StringType)}, nil
}

func tooCostly() *objection { return object("costs more to evaluate than it may") }

// positioned objects to an expression, and says where, and not what stands there.
func positioned(text string, issues *cel.Issues) *objection {
	found := object(text)
	if all := issues.Errors(); len(all) > 0 && all[0].Location != nil && all[0].Location.Line() > 0 {
		found.line, found.column = all[0].Location.Line(), all[0].Location.Column()+1
	}
	return found
}

// place objects to a part of an expression.
func place(text string, within *cel.Ast, part ast.Expr) *objection {
	found := object(text)
	if location := within.NativeRep().SourceInfo().GetStartLocation(part.ID()); location != nil && location.Line() > 0 {
		found.line, found.column = location.Line(), location.Column()+1
	}
	return found
}

func shapeFault(parsed *cel.Ast) *objection {
	found := shapes{variables: map[string]shape{}}
	found.of(parsed.NativeRep().Expr())
	switch {
	case found.hasMessage:
		return object("has a protobuf message, of which there are none")
	case found.badRange != nil:
		return place("has a macro over what may be lists or maps: there are only those over strings, numbers and the like", parsed, found.badRange)
	}
	return nil
}

func functionFault(checked *cel.Ast) *objection {
	isBad := func(expr ast.NavigableExpr) bool {
		return expr.Kind() == ast.CallKind && !isFunction(expr.AsCall().FunctionName())
	}
	if bad := ast.MatchDescendants(ast.NavigateAST(checked.NativeRep()), isBad); len(bad) > 0 {
		return place("has a function that mutations do not have", checked, bad[0])
	}
	return nil
}

// evaluate returns what a program comes to, as JSON and its size, and takes what it cost
// off what may be spent. The error is that of the context.
func (p *program) evaluate(ctx context.Context, cluster map[string]string, left *uint64) (value any, size int, found *objection, err error) {
	result, details, failure := p.ContextEval(ctx, map[string]any{variableCluster: cluster})
	if err := context.Cause(ctx); err != nil {
		return nil, 0, nil, fmt.Errorf("could not evaluate mutations: %w", err)
	}
	if failure != nil {
		return nil, 0, failed(failure), nil
	}
	cost := details.ActualCost()
	if cost == nil || *cost > *left {
		return nil, 0, object("costs more to evaluate than it may, with those before it"), nil
	}
	*left -= *cost
	var json converter
	value, found = json.convert(result, 0)
	return value, json.size, found, nil
}

// failed objects to an expression that could not be evaluated. What CEL has to say about
// that may quote what there was, and only tells which of these it is.
func failed(err error) *objection {
	var cancelled interpreter.EvalCancelledError
	if errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded {
		return tooCostly()
	}
	var value *types.Err
	if !errors.As(err, &value) {
		return object("could not be evaluated")
	}
	for _, known := range []struct{ begins, text string }{
		{errTooLarge, "calls a function with more than it takes, or for more than 64 KiB or 1,024 entries"},
		{"no such key", "reads a key that is not there"},
		{"index out of bounds", "reads an entry that a list has not"},
		{"division by zero", "divides by zero"},
		{"modulus by zero", "divides by zero"},
		{"integer overflow", "comes to a number that is too large on the way"},
		{"unsigned integer overflow", "comes to a number that is too large on the way"},
		{"optional.none() dereference", "reads the value of an optional that has none"},
	} {
		if strings.HasPrefix(value.Error(), known.begins) {
			return object(known.text)
		}
	}
	return object("could not be evaluated")
}
