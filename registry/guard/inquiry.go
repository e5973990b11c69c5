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
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/klog/v2"
)

// What one request may cost. Behind a host cluster a question may be a
// SubjectAccessReview.
const (
	// MaxQuestions is how many questions the authorizer is asked for one request at the
	// most, all attempts of its write together. A write that takes more is forbidden.
	MaxQuestions = 512
	// MaxTime is how long its answers are waited for, all together.
	MaxTime = 10 * time.Second
)

// ErrTooMany says that a request would take more than MaxQuestions.
var ErrTooMany = errors.New("too many questions")

// Inquiry asks what the user of one request holds. It asks no question twice, however
// often the store attempts the write. It is not for use by several goroutines.
type Inquiry struct {
	authorizer authorizer.UnconditionalAuthorizer
	rule       Rule
	maxTime    time.Duration
	deadline   time.Time // from the first question on
	answers    map[Permission]bool
	failed     error // when a question was not answered; then no other is asked
}

// Holds says whether the user in ctx has a permission. Only an Allow without an error is a
// yes. It fails with ErrTooMany, or as Unavailable does; why is logged.
func (q *Inquiry) Holds(ctx context.Context, p Permission) (bool, error) {
	if held, known := q.answers[p]; known || q.failed != nil {
		return held, q.failed
	}
	if len(q.answers) == MaxQuestions {
		return false, ErrTooMany
	}
	held, err := q.ask(ctx, p)
	if err != nil {
		klog.FromContext(ctx).Error(err, "A write was refused: whether the user holds what it takes could not be checked", "rule", q.rule.Name)
		q.failed = q.Unavailable()
		return false, q.failed
	}
	q.answers[p] = held
	return held, nil
}

func (q *Inquiry) ask(ctx context.Context, p Permission) (bool, error) {
	who, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return false, errors.New("no user in the request")
	}
	if q.deadline.IsZero() {
		q.deadline = time.Now().Add(q.maxTime)
	}
	ctx, cancel := context.WithDeadline(ctx, q.deadline)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return false, fmt.Errorf("could not ask the authorizer: %w", err)
	}
	decision, _, err := q.authorizer.Authorize(ctx, p.Attributes(who))
	return decision == authorizer.DecisionAllow, err
}

// Lacks returns those of some permissions that the user does not hold, in their order, the
// first ones up to a limit. It asks nothing if there are not enough questions left.
func (q *Inquiry) Lacks(ctx context.Context, permissions []Permission, limit int) ([]Permission, error) {
	if q.unknown(permissions) > MaxQuestions-len(q.answers) {
		return nil, ErrTooMany
	}
	var lacks []Permission
	for _, p := range permissions {
		held, err := q.Holds(ctx, p)
		if err != nil {
			return nil, err
		}
		if held {
			continue
		}
		if lacks = append(lacks, p); len(lacks) == limit {
			break
		}
	}
	return lacks, nil
}

// unknown is how many of some permissions would have to be asked about.
func (q *Inquiry) unknown(permissions []Permission) int {
	n := 0
	for _, p := range permissions {
		if _, known := q.answers[p]; !known {
			n++
		}
	}
	return n
}

// Unavailable is the answer to a write that could not be judged: a 503 that does not say why.
func (q *Inquiry) Unavailable() error {
	return apierrors.NewServiceUnavailable(fmt.Sprintf("rule %s: %s could not be checked; try again later", q.rule.Name, q.rule.Question))
}
