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

// Package finalizer is how controllers take their finalizer off an object.
package finalizer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// operation is one step of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// Removal returns a JSON patch that takes a finalizer off an object, nil if it bears none. The
// patch fails for another object of the same name, and when others came off meanwhile: then it
// is to be made anew.
func Removal(object metav1.Object, finalizer string) ([]byte, error) {
	i := slices.Index(object.GetFinalizers(), finalizer)
	if i < 0 {
		return nil, nil
	}
	path := "/metadata/finalizers/" + strconv.Itoa(i)
	data, err := json.Marshal([]operation{
		{Op: "test", Path: "/metadata/uid", Value: string(object.GetUID())},
		{Op: "test", Path: path, Value: finalizer},
		{Op: "remove", Path: path},
	})
	if err != nil {
		return nil, fmt.Errorf("could not take the finalizer off: %w", err)
	}
	return data, nil
}
