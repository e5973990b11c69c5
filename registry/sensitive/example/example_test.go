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

package main

import (
	"context"
	"fmt"
	"os"
)

// The program as it runs, and every line that it prints.
func Example() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// The writer creates a Hook, and does not get the token back:
	//   201 generation 1, https://ci.example.com, token <omitted>
	// The keeper sees it:
	//   200 generation 1, https://ci.example.com, token s3cr3t-one
	// The writer does not:
	//   200 generation 1, https://ci.example.com, token <omitted>
	// and may not ask:
	//   403 hooks.hooks.example.com "build" is forbidden: User "writer" cannot get resource "hooks/sensitive" in API group "hooks.example.com" at the cluster scope: not the keeper
	// What the writer has read can be written back:
	//   200 generation 1, https://ci.example.com, token <omitted>
	// A copy of the field is one of the placeholder:
	//   200 generation 1, https://ci.example.com, token <omitted>, copy <omitted>
	// A test says nothing about a guess, right or wrong:
	//   422 the server rejected our request due to an error in our request
	// The writer sets another token:
	//   200 generation 2, https://ci.example.com, token <omitted>, copy <omitted>
	// and the keeper sees that:
	//   200 generation 2, https://ci.example.com, token s3cr3t-two, copy <omitted>
	// There, the token can be changed and nothing else:
	//   200 generation 3, https://ci.example.com, token s3cr3t-three, copy <omitted>
	// Apply without the field that it does not own:
	//   200 generation 3, https://ci.example.com, token <omitted>, copy <omitted>
	// The placeholder stands for nothing on create:
	//   422 Hook.hooks.example.com "other" is invalid: spec.auth.token: Invalid value: the placeholder keeps a stored value, and none is stored; set the value or leave the field out
	// Audit has of the first request:
	//   create {"auth":{"token":"\u003comitted\u003e","user":"bot"},"url":"https://ci.example.com"}
}
