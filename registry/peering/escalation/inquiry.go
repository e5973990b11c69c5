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

package escalation

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

// errTooMany says that a request would take more than MaxQuestions.
var errTooMany = errors.New("too many questions")

// inquiry asks what the user of one request holds. It asks no question twice, however
// often the store attempts the write. It is not for use by several goroutines.
type inquiry struct {
	authorizer authorizer.UnconditionalAuthorizer
	maxTime    time.Duration
	deadline   time.Time // from the first question on
	answers    map[permission]bool
	failed     error // when a question was not answered; then no other is asked
}

func newInquiry(a authorizer.UnconditionalAuthorizer, maxTime time.Duration) *inquiry {
	return &inquiry{authorizer: a, maxTime: maxTime, answers: map[permission]bool{}}
}

// holds says whether the user in ctx has a permission in all namespaces. Only an Allow
// without an error is a yes. It fails with errTooMany, or with a 503 that says nothing of
// the authorizer's error, which is logged.
func (q *inquiry) holds(ctx context.Context, p permission) (bool, error) {
	if held, known := q.answers[p]; known || q.failed != nil {
		return held, q.failed
	}
	if len(q.answers) == MaxQuestions {
		return false, errTooMany
	}
	held, err := q.ask(ctx, p)
	if err != nil {
		klog.FromContext(ctx).Error(err, "A write was refused: whether the user holds what it grants could not be checked", "rule", "G2")
		q.failed = unavailable()
		return false, q.failed
	}
	q.answers[p] = held
	return held, nil
}

func (q *inquiry) ask(ctx context.Context, p permission) (bool, error) {
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
	decision, _, err := q.authorizer.Authorize(ctx, p.attributes(who))
	return decision == authorizer.DecisionAllow, err
}

// lacks returns those of some permissions that the user does not hold, in their order, the
// first ones up to a limit. It asks nothing if there are not enough questions left.
func (q *inquiry) lacks(ctx context.Context, permissions []permission, limit int) ([]permission, error) {
	if q.unknown(permissions) > MaxQuestions-len(q.answers) {
		return nil, errTooMany
	}
	var lacks []permission
	for _, p := range permissions {
		held, err := q.holds(ctx, p)
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
func (q *inquiry) unknown(permissions []permission) int {
	n := 0
	for _, p := range permissions {
		if _, known := q.answers[p]; !known {
			n++
		}
	}
	return n
}

// unavailable is the answer to a write that could not be judged.
func unavailable() error {
	return apierrors.NewServiceUnavailable("rule G2: whether you hold what this would grant could not be checked; try again later")
}
