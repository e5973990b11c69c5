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

// Command server is entente-apiserver for the leak suite: the same server by the same
// flags, with an authorizer around its own that writes down what it is asked, and that
// does badly when it is asked about the sensitive fields for certain users.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/component-base/cli"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"

	"entente.dev/entente/apiserver"
	"entente.dev/entente/apiserver/options"
)

func main() {
	os.Exit(cli.Run(newCommand()))
}

func newCommand() *cobra.Command {
	o, optionsErr := options.New()
	a := &watchedAuthorizer{}
	var record string
	var alone bool
	cmd := &cobra.Command{
		Use:          "server",
		Short:        "Serve for the leak suite",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if err := logsapi.ValidateAndApply(o.Logs, nil); err != nil {
				return err
			}
			cliflag.PrintFlags(cmd.Flags())
			if err := o.Validate(); err != nil {
				return err
			}
			file, err := os.Create(record)
			if err != nil {
				return fmt.Errorf("could not open --authorizer-record: %w", err)
			}
			defer func() { err = errors.Join(err, a.err, file.Close()) }()
			a.record = json.NewEncoder(file)
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM)
			defer stop()
			return run(klog.NewContext(ctx, klog.Background()), o, a, alone)
		},
	}
	if optionsErr != nil {
		cmd.RunE = func(*cobra.Command, []string) error { return optionsErr }
		return cmd
	}
	for _, section := range o.Flags().FlagSets {
		cmd.Flags().AddFlagSet(section)
	}
	cmd.Flags().StringVar(&record, "authorizer-record", "", "File for what the authorizer is asked.")
	cmd.Flags().StringVar(&a.erring, "erring-user", "", "User about whom the authorizer fails.")
	cmd.Flags().BoolVar(&alone, "without-controllers", false, "Serve the API only, so that what is written into a status stays there.")
	cmd.Flags().StringVar(&a.hanging, "hanging-user", "", "User about whom the authorizer does not answer.")
	return cmd
}

func run(ctx context.Context, o *options.Options, a *watchedAuthorizer, alone bool) error {
	config := o.Config()
	config.NeverLeads = alone
	config.WrapAuthorizer = func(inner authorizer.Authorizer) authorizer.Authorizer {
		a.Authorizer = inner
		return a
	}
	completed, err := config.Complete()
	if err != nil {
		return err
	}
	server, err := apiserver.New(ctx, completed)
	if err != nil {
		return err
	}
	return server.Run(ctx)
}

// hang is how long the authorizer does not answer. The server waits for two seconds.
const hang = 3 * time.Second

// watchedAuthorizer writes down what an authorizer is asked: in host mode it is sent to
// the host.
type watchedAuthorizer struct {
	authorizer.Authorizer
	erring, hanging string

	mu     sync.Mutex
	record *json.Encoder
	err    error
}

// Authorize asks the authorizer behind, unless it is to do badly.
func (a *watchedAuthorizer) Authorize(ctx context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	a.write(attributes)
	if attributes.GetSubresource() == "sensitive" {
		switch attributes.GetUser().GetName() {
		case a.erring:
			return authorizer.DecisionDeny, "", errors.New("the authorizer is to fail")
		case a.hanging:
			select {
			case <-ctx.Done():
			case <-time.After(hang): // a request for the subresource itself has a minute
			}
			return authorizer.DecisionDeny, "", errors.New("the authorizer is to hang")
		}
	}
	return a.Authorizer.Authorize(ctx, attributes)
}

// ConditionsAwareAuthorize does the same.
func (a *watchedAuthorizer) ConditionsAwareAuthorize(ctx context.Context, attributes authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(a.Authorize(ctx, attributes))
}

func (a *watchedAuthorizer) write(attributes authorizer.Attributes) {
	fields, _ := attributes.GetFieldSelector()
	labels, _ := attributes.GetLabelSelector()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = errors.Join(a.err, a.record.Encode(map[string]any{
		"user": attributes.GetUser().GetName(), "uid": attributes.GetUser().GetUID(), "groups": attributes.GetUser().GetGroups(), "extra": attributes.GetUser().GetExtra(),
		"verb": attributes.GetVerb(), "namespace": attributes.GetNamespace(), "group": attributes.GetAPIGroup(), "version": attributes.GetAPIVersion(),
		"resource": attributes.GetResource(), "subresource": attributes.GetSubresource(), "name": attributes.GetName(), "path": attributes.GetPath(),
		"fields": fmt.Sprint(fields), "labels": fmt.Sprint(labels),
	}))
}
