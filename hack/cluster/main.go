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

// Command cluster starts and stops control planes with Entente beside them, for
// people: `make cluster-up CLUSTER=east`. Each is held by a supervisor, a process of
// this command in the background, and does not outlive it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"k8s.io/apimachinery/pkg/util/validation"
)

const usage = `usage:
  cluster up NAME          start a control plane with Entente in the background
  cluster down NAME        stop it and remove its folder
  cluster down --all       stop and remove all of them
`

// settings are where things are; relative paths are the caller's.
type settings struct {
	// root has a folder for each cluster.
	root string
	// kube is the folder with the binaries of Kubernetes.
	kube string
	// entente is the program.
	entente string
	// deploy is the folder with the manifests.
	deploy string
}

// errUsage is for mistakes on the command line.
var errUsage = errors.New("wrong usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		if errors.Is(err, errUsage) {
			fmt.Fprint(os.Stderr, usage)
			os.Exit(2)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	var s settings
	var all bool
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(io.Discard) // The error says it.
	flags.StringVar(&s.root, "root", ".local", "folder with a folder for each cluster")
	flags.StringVar(&s.kube, "kube", filepath.Join("bin", "kube"), "folder with the binaries of Kubernetes")
	flags.StringVar(&s.entente, "entente", filepath.Join("bin", "entente-apiserver"), "the program")
	flags.StringVar(&s.deploy, "deploy", filepath.Join("artifacts", "overlays", "clusters"), "folder with the manifests")
	flags.BoolVar(&all, "all", false, "every cluster (down)")
	if err := flags.Parse(args[1:]); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if args[0] == "down" && all && flags.NArg() == 0 {
		return downAll(ctx, s)
	}
	if flags.NArg() != 1 || all {
		return fmt.Errorf("%w: which cluster?", errUsage)
	}
	c := cluster{settings: s, name: flags.Arg(0)}
	// It becomes part of paths, and of names in kubeconfigs.
	if faults := validation.IsDNS1123Label(c.name); len(faults) > 0 {
		return fmt.Errorf("%w: a cluster cannot be called %q: %s", errUsage, c.name, faults[0])
	}
	switch args[0] {
	case "up":
		return c.up(ctx)
	case "down":
		return c.down(ctx)
	case serve:
		return c.serve(ctx)
	default:
		return fmt.Errorf("%w: there is no %q", errUsage, args[0])
	}
}
