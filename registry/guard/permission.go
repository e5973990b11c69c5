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

package guard

import (
	"fmt"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// anyVersion stands for all versions of an API group: RBAC knows none.
const anyVersion = "*"

// Permission is the smallest thing that can be asked about: one verb on one resource, or on
// one of its objects, or on one URL.
type Permission struct {
	Verb string
	// URL is the path of a URL; empty with a resource.
	URL string
	// Group and Resource are what the verb is for, the resource with its subresource as
	// in pods/log; Namespace is empty for all namespaces, Name for all objects.
	Group, Resource, Namespace, Name string
}

// Attributes are those of a request that takes this permission.
func (p Permission) Attributes(who user.Info) authorizer.Attributes {
	if p.URL != "" {
		return authorizer.AttributesRecord{User: who, Verb: p.Verb, Path: p.URL}
	}
	resource, subresource, _ := strings.Cut(p.Resource, "/")
	return authorizer.AttributesRecord{
		User: who, Verb: p.Verb, Namespace: p.Namespace,
		APIGroup: p.Group, APIVersion: anyVersion, Resource: resource, Subresource: subresource, Name: p.Name,
		ResourceRequest: true,
	}
}

// String prints the permission as a rule, as the refusals of RBAC do.
func (p Permission) String() string {
	if p.URL != "" {
		return fmt.Sprintf("{NonResourceURLs:[%q], Verbs:[%q]}", p.URL, p.Verb)
	}
	names := ""
	if p.Name != "" {
		names = fmt.Sprintf("ResourceNames:[%q], ", p.Name)
	}
	return fmt.Sprintf("{APIGroups:[%q], Resources:[%q], %sVerbs:[%q]}", p.Group, p.Resource, names, p.Verb)
}
