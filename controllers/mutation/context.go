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

import "maps"

// keyName is the key of the context that always holds the name of the Cluster.
const keyName = "name"

// Context returns what expressions know as the variable cluster: the metadata of a Cluster,
// and its name, which wins over a key name of the metadata. Nothing else is ever in it.
func Context(name string, metadata map[string]string) map[string]string {
	cluster := make(map[string]string, len(metadata)+1)
	maps.Copy(cluster, metadata)
	cluster[keyName] = name
	return cluster
}

// isLarge tells whether a context is longer than expressions can handle.
func isLarge(cluster map[string]string) bool {
	length := 0
	for key, value := range cluster {
		length += len(key) + len(value)
		if length > MaxContext {
			return true
		}
	}
	return false
}
