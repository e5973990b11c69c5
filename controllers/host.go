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

package controllers

import (
	"errors"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientdiscovery "k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"entente.dev/entente/controllers/discovery"
	"entente.dev/entente/controllers/grant"
	"entente.dev/entente/controllers/projects"
)

// Host is the host cluster, as the controllers reach it. All of it is required.
type Host struct {
	// Client has no time-out, for informers.
	Client kubernetes.Interface
	// Bulk makes and deletes objects, many at a time.
	Bulk kubernetes.Interface
	// Dynamic reaches kinds that are not known here.
	Dynamic dynamic.Interface
	// Discovery tells which kinds there are.
	Discovery clientdiscovery.DiscoveryInterfaceWithContext
	// Namespace is the server's own one.
	Namespace string
	// Self is who the server is, as a binding names it.
	Self rbacv1.Subject
	// ConstrainedImpersonation says that what the server may do as somebody else can be
	// limited (H2).
	ConstrainedImpersonation bool
	// Config reaches the host cluster. It holds credentials.
	Config *rest.Config
	// AccessNamespace holds the Secrets by which workloads dial the peers, and nothing else.
	AccessNamespace string
}

// hostView is what the controllers know of the host cluster.
type hostView struct {
	resources *discovery.Follower
	projects  *projects.Model
	// namespaces and granted make informers: of namespaces, and of the RBAC objects that
	// may be ours.
	namespaces, granted informers.SharedInformerFactory
}

func newHostView(config Config) (*hostView, error) {
	host := config.Host
	if host.Client == nil || host.Bulk == nil || host.Dynamic == nil || host.Discovery == nil || host.Namespace == "" || host.Self.Name == "" || host.AccessNamespace == "" || config.ProjectLabel == "" {
		return nil, errors.New("what is known of the host cluster is not complete")
	}
	view := &hostView{
		namespaces: informers.NewSharedInformerFactory(host.Client, 0),
		granted: informers.NewSharedInformerFactoryWithOptions(host.Client, 0, informers.WithTweakListOptions(func(options *metav1.ListOptions) {
			options.LabelSelector = grant.Selector()
		})),
	}
	var err error
	if view.resources, err = discovery.New(discovery.Config{Client: host.Discovery, Clock: config.Clock}); err != nil {
		return nil, err
	}
	view.projects, err = projects.New(projects.Config{
		Namespaces:    view.namespaces.Core().V1().Namespaces(),
		Dynamic:       host.Dynamic,
		Resources:     view.resources,
		Label:         config.ProjectLabel,
		OwnNamespaces: []string{host.Namespace, host.AccessNamespace},
		Recorder:      config.Recorder,
		Clock:         config.Clock,
	})
	if err != nil {
		return nil, err
	}
	return view, nil
}

// terminating tells whether a namespace is being deleted.
func (v *hostView) terminating(name string) bool {
	namespace, err := v.namespaces.Core().V1().Namespaces().Lister().Get(name)
	return err == nil && namespace.DeletionTimestamp != nil
}

func (v *hostView) controllers() []controller {
	return []controller{{name: discovery.Name, run: v.resources.Run}, {name: projects.Name, run: v.projects.Run}}
}

// factories are what makes informers of the host cluster, none without one.
func (v *hostView) factories() []informerFactory {
	if v == nil {
		return nil
	}
	return []informerFactory{v.namespaces, v.granted}
}
