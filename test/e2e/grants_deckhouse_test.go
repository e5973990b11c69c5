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

package e2e

import (
	"context"
	"testing"

	"entente.dev/entente/test/kube"
)

// deckhouseProject has the admin make a Project that has these namespaces.
func (g *granting) deckhouseProject(t *testing.T, version, name, namespaces string) {
	t.Helper()
	g.east.MustKubectl(t, kube.Admin, "apiVersion: deckhouse.io/"+version+"\nkind: Project\nmetadata: {name: "+name+"}\nspec: {projectTemplateName: default}\n", "apply", "-f", "-")
	g.east.MustKubectl(t, kube.Admin, "", "patch", "projects."+version+".deckhouse.io", name, "--subresource=status", "--type=merge", "-p", `{"status":{"namespaces":`+namespaces+`}}`)
}

// G4: Projects of Deckhouse, whose kind comes later, changes its shape, and goes.
func (g *granting) deckhouse(t *testing.T) {
	all := []string{"b1", "b2", "c1"}
	with := func(more ...string) grants { return in(append(append([]string{}, all...), more...)...) }
	g.west.project(t, platform, "shop", "shop9")
	g.east.MustKubectl(t, platform, "", "create", "namespace", "shop-web")
	g.east.MustKubectl(t, platform, "", "create", "namespace", "shop-db")
	g.east.spec(t, platform, "cpeer", "west", `{"projects":["b","c","shop"]}`)
	g.east.MustKubectl(t, author, capability("projects", collectors, "[{apiGroups: [deckhouse.io], resources: [projects], verbs: [get]}]"), "create", "-f", "-")
	eventually(t, "the kind is not known yet", func(context.Context) error {
		return contains(g.east.MustKubectl(t, viewer, "", "get", "peercap", "projects", "--no-headers"), "UnknownResource")
	})

	g.east.MustKubectl(t, kube.Admin, "", "apply", "-f", deckhouseProject)
	g.east.MustKubectl(t, kube.Admin, "", "wait", "crd/projects.deckhouse.io", "--for=condition=Established")
	g.deckhouseProject(t, "v1alpha2", "shop", `["shop-web","shop-db","gone"]`)
	// Whoever adds kinds is not heard; they are looked for now and then.
	g.await(t, "a Project, by strings", patience, with("shop-db", "shop-web"))
	eventually(t, "and the capability is valid", func(context.Context) error {
		return contains(g.east.MustKubectl(t, viewer, "", "get", "peercap", "projects", "--no-headers"), "True", "Valid")
	})
	g.deckhouseProject(t, "v1alpha2", "shop", `["shop-web"]`)
	g.await(t, "a namespace less", soon, with("shop-web"))
	g.deckhouseProject(t, "v1alpha2", "other", `["shop-web"]`)
	g.await(t, "two Projects claim it", soon, with())
	eventually(t, "an Event of the namespace says so", func(context.Context) error {
		return contains(g.east.MustKubectl(t, viewer, "", "get", "events", "-A", "-o", `jsonpath={range .items[*]}{.reason} {.involvedObject.kind}/{.involvedObject.name}{"\n"}{end}`), "ProjectConflict Namespace/shop-web")
	})
	g.east.MustKubectl(t, kube.Admin, "", "delete", "projects.deckhouse.io", "other")
	g.await(t, "one does", soon, with("shop-web"))
	// Its word beats a label, and nothing is of two projects.
	g.east.label(t, platform, "shop-web", "c")
	g.deckhouseProject(t, "v1alpha2", "shop", `["shop-web","b2","kube-system","entente-system"]`)
	g.await(t, "it beats labels", soon, with("shop-web"))
	// What moves goes before it comes.
	eventually(t, "the ProjectPeer says so", func(context.Context) error {
		return contains(g.east.MustKubectl(t, auditor, "", "get", "projectpeers", "-n", "b2", "west", "--ignore-not-found", "-o", "jsonpath={.status.remoteNamespaces[*]}"), "shop9")
	})
	g.east.label(t, platform, "shop-web", "")

	// Another release, whose namespaces are objects.
	g.east.MustKubectl(t, kube.Admin, "", "delete", "projects.deckhouse.io", "shop")
	g.await(t, "it is gone", soon, with())
	g.east.MustKubectl(t, kube.Admin, "", "apply", "-f", "testdata/deckhouse-project-v1alpha3.yaml")
	eventually(t, "the kind has another version", func(context.Context) error {
		return contains(g.east.MustKubectl(t, kube.Admin, "", "get", "--raw", "/apis/deckhouse.io"), "v1alpha3")
	})
	g.deckhouseProject(t, "v1alpha3", "shop", `[{"name":"shop-db","kind":"Namespace"},{"name":"shop-web","kind":"Other"}]`)
	g.await(t, "a Project, by objects", patience, with("shop-db"))
	// Listed it has to be.
	g.east.spec(t, platform, "cpeer", "west", `{"projects":null}`)
	g.await(t, "not listed", soon, in("a1", "b1", "b2", "c1"))
	g.east.spec(t, platform, "cpeer", "west", `{"projects":["b","c","shop"]}`)
	g.await(t, "listed", soon, with("shop-db"))

	g.east.MustKubectl(t, kube.Admin, "", "delete", "crd", "projects.deckhouse.io")
	g.await(t, "the kind is gone", patience, with())
	g.east.spec(t, platform, "cpeer", "west", `{"projects":["b","c"]}`)
	g.east.MustKubectl(t, author, "", "delete", "peercap", "projects")
}
