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

// Package install registers every version of the group core.convoy.kumodo.io.
package install

import (
	"k8s.io/apimachinery/pkg/runtime"

	"entente.dev/entente/apis/core"
	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
)

// Install registers the internal types and every served version with a scheme,
// and which version comes first.
func Install(scheme *runtime.Scheme) error {
	for _, add := range []func(*runtime.Scheme) error{core.AddToScheme, corev1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	return scheme.SetVersionPriority(corev1alpha1.SchemeGroupVersion)
}
