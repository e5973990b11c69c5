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
	"fmt"
	"log" //nolint:depguard // where it writes to is what is set
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/term"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"

	"entente.dev/entente/apiserver"
	"entente.dev/entente/apiserver/options"
)

func newCommand() *cobra.Command {
	o, optionsErr := options.New()
	cmd := &cobra.Command{
		Use:   "entente-apiserver",
		Short: "Serve the APIs of Entente",
		Long: `entente-apiserver lets two Kubernetes clusters agree to trust each other and keeps
the secrets of that agreement out of sight of everyone who may read the objects
but not the secrets.

What is stored is encrypted, saved and restored by: entente-apiserver storage --help`,
		Version:      version.Get().GitVersion,
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if optionsErr != nil {
				return optionsErr
			}
			if err := logsapi.ValidateAndApply(o.Logs, nil); err != nil {
				return err
			}
			log.SetOutput(discreet{logs.KlogWriter{}})
			cliflag.PrintFlags(cmd.Flags())
			if err := o.Validate(); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return run(klog.NewContext(ctx, klog.Background()), o)
		},
	}
	if optionsErr != nil {
		return cmd
	}
	sections := o.Flags()
	globalflag.AddGlobalFlags(sections.FlagSet("global"), cmd.Name(), logs.SkipLoggingConfigurationFlags())
	sections.FlagSet("global").Bool("version", false, "Print the version and exit.")
	for _, section := range sections.FlagSets {
		cmd.Flags().AddFlagSet(section)
	}
	columns, _, _ := term.TerminalSize(cmd.OutOrStdout())
	cliflag.SetUsageAndHelpFunc(cmd, sections, columns)
	cmd.AddCommand(newStorageCommand())
	return cmd
}

func run(ctx context.Context, o *options.Options) error {
	config, err := o.Config().Complete()
	if err != nil {
		return err
	}
	server, err := apiserver.New(ctx, config)
	if err != nil {
		return fmt.Errorf("could not start: %w", err)
	}
	return server.Run(ctx)
}
