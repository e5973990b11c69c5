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

package leak_test

import (
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"

	"entente.dev/entente/test/harness"
	"entente.dev/entente/test/leak/search"
	"entente.dev/entente/test/process"
)

// suite is a server, what was done to it and what came of it.
type suite struct {
	*harness.Server
	t        *testing.T
	cmd      *exec.Cmd
	recorder search.Recorder
	table    table
	canaries canaries
	// admin is the suite itself.
	admin   *caller
	callers []*caller
	// rights are the rules of somebody with every ordinary right and these verbs on what
	// is sensitive.
	rights func(names []string, verbs ...string) []rbacv1.PolicyRule

	plan plan

	mu         sync.Mutex
	complaints []string
}

// complain notes that the suite did not do what it thinks it does, or that the server
// did not do what it is to do, other than to leak.
func (s *suite) complain(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.complaints = append(s.complaints, fmt.Sprintf(format, args...))
}

// plan is how much of the suite is run.
type plan struct {
	binary string
	env    []string
	// flags are more flags of the server.
	flags []string
	// callers are the names of some; none means all.
	callers []string
	// operations says which ones are tried; nil means all.
	operations func(*operation) bool
	parts      []part
	// turning is how long open watches may take to follow a right, from when it counts.
	turning time.Duration
	// outside says that what the process shows of itself is looked at too.
	outside bool
}

// part is a part of the suite; parts run at the same time.
type part struct {
	name string
	run  func(*suite, *testing.T)
}

var (
	requests = part{"requests", (*suite).requests}
	watches  = part{"watches", (*suite).watches}
	rights   = part{"rights", (*suite).rightsTurn}
	kubectl  = part{"kubectl", (*suite).kubectl}
)

// run runs the suite and returns it, searched.
func run(t *testing.T, p plan) (*suite, []search.Finding) {
	s := &suite{t: t, plan: p}
	// What is written into a status has to stay there.
	s.plan.flags = append(s.plan.flags, "--without-controllers")
	begin := time.Now()
	step := func(what string) {
		t.Logf("%s after %v", what, time.Since(begin).Round(time.Millisecond))
	}
	s.start(t)
	step("serving")
	s.readTable(t)
	all := s.makeCanaries(t)
	s.addCallers(t, p.callers)
	step("callers")
	t.Run("parts", func(t *testing.T) {
		for _, part := range p.parts {
			t.Run(part.name, func(t *testing.T) {
				t.Parallel()
				part.run(s, t)
				step(part.name)
			})
		}
	})
	if p.outside {
		s.shownOfItself(t, "entente_sensitive_decision_errors_total")
	}
	s.stop(t)
	step("stopped")
	findings, err := s.recorder.Search(all...)
	require.NoError(t, err)
	step("searched")
	return s, findings
}

// makeCanaries makes what is looked for.
func (s *suite) makeCanaries(t *testing.T) []search.Canary {
	c := &s.canaries
	add := func(to *[]search.Canary, name, value string) {
		canary, err := search.NewCanary(name, value)
		require.NoError(t, err)
		*to = append(*to, canary)
	}
	for _, k := range s.table.kinds {
		value, secrets, err := k.genuine()
		require.NoError(t, err)
		for i := range k.fields {
			switch {
			case i < len(c.stored): // kinds share canaries
			case i == 0:
				add(&c.stored, "what field 0 holds", value)
				require.True(t, strings.HasPrefix(value, k.public), "what every value begins with")
				c.stored[0] = c.stored[0].BeginsWith(k.public)
				for name, secret := range secrets {
					add(&c.inside, "the "+name+" in what field 0 holds", secret)
				}
			default:
				c.stored = append(c.stored, search.RandomCanary(fmt.Sprintf("what field %d holds", i)))
			}
		}
	}
	c.written = search.RandomCanary("what is written")
	c.astray = search.RandomCanary("what is written in a wrong way")
	c.between = search.RandomCanary("what is held while a right is lost")
	return append(c.seen(), c.astray)
}

// Nothing that a server lets out holds a piece of a sensitive value, but for those who
// may see it (R1 to R18).
func TestLeak(t *testing.T) {
	binary, err := process.Build("leak-server", "./test/leak/server")
	require.NoError(t, err)
	s, findings := run(t, plan{
		binary: binary, outside: true, turning: 15 * time.Second, // R3: a rule, and no time-out to raise
		parts: []part{requests, watches, rights, kubectl},
	})
	for _, complaint := range s.complaints {
		assert.Fail(t, "not as expected", "%s", complaint)
	}
	for _, finding := range findings {
		assert.Fail(t, "a leak", "%s", finding)
	}
	sizes, err := s.recorder.Sizes()
	require.NoError(t, err)
	t.Logf("%d operations, %d callers; bytes searched: %v", len(s.table.operations), len(s.callers), sizes)
	for _, class := range []string{"answer", "header", "watch", "kubectl", "stdout and stderr", "audit log", "audit webhook", "authorizer", "store"} {
		assert.Greater(t, sizes[class], 10_000, "there should be more of %s", class)
	}
}
