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
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Fields of a mutation that a fault can be in.
const (
	// FieldTarget: which objects are changed.
	FieldTarget = "target"
	// FieldPath: where they are changed.
	FieldPath = "path"
	// FieldExpression: to what.
	FieldExpression = "expression"
)

// Fault is what is wrong with a mutation. Its text may be shown to whoever may read the
// Release.
type Fault struct {
	// Index of the mutation, from 0; -1 if it is in all of them together.
	Index int
	// Field of the mutation: target, path or expression; empty if it is in no single one.
	Field string
	// Text is a sentence without its subject, of a closed set.
	Text string
}

// Error says where the fault is and what it is.
func (f *Fault) Error() string { return f.Path().String() + ": " + f.Text }

// Path returns where in a Release the fault is.
func (f *Fault) Path() *field.Path {
	path := field.NewPath("spec", "mutations")
	if f.Index >= 0 {
		path = path.Index(f.Index)
	}
	if f.Field != "" {
		path = path.Child(f.Field)
	}
	return path
}

// objection is a fault of which it is not said yet where it is.
type objection struct {
	text string
	// line and column are where in an expression, from 1; 0 if that is not known.
	line, column int
}

func object(text string) *objection { return &objection{text: text} }

// at says where the fault is.
func (o *objection) at(index int, name string) *Fault {
	text := o.text
	if o.line > 0 {
		text = fmt.Sprintf("%s, at line %d, column %d", text, o.line, o.column)
	}
	return &Fault{Index: index, Field: name, Text: text}
}
