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
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"entente.dev/entente/test/kube"
)

// openWatch is a watch through the near end that is open, and kept so by nothing but the
// access that it stands on.
type openWatch struct {
	events watch.Interface
	ended  chan time.Time
}

// watches opens a watch of the ConfigMaps in b1.
func (w *working) watches(t *testing.T) *openWatch {
	t.Helper()
	events, err := w.clients(t, w.agent).CoreV1().ConfigMaps("b1").Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	o := &openWatch{events: events, ended: make(chan time.Time, 1)}
	go func() {
		for range events.ResultChan() {
		}
		o.ended <- time.Now()
	}()
	t.Cleanup(events.Stop)
	return o
}

// grounds are all that the access stands on: each of them gone ends it, also for who watches,
// and the same access is there again when it is back.
func (w *working) grounds(t *testing.T) {
	for _, ground := range []struct {
		name     string
		take     func()
		giveBack func()
	}{
		{
			"the capability is not named in east", func() { w.east.spec(t, author, "cpeer", "west", `{"capabilities":null}`) },
			func() { w.east.spec(t, author, "cpeer", "west", `{"capabilities":["`+remote+`"]}`) },
		},
		{
			"the capability is not named in west", func() { w.west.spec(t, author, "cpeer", "east", `{"capabilities":null}`) },
			func() { w.west.spec(t, author, "cpeer", "east", `{"capabilities":["`+remote+`"]}`) },
		},
		{
			"the capability is deleted in east", func() { w.east.MustKubectl(t, author, "", "delete", "peercap", remote) },
			func() {
				w.east.MustKubectl(t, author, capability(remote, moduleConsumers, moduleRules), "create", "-f", "-")
			},
		},
		{
			"the capability is deleted in west", func() { w.west.MustKubectl(t, author, "", "delete", "peercap", remote) },
			func() {
				w.west.MustKubectl(t, author, capability(remote, moduleConsumers, "[]"), "create", "-f", "-")
			},
		},
		{
			"the consumer is not named in east", func() { w.east.spec(t, author, "peercap", remote, `{"consumers":[]}`) },
			func() {
				w.east.spec(t, author, "peercap", remote, `{"consumers":[{"namespace":"`+module+`","name":"agent"}]}`)
			},
		},
		{
			"the consumer is not named in west", func() { w.west.spec(t, author, "peercap", remote, `{"consumers":[]}`) },
			func() {
				w.west.spec(t, author, "peercap", remote, `{"consumers":[{"namespace":"`+module+`","name":"agent"}]}`)
			},
		},
		{
			"the rule does not allow it", func() {
				w.east.spec(t, author, "peercap", remote, `{"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["create"]}]}`)
			},
			func() {
				w.east.MustKubectl(t, author, capability(remote, moduleConsumers, moduleRules), "replace", "-f", "-")
			},
		},
		{
			"the label of the namespace", func() { w.east.label(t, writer, "b1", "") },
			func() { w.east.label(t, platform, "b1", "b") },
		},
		{
			"the pairing of the project", func() { w.west.label(t, writer, "b9", "") },
			func() { w.west.label(t, platform, "b9", "b") },
		},
	} {
		t.Run(ground.name, func(t *testing.T) {
			w.reaches(t)
			open := w.watches(t)
			start := time.Now()
			ground.take()
			w.ends(t, open, start)
			ground.giveBack()
			eventuallyWithin(t, later, "the agent reaches east again", func(context.Context) error {
				code, _, stderr := w.through(t, w.agent, "", "get", "configmap", "-n", "b1", "settings")
				if code != 0 {
					return fmt.Errorf("it does not: %s", stderr)
				}
				return nil
			})
		})
	}
	// The host's RBAC decides second: without our Role all else does not help. (Entente makes
	// it again at once, so that it is looked at from the other side: nobody but the consumer
	// has it.)
	t.Run("a ServiceAccount that is gone", func(t *testing.T) {
		w.west.MustKubectl(t, kube.Admin, "", "delete", "serviceaccount", "-n", module, "agent")
		eventuallyWithin(t, soon, "its token is no good", func(context.Context) error {
			if code, _, _ := w.through(t, w.agent, "", "get", "configmap", "-n", "b1", "settings"); code == 0 {
				return fmt.Errorf("it is")
			}
			return nil
		})
		w.west.MustKubectl(t, kube.Admin, "", "create", "serviceaccount", "-n", module, "agent")
		w.agent = w.west.ServiceAccountKubeconfig(t, module, "agent")
		w.reaches(t)
	})
	t.Run("the ClusterPeer", func(t *testing.T) {
		open := w.watches(t)
		start := time.Now()
		w.east.MustKubectl(t, author, "", "delete", "cpeer", "west", "--timeout=30s")
		w.ends(t, open, start)
		w.east.MustKubectl(t, viewer, "", "wait", "--for=delete", "tokenexchangeprovider/peer-west", "--timeout=30s")
		w.west.says(t, "east", "PeerLeft")
		eventually(t, "the certificate is gone", func(context.Context) error {
			if found := w.west.MustKubectl(t, kube.Admin, "", "get", "secrets", "-n", accessNamespace, "-o", "name"); found != "" {
				return fmt.Errorf("there is %s", found)
			}
			return nil
		})
		if access := w.west.peer(t, "east").Status.Access; access != nil {
			eventually(t, "status.access is gone", func(context.Context) error {
				if w.west.peer(t, "east").Status.Access != nil {
					return fmt.Errorf("it is there")
				}
				return nil
			})
		}
	})
}

