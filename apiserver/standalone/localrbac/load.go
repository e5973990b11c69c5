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

package localrbac

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// loader gathers the objects of all files that count.
type loader struct {
	decoder  *decoder
	roles    map[roleKey]ruleSet
	bindings []binding
	// definedIn is the file of each object, by kind, namespace and name.
	definedIn map[string]string
}

// load makes a snapshot of what was found. Its only error is one of the program,
// not of a manifest.
func load(found folder) (*snapshot, error) {
	decoder, err := newDecoder()
	if err != nil {
		return nil, err
	}
	l := &loader{decoder: decoder, roles: map[roleKey]ruleSet{}, definedIn: map[string]string{}}
	var problems []Problem
	if found.err != nil {
		problems = append(problems, Problem{Message: fmt.Sprintf("no manifest counts, nobody is granted anything: %v", found.err)})
	}
	for _, f := range found.files {
		if err := l.add(f); err != nil {
			problems = append(problems, Problem{File: f.name, Message: fmt.Sprintf("the whole file grants nothing: %v", err)})
		}
	}
	s := newSnapshot(found, l.roles, l.bindings)
	s.problems = append(problems, s.problems...)
	slices.SortStableFunc(s.problems, func(a, b Problem) int { return strings.Compare(a.File, b.File) })
	return s, nil
}

// add takes all objects of a file, or none of them if one has a fault. An object
// that another file defines already is a fault: which one is meant, nobody can
// tell.
func (l *loader) add(f file) error {
	objects, err := l.decoder.decode(f)
	if err != nil {
		return err
	}
	defined := map[string]string{}
	for _, object := range objects {
		if errs := validate(object); len(errs) > 0 {
			return fmt.Errorf("%s: %w", identity(object), errs.ToAggregate())
		}
		id := identity(object)
		if other, ok := l.definedIn[id]; ok {
			return fmt.Errorf("%s is defined in %s already", id, other)
		}
		if _, ok := defined[id]; ok {
			return fmt.Errorf("%s is defined twice", id)
		}
		defined[id] = f.name
	}
	for id, name := range defined {
		l.definedIn[id] = name
	}
	for _, object := range objects {
		l.take(f, object)
	}
	return nil
}

func (l *loader) take(f file, object runtime.Object) {
	switch o := object.(type) {
	case *rbacv1.ClusterRole:
		l.roles[roleKey{name: o.Name}] = newRuleSet(o.Rules)
	case *rbacv1.Role:
		l.roles[roleKey{namespace: o.Namespace, name: o.Name}] = newRuleSet(o.Rules)
	case *rbacv1.ClusterRoleBinding:
		l.bindings = append(l.bindings, binding{file: f.name, name: o.Name, subjects: o.Subjects, roleRef: o.RoleRef})
	case *rbacv1.RoleBinding:
		l.bindings = append(l.bindings, binding{file: f.name, namespace: o.Namespace, name: o.Name, subjects: o.Subjects, roleRef: o.RoleRef})
	}
}

// identity names an object for people, uniquely.
func identity(object runtime.Object) string {
	switch o := object.(type) {
	case *rbacv1.ClusterRole:
		return fmt.Sprintf("ClusterRole %q", o.Name)
	case *rbacv1.Role:
		return fmt.Sprintf("Role %q", o.Namespace+"/"+o.Name)
	case *rbacv1.ClusterRoleBinding:
		return fmt.Sprintf("ClusterRoleBinding %q", o.Name)
	case *rbacv1.RoleBinding:
		return fmt.Sprintf("RoleBinding %q", o.Namespace+"/"+o.Name)
	default:
		return "unknown object"
	}
}

func newRuleSet(rules []rbacv1.PolicyRule) ruleSet {
	var set ruleSet
	for _, rule := range rules {
		if len(rule.NonResourceURLs) > 0 {
			set.urls = append(set.urls, rule)
		} else {
			set.resources = append(set.resources, rule)
		}
	}
	return set
}
