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

	"entente.dev/entente/peering/passage"
)

// discreet carries requests to the host cluster and tells nobody. With much to be logged,
// client-go would write down the URL, the header and who is impersonated. What comes before
// an answer, of codes from 100, is told nobody either: its headers are not looked at.
type discreet struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (d discreet) RoundTrip(r *http.Request) (*http.Response, error) {
	values := klog.NewContext(context.Background(), logr.Discard())
	return d.next.RoundTrip(r.WithContext(passage.Apart(r.Context(), values)))
}
