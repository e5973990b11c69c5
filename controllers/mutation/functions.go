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
	"github.com/google/cel-go/common/operators"
)

// isFunction tells whether expressions may call a function, by the name that the type
// checker has found for it. Not among them is what reads files (time zones), what takes
// time by the square of its arguments (sets), what hides types (dyn), and what there is
// nothing for (the authorizer).
func isFunction(name string) bool {
	switch name {
	// The operators, and what macros are made of.
	case operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
		operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.In, operators.NotStrictlyFalse, operators.Conditional,
		operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate,
		operators.Index, operators.OptIndex, operators.OptSelect, mapInsert:
		return true
	// Conversions, and what every type has.
	case "bool", "bytes", "double", "duration", "int", "size", "string", "timestamp", "uint":
		return true
	// Optionals.
	case "optional.of", "optional.ofNonZeroValue", "optional.none", "hasValue", "value", "or", "orValue":
		return true
	// Strings.
	case "charAt", "contains", "endsWith", "find", "findAll", "format", "indexOf", "join", "lastIndexOf", "lowerAscii", "matches", "replace",
		"split", "startsWith", "substring", "trim", "upperAscii":
		return true
	// Lists.
	case "isSorted", "max", "min", "sum":
		return true
	// Addresses.
	case "cidr", "containsCIDR", "containsIP", "family", "ip", "ip.isCanonical", "isCIDR", "isGlobalUnicast", "isIP",
		"isLinkLocalMulticast", "isLinkLocalUnicast", "isLoopback", "isUnspecified", "masked", "prefixLength":
		return true
	case "getEscapedPath", "getHost", "getHostname", "getPort", "getQuery", "getScheme", "isURL", "url":
		return true
	// Quantities and versions.
	case "add", "asApproximateFloat", "asInteger", "compareTo", "isGreaterThan", "isInteger", "isLessThan", "isQuantity", "quantity", "sign", "sub",
		"isSemver", "major", "minor", "patch", "semver":
		return true
	}
	return false
}

// mapInsert is what macros that make a map put an entry into it with.
const mapInsert = "cel.@mapInsert"

// shapeOfCall tells the shape of what a function returns, by its name as it is written,
// which may be that of several. It is deep if it is not known.
func shapeOfCall(name string, args []shape) shape {
	switch name {
	// The shape of what they are called with.
	case operators.Add, "of", "ofNonZeroValue", "value", "or", "orValue":
		return deepest(args...)
	case operators.Conditional:
		return deepest(args[1:]...)
	// An entry of it.
	case operators.Index, operators.OptIndex, operators.OptSelect:
		return args[0].entry()
	// An entry more.
	case mapInsert:
		return max(args[0], deepest(args[1:]...).container())
	case "split", "findAll":
		return flat
	case "getQuery", "none":
		return deep
	}
	if isFunction(name) {
		return scalar
	}
	return deep
}
