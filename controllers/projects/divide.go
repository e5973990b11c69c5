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

package projects

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// systemPrefix is what the names of Kubernetes' own namespaces begin with.
const systemPrefix = "kube-"

// division is by what namespaces are divided among projects.
type division struct {
	// label is the key of the label that names the project of a namespace.
	label string
	// own are Entente's own namespaces.
	own []string
}

// claim is what a Project object claims.
type claim struct {
	project string
	// void claims are no project's: the namespaces belong to nothing.
	void       bool
	namespaces []string
}

// conflict is a namespace that two Project objects claim.
type conflict struct {
	namespace *corev1.Namespace
	a, b      string
}

// divide tells which namespaces are which project's (G4), and which belong to none because
// two Project objects claim them. A Project object beats a label; under the same name they
// agree.
func (d division) divide(namespaces []*corev1.Namespace, claims []claim) (*Snapshot, []conflict) {
	claimed := byNamespace(claims)
	labelled, all := members{}, members{}
	var conflicts []conflict
	for _, namespace := range namespaces {
		if d.excludes(namespace) {
			continue
		}
		label := namespace.Labels[d.label]
		switch by := claimed[namespace.Name]; {
		case by.second != nil:
			conflicts = append(conflicts, conflict{namespace, by.first.project, by.second.project})
		case by.first != nil && !by.first.void:
			all.add(by.first.project, namespace.Name)
			if label == by.first.project {
				labelled.add(label, namespace.Name)
			}
		case by.first == nil && isName(label):
			all.add(label, namespace.Name)
			labelled.add(label, namespace.Name)
		}
	}
	return &Snapshot{labelled: labelled.inOrder(), all: all.projects()}, conflicts
}

// excludes tells whether a namespace never belongs to a project.
func (d division) excludes(namespace *corev1.Namespace) bool {
	return namespace.DeletionTimestamp != nil || namespace.Status.Phase == corev1.NamespaceTerminating ||
		slices.Contains(d.own, namespace.Name) || strings.HasPrefix(namespace.Name, systemPrefix)
}

// isName tells whether a project can have that name.
func isName(text string) bool { return len(validation.IsDNS1123Label(text)) == 0 }

// claimants are the first two who claim a namespace; more make no difference.
type claimants struct{ first, second *claim }

// byNamespace finds who claims each namespace, in order of the names of the projects.
func byNamespace(claims []claim) map[string]claimants {
	claims = slices.SortedFunc(slices.Values(claims), func(a, b claim) int { return strings.Compare(a.project, b.project) })
	found := map[string]claimants{}
	for i := range claims {
		for _, namespace := range claims[i].namespaces {
			switch already := found[namespace]; {
			case already.first == nil:
				found[namespace] = claimants{first: &claims[i]}
			case already.first != &claims[i] && already.second == nil:
				found[namespace] = claimants{already.first, &claims[i]}
			}
		}
	}
	return found
}
