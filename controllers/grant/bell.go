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

package grant

import "sync"

// bell tells the loop which ClusterPeers are worth looking at. Nobody hears it while the
// loop does not run: when that starts it looks at all.
type bell struct {
	lock sync.Mutex
	hear func(name string)
}

func (b *bell) ring(name string) {
	b.lock.Lock()
	hear := b.hear
	b.lock.Unlock()
	if hear != nil {
		hear(name)
	}
}

// answer has hear called at each ring, until cancel is.
func (b *bell) answer(hear func(name string)) (cancel func()) {
	set := func(hear func(string)) {
		b.lock.Lock()
		defer b.lock.Unlock()
		b.hear = hear
	}
	set(hear)
	return func() { set(nil) }
}
