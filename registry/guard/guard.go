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
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Guard judges the writes of one kind.
type Guard struct {
	authorizer authorizer.UnconditionalAuthorizer
	rule       Rule
	maxTime    time.Duration
	judge      func(*Inquiry) Judge
}

// Rule is what a guard enforces, in words for who is not answered.
type Rule struct {
	// Name is the name of the rule, as in G2.
	Name string
	// Question is what the authorizer could not be asked, as in "whether you may".
	Question string
}

// Judge judges the attempts of one request at a write. Its errors are typed and answer
// the request.
type Judge interface {
	// Create judges an object that is to be stored.
	Create(ctx context.Context, obj runtime.Object) error
	// Update judges an object that is to take the place of old. unseen are the paths of
	// sensitive fields that were written by somebody who cannot know what was in them.
	Update(ctx context.Context, obj, old runtime.Object, unseen []string) error
}

// New makes a guard whose judges ask an authorizer, the one of the server's requests.
func New(a authorizer.UnconditionalAuthorizer, rule Rule, judge func(*Inquiry) Judge) (*Guard, error) {
	if a == nil || judge == nil {
		return nil, fmt.Errorf("could not make a guard for rule %s: no authorizer, or no judge", rule.Name)
	}
	return &Guard{authorizer: a, rule: rule, maxTime: MaxTime, judge: judge}, nil
}

// Begin begins a request.
func (g *Guard) Begin() Judge {
	return g.judge(&Inquiry{authorizer: g.authorizer, rule: g.rule, maxTime: g.maxTime, answers: map[Permission]bool{}})
}

// ErrOtherKind answers with a 500 that a judge was handed an object of a kind that is not its.
func ErrOtherKind(obj runtime.Object) error {
	return apierrors.NewInternalError(fmt.Errorf("an object of type %T cannot be judged here", obj))
}
