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

// Package reviews answers what a caller asks about itself, where no host cluster
// does: may I (SelfSubjectAccessReview), what may I (SelfSubjectRulesReview), who
// am I (SelfSubjectReview). kubectl auth can-i and kubectl auth whoami ask these.
//
// A review is created and answered, and never stored; a dry run gives the same
// answer. Reviews of others are not served: who may ask about whom is a right that
// standalone mode has no use for.
package reviews
