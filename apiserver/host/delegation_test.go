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

package host

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// inMemory reaches a cluster without a network, for which a bubble would not wait.
type inMemory struct{ *cluster }

func (c inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	c.ServeHTTP(answer, r)
	return answer.Result(), nil
}

// R3: an answer of the host counts for 5 seconds where sight is asked for, so that a right
// that is lost ends it within 15, and for 10 where a request is, yes and no alike. As long
// as it counts the host is asked no more, however often somebody else is.
func TestR3AnswersOfTheHostCountForSeconds(t *testing.T) {
	const often = 1000
	for name, test := range map[string]struct {
		authorizer func(*Host) (authorizer.Authorizer, error)
		counts     time.Duration
	}{
		"sight":    {(*Host).SightAuthorizer, 5 * time.Second},
		"requests": {(*Host).Authorizer, 10 * time.Second},
	} {
		for answer, allowed := range map[string]bool{"yes": true, "no": false} {
			t.Run(name+": "+answer, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := &cluster{}
					if !allowed {
						c.forbidden = map[string]bool{"clusterpeers": true}
					}
					client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://host.invalid", Transport: inMemory{c}, QPS: -1})
					require.NoError(t, err)
					a, err := test.authorizer(&Host{urgent: client})
					require.NoError(t, err)
					// asked is how often the host is asked while somebody is a thousand times.
					asked := func(who string) int {
						c.reviews = 0
						for range often {
							decision, _, err := a.Authorize(t.Context(), authorizer.AttributesRecord{
								User: &user.DefaultInfo{Name: who, Groups: []string{"people"}},
								Verb: "get", APIGroup: "peering.entente.dev", APIVersion: "v1alpha1",
								Resource: "clusterpeers", Subresource: "sensitive", Name: "east", ResourceRequest: true,
							})
							require.NoError(t, err)
							require.Equal(t, allowed, decision == authorizer.DecisionAllow)
						}
						return c.reviews
					}
					assert.Equal(t, 1, asked("vera"))
					assert.Equal(t, 1, asked("olga"), "an answer is for one user")
					// The clock of the bubble: nobody waits.
					time.Sleep(test.counts - time.Millisecond)
					assert.Zero(t, asked("vera"), "it counts as long as that")
					time.Sleep(2 * time.Millisecond)
					assert.Equal(t, 1, asked("vera"), "and no longer")
				})
			})
		}
	}
}
