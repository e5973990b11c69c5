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
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
)

// costMap is what a map that is made counts of what an Apply may add, in bytes: about what
// it takes in memory.
const costMap = 400

// writer writes values into objects, and no more of them than it may.
type writer struct {
	// left is how much may still be written, in bytes.
	left int
}

// spend takes something off what may still be written.
func (w *writer) spend(size int) *objection {
	if w.left -= size; w.left < 0 {
		return object("adds to more than 4 MiB, with what was set before")
	}
	return nil
}

// write sets a field of an object, which it changes in place, to a copy of a value. After
// an objection the object may be changed in part.
func (w *writer) write(content map[string]any, path pointer, value any, size int) *objection {
	if found := w.spend(size); found != nil {
		return found
	}
	_, found := w.set(content, path, runtime.DeepCopyJSONValue(value))
	return found
}

// set returns what a container is with a field of it set. A list that is appended to is
// another one after. It goes as deep as a path has parts: 512 at most.
func (w *writer) set(container any, path pointer, value any) (any, *objection) {
	if len(path) == 0 {
		return value, nil
	}
	part, rest := path[0], path[1:]
	switch inside := container.(type) {
	case nil:
		// What is null is not there.
		if found := w.spend(costMap + len(part)); found != nil {
			return nil, found
		}
		return w.setKey(map[string]any{}, part, rest, value)
	case map[string]any:
		return w.setKey(inside, part, rest, value)
	case []any:
		if part == "-" {
			if len(rest) > 0 {
				return nil, object("goes on after a dash, which stands for no entry of a list that is there")
			}
			return append(inside, value), nil
		}
		i, ok := index(part, len(inside))
		if !ok {
			return nil, object("leads to an entry that a list has not: a dash appends one")
		}
		entry, found := w.set(inside[i], rest, value)
		if found != nil {
			return nil, found
		}
		inside[i] = entry
		return inside, nil
	}
	return nil, object("leads through what is neither an object nor a list")
}

func (w *writer) setKey(inside map[string]any, key string, rest pointer, value any) (any, *objection) {
	entry, found := w.set(inside[key], rest, value)
	if found != nil {
		return nil, found
	}
	inside[key] = entry
	return inside, nil
}

// index reads the index of an entry that a list of that length has. In a JSON pointer it
// has digits only, and no zeros in front.
func index(part string, length int) (int, bool) {
	i, err := strconv.Atoi(part)
	if err != nil || strconv.Itoa(i) != part {
		return 0, false
	}
	return i, i >= 0 && i < length
}
