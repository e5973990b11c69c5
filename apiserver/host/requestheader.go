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

package host

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/klog/v2"
)

// Where kube-apiserver says which front proxy is to be believed.
const (
	authenticationNamespace = metav1.NamespaceSystem
	authenticationConfigMap = "extension-apiserver-authentication"
	authenticationRole      = "extension-apiserver-authentication-reader"
)

// trust is what a ConfigMap says: whose client certificates vouch for the headers
// that name a user. It does not change.
type trust struct {
	authenticator authenticator.Request
	bundle        []byte
	verify        x509.VerifyOptions
	allowedNames  []string
	username      []string
	uid           []string
	group         []string
	extraPrefixes []string
}

// RequestHeader follows, live, whom to believe the user's name in a header. It
// believes nobody until the ConfigMap was read, and while what it says is not
// safe; it keeps believing what it read last while the ConfigMap cannot be read.
// It is a readiness check.
type RequestHeader struct {
	host     *Host
	informer cache.SharedIndexInformer

	lock      sync.RWMutex
	trust     *trust // nil: nobody
	fault     error  // why the server is not ready, nil if it is
	listeners []dynamiccertificates.Listener
}

var (
	_ dynamiccertificates.CAContentProvider = &RequestHeader{}
	_ authenticator.Request                 = &RequestHeader{}
)

// NewRequestHeader returns one that knows nothing until Run has read it.
func (h *Host) NewRequestHeader(ctx context.Context) (*RequestHeader, error) {
	only := func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, authenticationConfigMap).String()
	}
	r := &RequestHeader{
		host:     h,
		informer: coreinformers.NewFilteredConfigMapInformer(h.Client, authenticationNamespace, 0, cache.Indexers{}, only),
		fault:    fmt.Errorf("the ConfigMap %s/%s has not been read yet", authenticationNamespace, authenticationConfigMap),
	}
	if err := r.informer.SetWatchErrorHandlerWithContext(r.unreadable); err != nil {
		return nil, fmt.Errorf("could not follow the front proxy's CA: %w", err)
	}
	_, err := r.informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, _ bool) { r.read(ctx, obj) },
		UpdateFunc: func(_, obj any) { r.read(ctx, obj) },
		// kube-apiserver writes it again; until then what was read last counts.
		DeleteFunc: func(any) {},
	})
	if err != nil {
		return nil, fmt.Errorf("could not follow the front proxy's CA: %w", err)
	}
	return r, nil
}

// Run follows the ConfigMap until ctx ends.
func (r *RequestHeader) Run(ctx context.Context) { r.informer.RunWithContext(ctx) }

// Name is the name of the readiness check, and of the CA in the library's log.
func (r *RequestHeader) Name() string { return "request-header" }

// Check fails with the reason while no front proxy is believed.
func (r *RequestHeader) Check(*http.Request) error {
	r.lock.RLock()
	defer r.lock.RUnlock()
	return r.fault
}

// CurrentCABundleContent is the CA of front proxies, PEM, nil if nobody is believed.
func (r *RequestHeader) CurrentCABundleContent() []byte {
	if current := r.current(); current != nil {
		return current.bundle
	}
	return nil
}

// VerifyOptions says how to verify a front proxy's certificate, or false if nobody
// is believed.
func (r *RequestHeader) VerifyOptions() (x509.VerifyOptions, bool) {
	if current := r.current(); current != nil {
		return current.verify, true
	}
	return x509.VerifyOptions{}, false
}

// AddListener adds who is told when the CA changes.
func (r *RequestHeader) AddListener(listener dynamiccertificates.Listener) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.listeners = append(r.listeners, listener)
}

// AuthenticateRequest believes, or not, by one ConfigMap as a whole.
func (r *RequestHeader) AuthenticateRequest(request *http.Request) (*authenticator.Response, bool, error) {
	if current := r.current(); current != nil {
		return current.authenticator.AuthenticateRequest(request)
	}
	return nil, false, nil
}

// config says which headers are taken off a request once its user is known.
func (r *RequestHeader) config() *authenticatorfactory.RequestHeaderConfig {
	from := func(field func(*trust) []string) headerrequest.StringSliceProvider {
		return headerrequest.StringSliceProviderFunc(func() []string {
			if current := r.current(); current != nil {
				return field(current)
			}
			return nil
		})
	}
	return &authenticatorfactory.RequestHeaderConfig{
		CAContentProvider:   r,
		AllowedClientNames:  from(func(t *trust) []string { return t.allowedNames }),
		UsernameHeaders:     from(func(t *trust) []string { return t.username }),
		UIDHeaders:          from(func(t *trust) []string { return t.uid }),
		GroupHeaders:        from(func(t *trust) []string { return t.group }),
		ExtraHeaderPrefixes: from(func(t *trust) []string { return t.extraPrefixes }),
	}
}

func (r *RequestHeader) current() *trust {
	r.lock.RLock()
	defer r.lock.RUnlock()
	return r.trust
}

// read takes over what the ConfigMap says now. What is not safe to follow is not
// followed, nor is what it said before: a CA may have gone from it for a reason.
func (r *RequestHeader) read(ctx context.Context, obj any) {
	configMap, ok := obj.(*corev1.ConfigMap)
	if !ok {
		return
	}
	read, err := parseTrust(configMap.Data)
	if err != nil {
		err = fmt.Errorf("no front proxy is believed, by what the ConfigMap %s/%s says: %w", authenticationNamespace, authenticationConfigMap, err)
	}
	r.set(ctx, read, err)
}

