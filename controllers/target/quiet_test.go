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

package target

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
)

// R15: nothing of what is asked and answered is logged, at any verbosity.
func TestR15NothingIsLogged(t *testing.T) {
	logged := &bytes.Buffer{}
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	state := klog.CaptureState()
	defer state.Restore()
	require.NoError(t, flags.Parse([]string{"-v=10", "-logtostderr=false", "-alsologtostderr=false", "-stderrthreshold=FATAL"}))
	klog.SetOutput(logged)

	warned := func(inner http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Warning", `299 - "canary"`)
			w.Header().Set("X-Canary", canary)
			inner(w, r)
		}
	}
	cluster := serve(t, entrance{http2: true}, warned(api(map[string]http.HandlerFunc{"/apis/batch/v1": fail(500)})))
	c := open(t, cluster.access(t), local())
	_, err := probe(t, c)
	require.NoError(t, err)
	_, err = c.Objects(configMaps(), "a").Get(t.Context(), "it")
	require.NoError(t, err)
	_, err = c.Objects(configMaps(), "").Get(t.Context(), "canary")
	require.Error(t, err)
	assert.Equal(t, ReasonStatus, FailureOf(err).Reason)
	requireSilent(t, FailureOf(err))
	_, err = c.Mapper().RESTMapping(schema.GroupKind{Kind: "ConfigMap"})
	require.NoError(t, err)
	klog.Flush()
	assert.NotContains(t, logged.String(), canary)
	assert.NotContains(t, logged.String(), "configmaps")
}

func TestFailureOf(t *testing.T) {
	for reason, err := range map[Reason]error{
		ReasonUnauthorized: apierrors.NewUnauthorized(canary),
		ReasonForbidden:    apierrors.NewForbidden(schema.GroupResource{}, canary, nil),
		ReasonUnavailable:  apierrors.NewTooManyRequests(canary, 1),
		ReasonStatus:       apierrors.NewNotFound(schema.GroupResource{}, canary),
		ReasonTimeout:      fmt.Errorf("canary: %w", context.DeadlineExceeded),
		ReasonTooLarge:     fmt.Errorf("canary: %w", errTooLarge),
		ReasonConnect:      errors.New(canary),
	} {
		requireReason(t, reason, FailureOf(err))
	}
}
