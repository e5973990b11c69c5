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

package guard

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
)

// says is an authorizer that has one answer, and keeps what it was asked.
type says struct {
	answer func(context.Context) (authorizer.Decision, string, error)
	asked  []authorizer.Attributes
}

func (s *says) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	s.asked = append(s.asked, a)
	return s.answer(ctx)
}

// reader is a judge that lets pass who may get what has the name of the object.
type reader struct{ *Inquiry }

func (r reader) Create(ctx context.Context, obj runtime.Object) error {
	config, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return ErrOtherKind(obj)
	}
	held, err := r.Holds(ctx, Permission{Verb: "get", Group: "g", Resource: "things", Namespace: config.Namespace, Name: config.Name})
	if err == nil && !held {
		err = assert.AnError
	}
	return err
}

func (r reader) Update(ctx context.Context, obj, _ runtime.Object, _ []string) error {
	return r.Create(ctx, obj)
}

func begin(t *testing.T, s *says, maxTime time.Duration) Judge {
	t.Helper()
	g, err := New(s, Rule{Name: "X9", Question: "whether you may"}, func(q *Inquiry) Judge { return reader{q} })
	require.NoError(t, err)
	assert.Equal(t, MaxTime, g.maxTime)
	g.maxTime = maxTime
	return g.Begin()
}

func somebody() context.Context {
	return genericapirequest.WithUser(context.Background(), &user.DefaultInfo{Name: "somebody"})
}

func object(name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}}
}

// C2, C4, G2: without an answer there is no permission, for nobody there is none, and what
// went wrong is not said.
func TestG2C2C4WithoutAnAnswer(t *testing.T) {
	for name, tt := range map[string]struct {
		says func(context.Context) (authorizer.Decision, string, error)
		ctx  context.Context
	}{
		"an error": {func(context.Context) (authorizer.Decision, string, error) {
			return authorizer.DecisionDeny, "", assert.AnError
		}, somebody()},
		"allowed, an error": {func(context.Context) (authorizer.Decision, string, error) {
			return authorizer.DecisionAllow, "", assert.AnError
		}, somebody()},
		"it hangs": {func(ctx context.Context) (authorizer.Decision, string, error) {
			<-ctx.Done()
			return authorizer.DecisionAllow, "", ctx.Err()
		}, somebody()},
		"no user": {func(context.Context) (authorizer.Decision, string, error) {
			return authorizer.DecisionAllow, "", nil
		}, context.Background()},
	} {
		t.Run(name, func(t *testing.T) {
			s := &says{answer: tt.says}
			judge := begin(t, s, 10*time.Millisecond)
			for range 2 {
				err := judge.Create(tt.ctx, object("a"))
				require.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
				assert.Equal(t, "rule X9: whether you may could not be checked; try again later", err.Error())
			}
			assert.LessOrEqual(t, len(s.asked), 1, "one failure is enough")
		})
	}
	for name, decision := range map[string]authorizer.Decision{"a denial": authorizer.DecisionDeny, "no opinion": authorizer.DecisionNoOpinion, "nonsense": 77} {
		s := &says{answer: func(context.Context) (authorizer.Decision, string, error) { return decision, "", nil }}
		assert.ErrorIs(t, begin(t, s, MaxTime).Create(somebody(), object("a")), assert.AnError, name)
	}
}

// C2, C4, G2: the time is that of all questions of a request together, from the first one on.
func TestG2Time(t *testing.T) {
	var left []time.Duration
	s := &says{answer: func(ctx context.Context) (authorizer.Decision, string, error) {
		deadline, ok := ctx.Deadline()
		assert.True(t, ok)
		left = append(left, time.Until(deadline))
		return authorizer.DecisionAllow, "", nil
	}}
	judge := begin(t, s, MaxTime)
	for _, name := range []string{"a", "b", "a"} {
		require.NoError(t, judge.Update(somebody(), object(name), object(name), nil))
	}
	require.Len(t, left, 2, "nothing is asked twice")
	assert.Greater(t, left[0], MaxTime/2)
	assert.Less(t, left[1], left[0])
	judge.(reader).deadline = time.Now()
	err := judge.Create(somebody(), object("c"))
	assert.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
	assert.Len(t, left, 2, "it is too late to ask")
	status := apierrors.APIStatus(nil)
	require.ErrorAs(t, err, &status)
	assert.EqualValues(t, http.StatusServiceUnavailable, status.Status().Code)
}

// C2, C4: what is asked about may be in one namespace.
func TestC2C4Attributes(t *testing.T) {
	s := &says{answer: func(context.Context) (authorizer.Decision, string, error) { return authorizer.DecisionAllow, "", nil }}
	require.NoError(t, begin(t, s, MaxTime).Create(somebody(), object("a")))
	assert.Equal(t, []authorizer.Attributes{authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: "somebody"}, Verb: "get", Namespace: "n", APIGroup: "g", APIVersion: "*", Resource: "things", Name: "a", ResourceRequest: true,
	}}, s.asked)
}

// A guard that could not ask, and a store without one, is not made; a judge says so when an
// object is not one of its own.
func TestFails(t *testing.T) {
	s := &says{}
	judge := func(q *Inquiry) Judge { return reader{q} }
	_, err := New(nil, Rule{}, judge)
	assert.Error(t, err)
	_, err = New(s, Rule{}, nil)
	assert.Error(t, err)
	g, err := New(s, Rule{}, judge)
	require.NoError(t, err)
	_, err = NewStore(nil, g)
	assert.Error(t, err)
	_, err = NewStore(&genericregistry.Store{}, nil)
	assert.Error(t, err)
	assert.True(t, apierrors.IsInternalError(g.Begin().Create(somebody(), &metav1.Status{})))
}
