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

package workloadtoken

// Reason is why a token is not taken. There are no others than these.
type Reason string

// All reasons.
const (
	// Malformed: it is no signed token, or one whose claims are not of the right form.
	Malformed Reason = "MalformedToken"
	// WrongIssuer: it says that somebody else has issued it.
	WrongIssuer Reason = "WrongIssuer"
	// BadSignature: no key that the peer has published has signed it.
	BadSignature Reason = "BadSignature"
	// WrongAudience: it is not for this cluster and capability, or not for that alone.
	WrongAudience Reason = "WrongAudience"
	// Expired: it is not valid any more.
	Expired Reason = "ExpiredToken"
	// NotYetValid: it is of the future.
	NotYetValid Reason = "TokenNotYetValid"
	// TooLong: it was made valid for more than an hour, or does not say since when.
	TooLong Reason = "TokenLivesTooLong"
	// NotServiceAccount: it is not of a ServiceAccount.
	NotServiceAccount Reason = "NotServiceAccount"
	// TooManyFailures: it was not looked at, as too many others were not good.
	TooManyFailures Reason = "TooManyFailures"
)

// Refusal is the error of a token that is not taken. It quotes nothing.
type Refusal struct{ Reason Reason }

// Error implements error.
func (r *Refusal) Error() string { return "the token is not taken: " + string(r.Reason) }
