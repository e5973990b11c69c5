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

package sensitive

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	clocktesting "k8s.io/utils/clock/testing"
)

// countingSerializer counts how often a Vault is encoded, and how often an event.
type countingSerializer struct {
	runtime.NegotiatedSerializer
	objects, events *atomic.Int32
}

func (s countingSerializer) SupportedMediaTypes() []runtime.SerializerInfo {
	infos := slices.Clone(s.NegotiatedSerializer.SupportedMediaTypes())
	for i := range infos {
		infos[i].Serializer = countingEncoder{infos[i].Serializer, s}
		if stream := infos[i].StreamSerializer; stream != nil {
			counted := *stream
			counted.Serializer = countingEncoder{stream.Serializer, s}
			infos[i].StreamSerializer = &counted
		}
	}
	return infos
}

type countingEncoder struct {
	runtime.Serializer
	s countingSerializer
}

func (e countingEncoder) Encode(obj runtime.Object, w io.Writer) error {
	switch obj.(type) {
	case *Vault, *VaultV1:
		e.s.objects.Add(1)
	case *metav1.WatchEvent:
		e.s.events.Add(1)
	}
	return e.Serializer.Encode(obj, w)
}

// R3, R8: a thousand redacted watches of a user cost one authorizer call, another one
// after 5 seconds, and one encoding an event. Those in the clear beside them take
// encodings of their own.
func TestR8AThousandWatches(t *testing.T) {
	const watches, events = 1000, 4
	for name, inTheClear := range map[string]int{"redacted": 0, "a few in the clear beside them": 10} {
		t.Run(name, func(t *testing.T) {
			serializer := countingSerializer{NewNegotiatedSerializer(vaultCodecs), &atomic.Int32{}, &atomic.Int32{}}
			a := newAPIWith(t, serializer)
			clock := clocktesting.NewFakeClock(time.Now())
			a.main.decider.clock = clock
			// From a version on, so that there are no initial events: those are no live ones.
			from := a.add(t, newVault("one")).ResourceVersion
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			seen := make(chan string, watches)
			var open sync.WaitGroup
			defer open.Wait()
			defer cancel()
			for i := range watches + inTheClear {
				user := writer
				if i >= watches {
					user = reader
				}
				res, err := a.server.Client().Do(a.request(ctx, t, call{user: user, path: "?watch=1&resourceVersion=" + from}))
				require.NoError(t, err)
				require.Equal(t, http.StatusOK, res.StatusCode)
				open.Go(func() {
					defer res.Body.Close()
					lines := bufio.NewReader(res.Body)
					for {
						line, err := lines.ReadString('\n')
						if err != nil {
							return
						}
						if !strings.Contains(line, `"BOOKMARK"`) {
							seen <- user + line
						}
					}
				})
			}
			keys := 1 + min(1, inTheClear)
			require.Len(t, a.calls(), keys, "R3: once a user")

			// What writes past the endpoints is answered to nobody.
			texts := map[string]int{}
			for i := range events {
				_, _, err := a.store.Update(requestContext(reader, ""), "one", changing(func(v *Vault) { v.Spec.Label = fmt.Sprint("event ", i) }), nil, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
				require.NoError(t, err)
				for range watches + inTheClear {
					select {
					case text := <-seen:
						texts[text]++
					case <-time.After(time.Minute):
						require.FailNow(t, "an event did not reach every watch")
					}
				}
			}
			assert.Len(t, texts, events*keys, "the watches of a user see the same")
			for text, times := range texts {
				if strings.HasPrefix(text, writer) {
					assertNoCanary(t, text)
					assert.Contains(t, text, `\u003comitted\u003e`)
					assert.Equal(t, watches, times)
				} else {
					assert.Contains(t, text, keyCanary)
				}
			}
			assert.EqualValues(t, events*keys, serializer.objects.Load(), "R8: encodings of the object")
			assert.EqualValues(t, events*keys, serializer.events.Load(), "R8: encodings of the event")

			assert.Empty(t, a.calls(), "R3: none an event")
			require.Eventually(t, func() bool { return clock.Waiters() >= keys }, time.Minute, time.Millisecond)
			clock.Step(renewInterval)
			require.Eventually(t, func() bool {
				a.mu.Lock()
				defer a.mu.Unlock()
				return len(a.asked) >= keys
			}, time.Minute, time.Millisecond)
			assert.Len(t, a.calls(), keys, "R3: two a user in 10 seconds")
		})
	}
}
