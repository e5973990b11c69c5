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

package escalation

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"entente.dev/entente/apis/peering"
	"entente.dev/entente/registry/guard"
)

// maxListed is how many of the permissions that are missing a refusal lists.
const maxListed = 10

// demand is what rule G2 demands of a user for one PeeringCapability: a verb on it, or all
// that its rules grant.
type demand struct {
	verb, capability string
	// rules finds the rules. found is false if there is no such capability; then it must
	// be the verb.
	rules func(context.Context) (rules []peering.CapabilityRule, found bool, err error)
}

// refusal is why a user is refused, in words for him.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

// meets fails with a refusal unless the user meets a demand, and with a typed error for the
// user if that cannot be told.
func meets(ctx context.Context, q *guard.Inquiry, d demand) error {
	err := d.try(ctx, q)
	if errors.Is(err, guard.ErrTooMany) {
		return &refusal{fmt.Sprintf("rule G2: more than %d permissions would have to be checked, so this takes the verb %q on peeringcapabilities %q", guard.MaxQuestions, d.verb, d.capability)}
	}
	return err
}

// try asks for the verb first: that is one question, and mostly all. What is missing is
// said to those only who may read the capability, and so is that there is none.
func (d demand) try(ctx context.Context, q *guard.Inquiry) error {
	if entitled, err := q.Holds(ctx, on(d.verb, d.capability)); err != nil || entitled {
		return err
	}
	rules, found, err := d.rules(ctx)
	if err != nil {
		return err
	}
	permissions, err := permissionsOf(rules, guard.MaxQuestions)
	if err != nil {
		return err
	}
	missing, err := q.Lacks(ctx, permissions, 1)
	if err != nil || found && len(missing) == 0 {
		return err
	}
	reads, err := q.Holds(ctx, on("get", d.capability))
	switch {
	case err != nil:
		return err
	case !reads:
		return d.refuse("")
	case !found:
		return d.refuse("; there is no such capability")
	}
	if missing, err = q.Lacks(ctx, permissions, maxListed+1); err != nil {
		return err
	}
	return d.refuse("; missing: " + list(missing))
}

func (d demand) refuse(reason string) error {
	return &refusal{fmt.Sprintf("rule G2: this takes the verb %q on peeringcapabilities %q, or each permission in its rules, in all namespaces%s", d.verb, d.capability, reason)}
}

func list(missing []guard.Permission) string {
	var listed []string
	for _, p := range missing[:min(len(missing), maxListed)] {
		listed = append(listed, p.String())
	}
	if len(missing) > maxListed {
		listed = append(listed, "and more")
	}
	return strings.Join(listed, ", ")
}
