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
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/klog/v2"

	"entente.dev/entente/apiserver"
	"entente.dev/entente/apiserver/host"
	"entente.dev/entente/apiserver/options"
)

// newStorageCommand returns the commands that work on the store without serving it.
func newStorageCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "storage",
		Short: "Encrypt, save and restore what is stored",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRewriteCommand(), newSnapshotCommand(), newRestoreCommand())
	// Else it would have the texts of the server, which show the server's flags.
	plain := &cobra.Command{}
	cmd.SetUsageFunc(plain.UsageFunc())
	cmd.SetHelpFunc(plain.HelpFunc())
	return cmd
}

func newRewriteCommand() *cobra.Command {
	config := apiserver.RewriteConfig{Etcd: options.NewEtcdOptions()}
	var keys apiserver.HostConfig
	var inCluster bool
	cmd := &cobra.Command{
		Use:   "rewrite",
		Short: "Encrypt all stored objects anew with what encrypts now",
		Long: `Encrypt all stored objects anew that are not encrypted with what encrypts now: the
first key of --encryption-provider-config, or without it the generated key.

It can be interrupted and run again at any time. The server that uses --data-dir
must be stopped. With --etcd-servers, --encryption-provider-config and no --data-dir
servers may run, if all of them use this configuration already.

The generated key of a server behind a host cluster is in a Secret there: --kubeconfig
or --in-cluster leads to it. All servers that use it must be stopped.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if keys.Kubeconfig != "" || inCluster {
				config.Host = &keys
			}
			return interruptible(cmd, func(ctx context.Context) error {
				result, err := apiserver.RewriteStorage(ctx, config)
				if err == nil || result.Rewritten > 0 {
					_, _ = fmt.Fprintf(cmd.OutOrStdout(), "rewritten: %d (%d were in the clear)\ncurrent: %d\n", result.Rewritten, result.Clear, result.Current)
				}
				return err
			})
		},
	}
	flags := cmd.Flags()
	addDataDir(flags, &config.DataDir)
	addStoreFlags(flags, config.Etcd)
	flags.StringVar(&keys.Kubeconfig, "kubeconfig", "", "Kubeconfig of the host cluster, if the generated key is in a Secret there.")
	flags.BoolVar(&inCluster, "in-cluster", false, "The generated key is in a Secret of the cluster that this process runs in, as a pod.")
	flags.StringVar(&keys.Namespace, "namespace", "", "Namespace of that Secret. Default: that of the pod, or "+host.DefaultNamespace+" outside of one.")
	flags.BoolVar(&config.NewKey, "new-key", false,
		"Make a new generated key first, and remove all older ones when nothing is encrypted with them any more.")
	flags.BoolVar(&config.ServersAreStopped, "servers-are-stopped", false,
		"No server uses --etcd-servers. Needed for --new-key with these.")
	flags.BoolVar(&config.ToGeneratedKey, "to-generated-key", false,
		"Go back from --encryption-provider-config, which is still read with, to the generated key.")
	flags.BoolVar(&config.AcceptClear, "accept-clear", false,
		"Encrypt objects that are in the clear, too. Only for a store into which nobody else could write: what they put there would be taken for the server's own.")
	return cmd
}

func newSnapshotCommand() *cobra.Command {
	var dataDir, output string
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Save the embedded store to a file, without its key",
		Long: `Save the embedded store to a file, whether a server runs on it or not. What is in
the file is encrypted. The key is not in it: keep a copy of that elsewhere.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dataDir == "" || output == "" {
				return errors.New("--data-dir and --output are needed")
			}
			return interruptible(cmd, func(ctx context.Context) error {
				if output == "-" {
					return apiserver.SnapshotStorage(ctx, dataDir, "", cmd.OutOrStdout())
				}
				return apiserver.SnapshotStorage(ctx, dataDir, output, nil)
			})
		},
	}
	flags := cmd.Flags()
	addDataDir(flags, &dataDir)
	flags.StringVarP(&output, "output", "o", "", "The file, which must not be there, or - for the standard output.")
	return cmd
}

func newRestoreCommand() *cobra.Command {
	var dataDir, input string
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Make the embedded store of a new data folder from a saved one",
		Long: `Make the embedded store of a data folder that has none from a saved one. Put the key
into place, too, before the server starts. Clients that watch are told to read anew.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if dataDir == "" || input == "" {
				return errors.New("--data-dir and --input are needed")
			}
			return apiserver.RestoreStorage(dataDir, input)
		},
	}
	flags := cmd.Flags()
	addDataDir(flags, &dataDir)
	flags.StringVarP(&input, "input", "i", "", "The file that was saved.")
	return cmd
}

func addDataDir(flags *pflag.FlagSet, dataDir *string) {
	flags.StringVar(dataDir, "data-dir", "", "The data folder of the server.")
}

// addStoreFlags adds those flags of the server that say where objects are stored and
// how they are encrypted.
func addStoreFlags(flags *pflag.FlagSet, etcd *genericoptions.EtcdOptions) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	options.AddEtcdFlags(etcd, all)
	for _, name := range []string{"etcd-servers", "etcd-prefix", "etcd-cafile", "etcd-certfile", "etcd-keyfile", "encryption-provider-config"} {
		flags.AddFlag(all.Lookup(name))
	}
}

func interruptible(cmd *cobra.Command, do func(context.Context) error) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return do(klog.NewContext(ctx, klog.Background()))
}
