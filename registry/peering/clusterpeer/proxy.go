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

package clusterpeer

import (
	"context"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"entente.dev/entente/apis/peering"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

const proxySubresource = "proxy"

// Destination is where a request to clusterpeers/NAME/proxy goes.
type Destination struct {
	// UID and Name are those of the ClusterPeer. One that is made anew has another UID.
	UID, Name string
	// Rest is CAPABILITY/PATH as it was sent: escaped. It is not empty, and was not looked at.
	Rest string
}

// Carrier carries requests of workloads to the peers of ClusterPeers (G8). The request is
// as the caller sent it. He may reach the endpoint; whether he may reach the peer is for
// the Carrier to decide.
type Carrier interface {
	Carry(w http.ResponseWriter, r *http.Request, to Destination)
}

// Proxy serves the subresource /proxy: what is sent there is the peer's, and so is what
// comes back. Of the ClusterPeer nothing but its name and UID is used.
type Proxy struct {
	peers   rest.Getter
	carrier Carrier
}

var (
	_ rest.Storage   = &Proxy{}
	_ rest.Connecter = &Proxy{}
)

// newProxy serves the ClusterPeers of a store. Without a carrier, nil, no request gets
// anywhere.
func newProxy(peers rest.Getter, carrier Carrier) *Proxy {
	return &Proxy{peers: peers, carrier: carrier}
}

// New returns the options, of which there are none.
func (p *Proxy) New() runtime.Object { return &peering.ClusterPeerProxyOptions{} }

// Destroy does nothing: what the store holds belongs to the main resource.
func (p *Proxy) Destroy() {}

// ConnectMethods are the methods by which objects of an API are read and written, one for
// each verb of authorization.
func (p *Proxy) ConnectMethods() []string {
	return []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
}

// NewConnectOptions says that there are no options, and a path below.
func (p *Proxy) NewConnectOptions() (options runtime.Object, subpath bool, subpathParameter string) {
	return nil, true, ""
}

// Connect returns what answers a request to the proxy of a ClusterPeer. It fails with
// NotFound if there is no such ClusterPeer, and with ServiceUnavailable where no request
// can be carried.
func (p *Proxy) Connect(ctx context.Context, name string, _ runtime.Object, responder rest.Responder) (http.Handler, error) {
	obj, err := p.peers.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	found, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	if p.carrier == nil {
		return nil, apierrors.NewServiceUnavailable("there is no host cluster, whose workloads could reach the peer")
	}
	to := Destination{UID: string(found.GetUID()), Name: found.GetName()}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var err error
		if to.Rest, err = restOf(r.URL.EscapedPath(), name); err != nil {
			responder.Error(err)
			return
		}
		p.carrier.Carry(w, unsealed(r), to)
	}), nil
}

// restOf returns what comes after clusterpeers/NAME/proxy/ in a path, which is escaped. What
// comes before it has to be written as it is: what follows is read by others, who must not
// find it in another place.
func restOf(escaped, name string) (string, error) {
	const collection = "/apis/" + peeringv1alpha1.GroupName + "/v1alpha1/" + resource + "/"
	rest, plain := strings.CutPrefix(escaped, collection+name+"/"+proxySubresource)
	if !plain || rest != "" && rest[0] != '/' {
		return "", apierrors.NewBadRequest("the path must not be escaped before the name of the capability")
	}
	if rest = strings.TrimPrefix(rest, "/"); rest == "" {
		return "", noCapability(name)
	}
	return rest, nil
}

// noCapability says that a path ends too early.
func noCapability(name string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
		Details: &metav1.StatusDetails{Group: peering.GroupName, Kind: resource + "/" + proxySubresource, Name: name},
		Message: "the path lacks the name of a capability: it is " + resource + "/" + name + "/" + proxySubresource + "/CAPABILITY/PATH, where PATH is one of the peer's API",
	}}
}

// IsProxied tells whether a request goes to the proxy of a ClusterPeer. It lasts as long as
// the peer takes, or the caller watches.
func IsProxied(info *genericapirequest.RequestInfo) bool {
	return info.IsResourceRequest && info.APIGroup == peering.GroupName && info.Resource == resource && info.Subresource == proxySubresource
}

// WithProxied goes around the innermost handler of a server. Requests to the proxy of a
// ClusterPeer pass to it as they are, past what prepares others for objects. But it does
// not see their query, which is for the peer: the library would heed it, and refuse a dry
// run.
func WithProxied(inner, objects http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if info, ok := genericapirequest.RequestInfoFrom(r.Context()); ok && IsProxied(info) {
			inner.ServeHTTP(w, sealed(r))
			return
		}
		objects.ServeHTTP(w, r)
	})
}

type queryKey struct{}

// sealed returns a request without its query.
func sealed(r *http.Request) *http.Request {
	out := r.WithContext(context.WithValue(r.Context(), queryKey{}, r.URL.RawQuery))
	at := *r.URL
	at.RawQuery = ""
	out.URL = &at
	return out
}

// unsealed returns a sealed request as it was.
func unsealed(r *http.Request) *http.Request {
	query, ok := r.Context().Value(queryKey{}).(string)
	if !ok {
		return r
	}
	out := r.WithContext(r.Context())
	at := *r.URL
	at.RawQuery = query
	out.URL = &at
	return out
}
