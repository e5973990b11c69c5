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
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"entente.dev/entente/test/install"
	"entente.dev/entente/test/kube"
)

// serve is the command of the supervisor. It is started by up, which hands it the
// lock as file 3.
const (
	serve  = "serve"
	lockFD = 3
)

// users are who a cluster has besides admin, and the ClusterRoles of each. Both may also see
// what is not Entente's.
func users() map[string][]string {
	return map[string][]string{
		"operator": {"entente-operator", "entente-clusters-operator", "entente-releases-operator", "view"},
		"viewer":   {"entente-viewer", "entente-clusters-viewer", "view"},
	}
}

// serve runs the cluster until ctx is done.
func (c cluster) serve(ctx context.Context) error {
	lock := os.NewFile(lockFD, c.lockFile())
	if lock == nil || !current(lock, c.lockFile()) {
		return errors.New("this command is for `cluster up` to start")
	}
	// Nothing that is started here may keep it.
	syscall.CloseOnExec(lockFD)
	defer lock.Close()
	if _, err := fmt.Fprintln(lock, os.Getpid()); err != nil {
		return fmt.Errorf("could not say which process this is: %w", err)
	}
	control, err := kube.New(kube.Options{Dir: c.folder(), Bin: c.kube, Name: c.name})
	if err != nil {
		return err
	}
	if err := control.Start(ctx); err != nil {
		return err
	}
	entente, err := install.Install(ctx, control, install.Options{Binary: c.entente, Deploy: c.deploy, Clusters: true})
	if err == nil {
		err = c.hold(ctx, control, entente)
		err = errors.Join(err, entente.Stop())
	}
	return errors.Join(err, control.Stop())
}

// hold makes what people need, says that the cluster is up, and looks after it
// until ctx is done or something has died.
func (c cluster) hold(ctx context.Context, control *kube.ControlPlane, entente *install.Entente) error {
	for user, roles := range users() {
		if _, err := control.AddUser(user); err != nil {
			return err
		}
		for _, role := range roles {
			if err := control.Bind(ctx, user, role); err != nil {
				return err
			}
		}
	}
	text, err := c.text(ctx, control, entente)
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.ready()+".new", []byte(text), 0o600); err != nil {
		return fmt.Errorf("could not say that the cluster is up: %w", err)
	}
	if err := os.Rename(c.ready()+".new", c.ready()); err != nil {
		return fmt.Errorf("could not say that the cluster is up: %w", err)
	}
	// From here on it stands for nothing that runs.
	defer os.Remove(c.ready())
	renewal := time.NewTicker(install.TokenLifetime / 4)
	defer renewal.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-control.Died():
			return err
		case err := <-entente.Died():
			return err
		case <-renewal.C:
			if err := entente.RenewToken(ctx); err != nil {
				// The token that is there lasts for some more tries.
				fmt.Println(err)
			}
		}
	}
}

// text is what there is to tell people.
func (c cluster) text(ctx context.Context, control *kube.ControlPlane, entente *install.Entente) (string, error) {
	versions, err := kube.Versions(ctx, c.kube)
	if err != nil {
		return "", err
	}
	invitation, err := c.invitation()
	if err != nil {
		return "", err
	}
	kubeconfig := func(of cluster, user string) string {
		return filepath.Join(of.folder(), user+".kubeconfig")
	}
	kubectl := func(of cluster, user string) string {
		return filepath.Join(c.kube, "kubectl") + " --kubeconfig " + kubeconfig(of, user)
	}
	other := cluster{settings: c.settings, name: invitation.other}
	var text strings.Builder
	fmt.Fprintf(&text, "\nCluster %s is up: Kubernetes v%s at %s, with Entente.\n", c.name, versions["kube-apiserver"], control.URL())
	fmt.Fprintf(&text, "Other clusters on this machine reach it at %s.\n", entente.Gateway())
	fmt.Fprintf(&text, "Logs are in %s.\n\n", filepath.Join(c.folder(), "logs")+" and "+filepath.Join(c.folder(), "entente"))
	for _, user := range []string{kube.Admin, "operator", "viewer"} {
		fmt.Fprintf(&text, "  %s\n", kubeconfig(c, user))
	}
	fmt.Fprintf(&text, "\nInvite another cluster. The viewer sees a placeholder where the admin sees the connection string:\n\n")
	fmt.Fprintf(&text, "  %s apply -f %s\n", kubectl(c, "operator"), invitation.invite)
	fmt.Fprintf(&text, "  %s get cpeer %s -o yaml\n", kubectl(c, "viewer"), other.name)
	fmt.Fprintf(&text, "  %s get cpeer %s -o yaml --subresource=sensitive\n", kubectl(c, kube.Admin), other.name)
	fmt.Fprintf(&text, "\nStart it with `make cluster-up CLUSTER=%s`, and have it join with that string:\n\n", other.name)
	fmt.Fprintf(&text, "  %s get cpeer %s --subresource=sensitive -o go-template-file=%s | %s apply -f -\n",
		kubectl(c, kube.Admin), other.name, invitation.join, kubectl(other, "operator"))
	fmt.Fprintf(&text, "  %s get cpeer\n", kubectl(other, "viewer"))
	fmt.Fprintf(&text, "\n`make cluster-down CLUSTER=%s` stops it and removes %s.\n", c.name, c.folder())
	return text.String(), nil
}