// unreadable is told when the ConfigMap cannot be listed or watched. The informer
// tries again, with a growing pause of at most half a minute.
func (r *RequestHeader) unreadable(ctx context.Context, _ *cache.Reflector, err error) {
	fault := fmt.Errorf("could not read the ConfigMap %s/%s: %w", authenticationNamespace, authenticationConfigMap, err)
	if apierrors.IsForbidden(err) {
		fault = fmt.Errorf("may not read the ConfigMap %s/%s of the host cluster; what is missing: kubectl create rolebinding entente-apiserver-authentication-reader --namespace=%s --role=%s %s",
			authenticationNamespace, authenticationConfigMap, authenticationNamespace, authenticationRole, r.host.subject())
	}
	r.lock.Lock()
	known, before := r.trust != nil, r.fault
	if !known {
		r.fault = fault
	}
	r.lock.Unlock()
	// If it was read before, whether the host answers is the Monitor's business.
	if !known && fault.Error() != before.Error() {
		klog.FromContext(ctx).Error(fault, "Not ready: no user can be known")
	}
}

func (r *RequestHeader) set(ctx context.Context, next *trust, fault error) {
	r.lock.Lock()
	before, faultBefore := r.trust, r.fault
	r.trust, r.fault = next, fault
	listeners := slices.Clone(r.listeners)
	r.lock.Unlock()

	log := klog.FromContext(ctx)
	switch {
	case fault != nil && (faultBefore == nil || fault.Error() != faultBefore.Error()):
		log.Error(fault, "Not ready: no user can be known")
	case fault == nil && faultBefore != nil:
		log.Info("The front proxy's CA has been read")
	}
	if !bytes.Equal(bundleOf(before), bundleOf(next)) {
		for _, listener := range listeners {
			listener.Enqueue()
		}
	}
}

func bundleOf(t *trust) []byte {
	if t == nil {
		return nil
	}
	return t.bundle
}

// parseTrust reads the data of the ConfigMap. It fails if a certificate that a
// mere client may have would pass for a front proxy's: then anybody could be
// anybody.
func parseTrust(data map[string]string) (*trust, error) {
	const (
		caKey       = "requestheader-client-ca-file"
		clientCAKey = "client-ca-file"
		namesKey    = "requestheader-allowed-names"
		usernameKey = "requestheader-username-headers"
	)
	bundle := []byte(data[caKey])
	if len(bundle) == 0 {
		return nil, fmt.Errorf("%s is empty: aggregation is not set up in the host cluster (kube-apiserver's flag --requestheader-client-ca-file)", caKey)
	}
	authorities, err := certutil.ParseCertsPEM(bundle)
	if err != nil {
		return nil, fmt.Errorf("%s holds no certificate", caKey)
	}
	t := &trust{bundle: bundle, verify: x509.VerifyOptions{Roots: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}}
	for _, authority := range authorities {
		t.verify.Roots.AddCert(authority)
	}
	for key, into := range map[string]*[]string{
		namesKey:                             &t.allowedNames,
		usernameKey:                          &t.username,
		"requestheader-uid-headers":          &t.uid,
		"requestheader-group-headers":        &t.group,
		"requestheader-extra-headers-prefix": &t.extraPrefixes,
	} {
		if text := data[key]; text != "" {
			if err := json.Unmarshal([]byte(text), into); err != nil {
				return nil, fmt.Errorf("%s is not a list of strings", key)
			}
		}
	}
	if len(t.username) == 0 {
		return nil, fmt.Errorf("%s is empty", usernameKey)
	}
	if slices.Contains(t.allowedNames, "") {
		return nil, fmt.Errorf("%s has an empty name: a client certificate without one would pass for a front proxy's", namesKey)
	}
	if len(t.allowedNames) == 0 {
		shared, err := shareAuthority(authorities, []byte(data[clientCAKey]))
		if err != nil {
			return nil, fmt.Errorf("%s is empty, and %s: %w", namesKey, clientCAKey, err)
		}
		if shared {
			return nil, fmt.Errorf("%s is empty while %s and %s share a CA, so that every client could pass for a front proxy: kube-apiserver's flag --requestheader-allowed-names must say which names are the front proxy's",
				namesKey, caKey, clientCAKey)
		}
	}
	list := func(values []string) headerrequest.StringSliceProvider {
		return headerrequest.StaticStringSlice(values)
	}
	t.authenticator = headerrequest.NewDynamicVerifyOptionsSecure(
		func() (x509.VerifyOptions, bool) { return t.verify, true },
		list(t.allowedNames), list(t.username), list(t.uid), list(t.group), list(t.extraPrefixes))
	return t, nil
}

// shareAuthority says whether a CA of front proxies signs clients as well: it is one of
// theirs, under whatever name, or has signed one of theirs, by whatever way.
func shareAuthority(frontProxy []*x509.Certificate, clientBundle []byte) (bool, error) {
	if len(clientBundle) == 0 {
		return false, nil
	}
	clients, err := certutil.ParseCertsPEM(clientBundle)
	if err != nil {
		return false, errors.New("holds no certificate")
	}
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	for _, authority := range frontProxy {
		roots.AddCert(authority)
		intermediates.AddCert(authority)
	}
	for _, client := range clients {
		intermediates.AddCert(client)
	}
	for _, client := range clients {
		for _, authority := range frontProxy {
			if bytes.Equal(authority.RawSubjectPublicKeyInfo, client.RawSubjectPublicKeyInfo) {
				return true, nil
			}
		}
		// Whether it is valid now does not matter: it may be another time.
		options := x509.VerifyOptions{Roots: roots, Intermediates: intermediates, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}, CurrentTime: client.NotBefore.Add(time.Second)}
		if _, err := client.Verify(options); err == nil {
			return true, nil
		}
	}
	return false, nil
}
