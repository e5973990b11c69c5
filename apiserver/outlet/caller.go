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

package outlet

import (
	"context"
	"net/http"
	"slices"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// caller is the ServiceAccount that a request is of.
type caller struct {
	namespace, name string
	// uid is empty where kube-apiserver does not pass it on, as it does by a flag only
	// (--requestheader-uid-headers). Then the name has to do: the host cluster has just
	// taken the credential for one of the ServiceAccount that there is.
	uid string
	// podName and podUID are of the Pod that its credential is bound to; empty: it is to
	// none.
	podName, podUID string
}

// callerOf returns who was authenticated, if that is a ServiceAccount.
func callerOf(ctx context.Context) (caller, error) {
	who, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return caller{}, errNoServiceAccount()
	}
	namespace, name, err := serviceaccount.SplitUsername(who.GetName())
	// Whoever may choose a name chooses no groups with it.
	if err != nil || !slices.Contains(who.GetGroups(), serviceaccount.MakeNamespaceGroupName(namespace)) {
		return caller{}, errNoServiceAccount()
	}
	c := caller{namespace: namespace, name: name, uid: who.GetUID()}
	if pod, uid := who.GetExtra()[serviceaccount.PodNameKey], who.GetExtra()[serviceaccount.PodUIDKey]; len(pod) == 1 && len(uid) == 1 {
		c.podName, c.podUID = pod[0], uid[0]
	}
	return c, nil
}

func errNoServiceAccount() error {
	return &fault{code: http.StatusForbidden, text: "only ServiceAccounts pass, which a PeeringCapability names as its consumers"}
}
