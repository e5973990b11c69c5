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

package access

import "github.com/Masterminds/semver/v3"

// compatible tells whether two clusters mean the same by a capability (G3): the major
// versions are equal or, if one of them is no semantic version, the whole text is. A
// version may leave out its minor and patch number, and begin with a v.
func compatible(ours, theirs string) bool {
	if ours == theirs {
		return true
	}
	a, err := semver.NewVersion(ours)
	if err != nil {
		return false
	}
	b, err := semver.NewVersion(theirs)
	return err == nil && a.Major() == b.Major()
}
