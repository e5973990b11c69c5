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

package rules

import (
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

// MaxConsumers is how many consumers a capability may have.
const MaxConsumers = 64

// consumersFault finds what is wrong with consumers. Whether they are there only the other
// cluster knows.
func consumersFault(consumers []peeringv1alpha1.Consumer, path *field.Path) *fault {
	if len(consumers) > MaxConsumers {
		return invalidConsumer("has more than 64 consumers").at(path)
	}
	seen := make(map[peeringv1alpha1.Consumer]bool, len(consumers))
	for i, consumer := range consumers {
		if found := consumerFault(consumer, path.Index(i)); found != nil {
			return found
		}
		consumer.Kind = peeringv1alpha1.ConsumerKindServiceAccount // the default
		if seen[consumer] {
			return invalidConsumer("is there twice").at(path.Index(i))
		}
		seen[consumer] = true
	}
	return nil
}

func consumerFault(consumer peeringv1alpha1.Consumer, path *field.Path) *fault {
	switch {
	case consumer.Kind != "" && consumer.Kind != peeringv1alpha1.ConsumerKindServiceAccount:
		return invalidConsumer("is no kind of consumer: only ServiceAccount is").at(path.Child("kind"))
	case len(validation.IsDNS1123Subdomain(consumer.Name)) > 0:
		return invalidConsumer("is no name of a ServiceAccount: those are DNS subdomains").at(path.Child("name"))
	case len(validation.IsDNS1123Label(consumer.Namespace)) > 0:
		return invalidConsumer("is no name of a namespace: those are DNS labels").at(path.Child("namespace"))
	}
	return nil
}

func invalidConsumer(text string) *objection { return &objection{ReasonInvalidConsumer, text} }
