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
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validate finds what an API server would have refused, so that a slip cannot
// mean something else here than there.
func validate(object runtime.Object) field.ErrorList {
	switch o := object.(type) {
	case *rbacv1.ClusterRole:
		errs := append(validateMeta(o.ObjectMeta, false), validateRules(o.Rules, true)...)
		if o.AggregationRule != nil {
			errs = append(errs, field.Forbidden(field.NewPath("aggregationRule"), "aggregated ClusterRoles are not supported here: list the rules"))
		}
		return errs
	case *rbacv1.Role:
		return append(validateMeta(o.ObjectMeta, true), validateRules(o.Rules, false)...)
	case *rbacv1.ClusterRoleBinding:
		errs := append(validateMeta(o.ObjectMeta, false), validateSubjects(o.Subjects)...)
		return append(errs, validateRoleRef(o.RoleRef, "ClusterRole")...)
	case *rbacv1.RoleBinding:
		errs := append(validateMeta(o.ObjectMeta, true), validateSubjects(o.Subjects)...)
		return append(errs, validateRoleRef(o.RoleRef, "Role", "ClusterRole")...)
	default:
		return nil
	}
}

func validateMeta(meta metav1.ObjectMeta, namespaced bool) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("metadata")
	if meta.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	if namespaced && meta.Namespace == "" {
		errs = append(errs, field.Required(path.Child("namespace"), ""))
	}
	if !namespaced && meta.Namespace != "" {
		errs = append(errs, field.Forbidden(path.Child("namespace"), "this kind has no namespace"))
	}
	return errs
}

func validateRules(rules []rbacv1.PolicyRule, cluster bool) field.ErrorList {
	var errs field.ErrorList
	for i, rule := range rules {
		path := field.NewPath("rules").Index(i)
		if len(rule.Verbs) == 0 {
			errs = append(errs, field.Required(path.Child("verbs"), ""))
		}
		if len(rule.NonResourceURLs) > 0 {
			if !cluster {
				errs = append(errs, field.Forbidden(path.Child("nonResourceURLs"), "a Role is about resources in its namespace"))
			}
			if len(rule.APIGroups) > 0 || len(rule.Resources) > 0 || len(rule.ResourceNames) > 0 {
				errs = append(errs, field.Forbidden(path.Child("nonResourceURLs"), "a rule is about either URLs or resources"))
			}
			continue
		}
		if len(rule.APIGroups) == 0 {
			errs = append(errs, field.Required(path.Child("apiGroups"), `"" is the core group`))
		}
		if len(rule.Resources) == 0 {
			errs = append(errs, field.Required(path.Child("resources"), ""))
		}
	}
	return errs
}

func validateSubjects(subjects []rbacv1.Subject) field.ErrorList {
	var errs field.ErrorList
	for i, subject := range subjects {
		path := field.NewPath("subjects").Index(i)
		if subject.Name == "" {
			errs = append(errs, field.Required(path.Child("name"), ""))
		}
		group := rbacv1.GroupName
		switch subject.Kind {
		case rbacv1.UserKind, rbacv1.GroupKind:
			if subject.Namespace != "" {
				errs = append(errs, field.Forbidden(path.Child("namespace"), "users and groups have no namespace"))
			}
		case rbacv1.ServiceAccountKind:
			group = ""
			if subject.Namespace == "" {
				errs = append(errs, field.Required(path.Child("namespace"), ""))
			}
		default:
			supported := []string{rbacv1.UserKind, rbacv1.GroupKind, rbacv1.ServiceAccountKind}
			errs = append(errs, field.NotSupported(path.Child("kind"), subject.Kind, supported))
		}
		if subject.APIGroup != "" && subject.APIGroup != group {
			errs = append(errs, field.NotSupported(path.Child("apiGroup"), subject.APIGroup, []string{group}))
		}
	}
	return errs
}

func validateRoleRef(ref rbacv1.RoleRef, kinds ...string) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("roleRef")
	if ref.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	if ref.APIGroup != "" && ref.APIGroup != rbacv1.GroupName {
		errs = append(errs, field.NotSupported(path.Child("apiGroup"), ref.APIGroup, []string{rbacv1.GroupName}))
	}
	for _, kind := range kinds {
		if ref.Kind == kind {
			return errs
		}
	}
	return append(errs, field.NotSupported(path.Child("kind"), ref.Kind, kinds))
}
