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

// Package signal tells those who want to know that something has changed.
package signal

import "sync"

// Signal has subscribers. The zero value has none, and is ready to use.
type Signal struct {
	lock        sync.Mutex
	subscribers map[*func()]struct{}
}

// Subscribe has changed called at every Send, one call at a time for one sender. It
// returns how to end that: no Send that begins later calls it. changed may subscribe and
// cancel; it should be quick.
func (s *Signal) Subscribe(changed func()) (cancel func()) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.subscribers == nil {
		s.subscribers = map[*func()]struct{}{}
	}
	s.subscribers[&changed] = struct{}{}
	return func() {
		s.lock.Lock()
		defer s.lock.Unlock()
		delete(s.subscribers, &changed)
	}
}

// Send calls all who have subscribed, and returns after the last call.
func (s *Signal) Send() {
	for _, changed := range s.all() {
		changed()
	}
}

func (s *Signal) all() (all []func()) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for changed := range s.subscribers {
		all = append(all, *changed)
	}
	return all
}
