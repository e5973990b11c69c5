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

package entrance

import (
	"context"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// discreet carries requests to the host cluster and tells nobody. With much to be logged,
// client-go would write down the URL, the header and who is impersonated. What comes before
// an answer, of codes from 100, is told nobody either: its headers are not looked at.
type discreet struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (d discreet) RoundTrip(r *http.Request) (*http.Response, error) {
	return d.next.RoundTrip(r.WithContext(apart(r.Context())))
}

// end is a context that ends when another one does, and has nothing else of it: neither its
// logger, nor who traces what is asked in it.
type end struct {
	context.Context
	// values has those that it has.
	values context.Context
}

func apart(ctx context.Context) context.Context {
	return end{ctx, klog.NewContext(context.Background(), logr.Discard())}
}

// Value implements context.Context.
func (e end) Value(key any) any { return e.values.Value(key) }

// AfterFunc is for the context package, which would otherwise have a goroutine wait for the
// end, for each context that is made of this one.
func (e end) AfterFunc(f func()) (stop func() bool) { return context.AfterFunc(e.Context, f) }
