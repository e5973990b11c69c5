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
	"fmt"
	"slices"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
)

// What mutations may be at most.
const (
	// MaxMutations is how many a Release may have.
	MaxMutations = 256
	// MaxPath is how long a path may be, in characters.
	MaxPath = 1024
	// MaxExpression is how long an expression may be, in characters.
	MaxExpression = 4096
	// MaxText is how long all expressions of a Release may be together, in bytes.
	MaxText = 32 << 10
	// MaxParts is how many parts all expressions of a Release may have together.
	MaxParts = 8 << 10
	// MaxCost is what evaluating one expression may cost, in units of CEL: about 0.01 s, at worst 0.1 s.
	MaxCost = 100_000
	// MaxTotalCost is what evaluating all of them may cost.
	MaxTotalCost = 1_000_000
	// MaxContext is how long keys and values of the context may be together, in bytes.
	MaxContext = 64 << 10
	// MaxResult is how long what one expression comes to may be as JSON, in bytes, not
	// counting what has to be escaped in it.
	MaxResult = 64 << 10
	// MaxAdded is how much one Apply may write to all objects, in bytes.
	MaxAdded = 4 << 20
)

const (
	// maxParts is how many parts one expression may have.
	maxParts = 512
	// partsOpen is as how many more parts a part counts whose type follows from others.
	partsOpen = 4
	// maxPartDepth is how deep parts may be in each other.
	maxPartDepth = 64
	// maxNesting is how deep lists, maps, macros and optionals may be in each other.
	maxNesting = 16
)

// Plan is mutations that are checked and can be carried out, as often as is wanted, by many
// at the same time.
type Plan struct {
	steps []step
}

type step struct {
	target  corev1alpha1.ReleaseMutationTarget
	path    pointer
	program *program
}

// Compile checks mutations and makes a plan of them. That is what takes time; it depends on
// nothing but the mutations. An error that is the fault of a mutation is a *Fault; another is
// that of ctx.
func Compile(ctx context.Context, mutations []corev1alpha1.ReleaseMutation) (*Plan, error) {
	if len(mutations) > MaxMutations {
		return nil, object("has more than 256 mutations").at(-1, "")
	}
	plan := &Plan{steps: make([]step, 0, len(mutations))}
	left := &budget{text: MaxText, parts: MaxParts}
	for i := range mutations {
		if err := context.Cause(ctx); err != nil {
			return nil, fmt.Errorf("could not compile mutations: %w", err)
		}
		next, err := compileStep(&mutations[i], i, left)
		if err != nil {
			return nil, err
		}
		plan.steps = append(plan.steps, *next)
	}
	return plan, nil
}

func compileStep(mutation *corev1alpha1.ReleaseMutation, i int, left *budget) (*step, error) {
	env, err := language()
	if err != nil {
		return nil, err
	}
	if mutation.Target.Kind == "" {
		return nil, object("has no kind").at(i, FieldTarget)
	}
	path, found := parsePath(mutation.Path, mutation.Target.Kind)
	if found != nil {
		return nil, found.at(i, FieldPath)
	}
	if mutation.Expression == "" || !utf8.ValidString(mutation.Expression) {
		return nil, object("is no CEL").at(i, FieldExpression)
	}
	compiled, found := compile(env, mutation.Expression, left)
	if found != nil {
		return nil, found.at(i, FieldExpression)
	}
	if path.isText() && !compiled.isText {
		return nil, notText().at(i, FieldExpression)
	}
	return &step{target: mutation.Target, path: path, program: compiled}, nil
}

func notText() *objection {
	return object("does not come to a string, as those of labels and annotations do")
}

// Apply returns objects as they are after the mutations, in the same order. The objects,
// which are as JSON is decoded, are not changed; those that no mutation is for are returned
// as they are, not copied. The context is what Context returns.
//
// Each expression is evaluated once. What it comes to is set in all objects of its target:
// null is set as null, and takes nothing away. An error that is the fault of a mutation is
// a *Fault; another is that of ctx. After either there are no objects.
func (p *Plan) Apply(ctx context.Context, objects []*unstructured.Unstructured, cluster map[string]string) ([]*unstructured.Unstructured, error) {
	if len(p.steps) > 0 && isLarge(cluster) {
		return nil, object("cannot be carried out: the metadata of the Cluster is longer than 64 KiB").at(-1, "")
	}
	result := slices.Clone(objects)
	copied := make([]bool, len(objects))
	cost, writer := uint64(MaxTotalCost), writer{left: MaxAdded}
	for i := range p.steps {
		step := &p.steps[i]
		matched := step.matching(result)
		if len(matched) == 0 {
			return nil, object("selects no object").at(i, FieldTarget)
		}
		value, size, found, err := step.program.evaluate(ctx, cluster, &cost)
		switch {
		case err != nil:
			return nil, err
		case found != nil:
			return nil, found.at(i, FieldExpression)
		}
		for _, at := range matched {
			if !copied[at] {
				result[at], copied[at] = result[at].DeepCopy(), true
			}
			if found := writer.write(result[at].Object, step.path, value, size); found != nil {
				return nil, found.at(i, FieldPath)
			}
		}
		if err := context.Cause(ctx); err != nil {
			return nil, fmt.Errorf("could not apply mutations: %w", err)
		}
	}
	return result, nil
}

// matching returns which objects a mutation is for.
func (s *step) matching(objects []*unstructured.Unstructured) (matched []int) {
	for i, object := range objects {
		kind := object.GroupVersionKind()
		if kind.Group == s.target.Group && kind.Kind == s.target.Kind &&
			(s.target.Name == "" || s.target.Name == object.GetName()) &&
			(s.target.Namespace == "" || s.target.Namespace == object.GetNamespace()) {
			matched = append(matched, i)
		}
	}
	return matched
}