// ends waits until a watch has ended and the consumer reads nothing any more, and says how
// long that took.
func (w *working) ends(t *testing.T, open *openWatch, start time.Time) {
	t.Helper()
	select {
	case at := <-open.ended:
		t.Logf("the watch ended after %v", at.Sub(start).Round(10*time.Millisecond))
	case <-time.After(soon):
		require.Fail(t, "the watch goes on")
	}
	eventuallyWithin(t, soon, "nothing is read any more", func(context.Context) error {
		if code, stdout, _ := w.through(t, w.agent, "", "get", "configmap", "-n", "b1", "settings"); code == 0 {
			return fmt.Errorf("it reads %s", stdout)
		}
		return nil
	})
	t.Logf("nothing was read any more after %v", time.Since(start).Round(10*time.Millisecond))
}

// rights is that Entente needed what is shipped for the access, and no more, and that no
// token is in any log (R15).
func (w *working) rights(t *testing.T) {
	w.putRight(t)
	eventually(t, "the rights in "+accessNamespace+" are used", func(context.Context) error {
		for _, right := range w.west.entente.Rights(t).Unused {
			if forAccess(right) {
				return fmt.Errorf("unused: %s", right)
			}
		}
		return nil
	})
	for _, s := range w.sides() {
		refused := slices.DeleteFunc(s.entente.Rights(t).Refused, func(call string) bool {
			// tooEarly: the module had not let Entente have its tokens yet (H1).
			return strings.Contains(call, "/serviceaccounts/agent/token")
		})
		assert.Empty(t, refused, s.Name)
		assertNoToken(t, s)
	}
}

// putRight is a Secret that somebody has changed: it is looked at when Entente starts, and
// now and then.
func (w *working) putRight(t *testing.T) {
	t.Helper()
	w.invited(t, "east2")
	_ = w.west.dataCertificate(t, "east2")
	w.west.MustKubectl(t, kube.Admin, "", "patch", "secret", "-n", accessNamespace, "east2-access", "--type=merge", "-p", `{"data":{"ca.crt":null}}`)
	w.west.entente.Restart(t)
	eventually(t, "the Secret is put right", func(context.Context) error {
		if w.west.MustKubectl(t, kube.Admin, "", "get", "secret", "-n", accessNamespace, "east2-access", "-o", `jsonpath={.data.ca\.crt}`) == "" {
			return errors.New("it is not")
		}
		return nil
	})
}

// invited pairs the clusters anew, in west under this name.
func (w *working) invited(t *testing.T, name string) {
	t.Helper()
	w.west.MustKubectl(t, author, "", "delete", "cpeer", "--all", "--timeout=30s")
	w.east.MustKubectl(t, author, "apiVersion: peering.entente.dev/v1alpha1\nkind: ClusterPeer\nmetadata: {name: west}\nspec: {type: Invite, capabilities: ["+remote+"]}\n", "create", "-f", "-")
	w.keep(w.east.issued(t, "west", ""))
	w.west.MustKubectl(t, author, "apiVersion: peering.entente.dev/v1alpha1\nkind: ClusterPeer\nmetadata: {name: "+name+"}\nspec: {type: Join, capabilities: ["+remote+"], join: {connectionString: "+w.text+"}}\n", "create", "-f", "-")
	w.west.says(t, name, "Active")
	w.granted(t, "b1", "b2")
}

func assertNoToken(t *testing.T, s *side) {
	t.Helper()
	for _, log := range []string{s.entente.Log, filepath.Join(s.Dir, "logs", "kube-apiserver.log"), filepath.Join(s.Dir, "logs", "audit.log")} {
		content, err := os.ReadFile(log)
		require.NoError(t, err)
		assert.NotContains(t, string(content), "eyJhbGci", log) // as every token begins
	}
	for _, kind := range []string{"events", "clusterpeers", "tokenexchangeproviders"} {
		assert.NotContains(t, s.MustKubectl(t, viewer, "", "get", kind, "-A", "-o", "yaml"), "eyJhbGci", kind)
	}
}
