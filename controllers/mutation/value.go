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
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// maxDepth is how deep lists and maps may be in each other, in what an expression comes to.
const maxDepth = 64

// converter makes JSON of what an expression came to. What cel-go has for that writes a
// value that is there many times as often as it is there, and is limited by nothing.
type converter struct {
	// size is at least about how long the JSON is so far, in bytes.
	size int
}

// convert returns a value as the types that decoded JSON has: nil, bool, int64, float64,
// string, []any and map[string]any.
//
// Bytes are base64, timestamps RFC 3339 in UTC, and durations seconds with an s. What JSON
// cannot say is objected to: numbers without a value, uints beyond int64, keys that are no
// strings, optionals, types, and those of Kubernetes, such as quantities.
func (c *converter) convert(value ref.Val, depth int) (any, *objection) {
	switch scalar := value.(type) {
	case types.Null:
		return nil, c.grow(4)
	case types.Bool:
		return bool(scalar), c.grow(5)
	case types.Int:
		return int64(scalar), c.grow(8)
	case types.Uint:
		if scalar > math.MaxInt64 {
			return nil, object("comes to a number that is too large for JSON")
		}
		return int64(scalar), c.grow(8)
	case types.Double:
		if math.IsNaN(float64(scalar)) || math.IsInf(float64(scalar), 0) {
			return nil, object("comes to infinity or to no number")
		}
		return float64(scalar), c.grow(8)
	case types.String:
		return c.text(string(scalar))
	case types.Bytes:
		return c.text(base64.StdEncoding.EncodeToString(scalar))
	case types.Timestamp:
		return c.text(scalar.UTC().Format(time.RFC3339Nano))
	case types.Duration:
		return c.text(seconds(scalar.Duration))
	}
	if depth >= maxDepth {
		return nil, object("comes to lists or maps more than 64 levels deep")
	}
	switch aggregate := value.(type) {
	case traits.Lister:
		return c.list(aggregate, depth)
	case traits.Mapper:
		return c.mapping(aggregate, depth)
	case *types.Optional:
		return nil, object("comes to an optional: orValue makes a value of one")
	}
	return nil, object("comes to what JSON does not have")
}

// grow counts what is converted.
func (c *converter) grow(size int) *objection {
	if c.size += size; c.size > MaxResult {
		return object("comes to more than 64 KiB")
	}
	return nil
}

func (c *converter) text(text string) (any, *objection) {
	if found := c.grow(len(text) + 2); found != nil {
		return nil, found
	}
	if !utf8.ValidString(text) {
		return nil, object("comes to a string that is not UTF-8")
	}
	return text, nil
}

func (c *converter) list(list traits.Lister, depth int) (any, *objection) {
	all := []any{}
	for each := list.Iterator(); each.HasNext() == types.True; {
		if found := c.grow(2); found != nil {
			return nil, found
		}
		entry, found := c.convert(each.Next(), depth+1)
		if found != nil {
			return nil, found
		}
		all = append(all, entry)
	}
	return all, c.grow(2)
}

func (c *converter) mapping(mapping traits.Mapper, depth int) (any, *objection) {
	all := map[string]any{}
	for each := mapping.Iterator(); each.HasNext() == types.True; {
		key, ok := each.Next().(types.String)
		if !ok {
			return nil, object("comes to a map with keys that are no strings")
		}
		if _, found := c.text(string(key)); found != nil {
			return nil, found
		}
		entry, found := c.convert(mapping.Get(key), depth+1)
		if found != nil {
			return nil, found
		}
		all[string(key)] = entry
	}
	return all, c.grow(2)
}

// seconds writes a duration as JSON has it for protobuf: 1.5s.
func seconds(length time.Duration) string {
	text := strconv.FormatFloat(length.Seconds(), 'f', 9, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + "s"
}
