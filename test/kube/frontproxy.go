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

package kube

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// authenticationConfigMap is where extension servers learn, in kube-system, whom
// they may believe what they say of a user.
const (
	authenticationConfigMap = "extension-apiserver-authentication"
	requestHeaderCAKey      = "requestheader-client-ca-file"
)

func authentication(ctx context.Context, client kubernetes.Interface) (*corev1.ConfigMap, error) {
	return client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, authenticationConfigMap, metav1.GetOptions{})
}

// RotateRequestHeaderCA replaces the authority by which extension servers know
// kube-apiserver, with overlap: first the new one is trusted besides the old one,
// then kube-apiserver shows a certificate of the new one, then the old one goes.
// After each of the three steps, once kube-apiserver has taken it, settled is
// called, if there is one, to wait until the extension servers have followed.
//
// Kubernetes never takes an authority out of its ConfigMap, so the last step
// deletes that, as an administrator has to: it is absent for a moment.
func (c *ControlPlane) RotateRequestHeaderCA(ctx context.Context, settled func(context.Context) error) error {
	if err := c.rotateRequestHeaderCA(ctx, settled); err != nil {
		return fmt.Errorf("could not rotate the request-header CA: %w", err)
	}
	return nil
}

func (c *ControlPlane) rotateRequestHeaderCA(ctx context.Context, settled func(context.Context) error) error {
	client, err := c.Clientset(Admin)
	if err != nil {
		return err
	}
	old := c.pki.frontProxy.pem
	if err := c.pki.newFrontProxy(); err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error {
			if err := c.pki.write("front-proxy-ca.crt", slices.Concat(old, c.pki.frontProxy.pem)); err != nil {
				return err
			}
			return c.awaitRequestHeaderCA(ctx, client, old, c.pki.frontProxy.pem)
		},
		func() error {
			before, err := c.proxyCertificateLoads()
			if err != nil {
				return err
			}
			if err := c.pki.writeFrontProxyClient(); err != nil {
				return err
			}
			return eventually(ctx, func(context.Context) (bool, error) {
				now, err := c.proxyCertificateLoads()
				return now > before, err
			})
		},
		func() error {
			if err := c.pki.write("front-proxy-ca.crt", c.pki.frontProxy.pem); err != nil {
				return err
			}
			return c.dropRequestHeaderCA(ctx, client)
		},
	} {
		if err := step(); err != nil {
			return err
		}
		if settled == nil {
			continue
		}
		if err := settled(ctx); err != nil {
			return err
		}
	}
	return nil
}

// RequestHeaderCA is what kube-apiserver publishes as the authority by which
// extension servers know it, in PEM; empty for the moment in which it is absent.
func (c *ControlPlane) RequestHeaderCA(ctx context.Context) ([]byte, error) {
	client, err := c.Clientset(Admin)
	if err != nil {
		return nil, err
	}
	return requestHeaderCA(ctx, client)
}

func requestHeaderCA(ctx context.Context, client kubernetes.Interface) ([]byte, error) {
	configMap, err := authentication(ctx, client)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("could not read the request-header CA: %w", err)
	}
	return []byte(configMap.Data[requestHeaderCAKey]), nil
}

// awaitRequestHeaderCA waits until exactly these authorities are published.
func (c *ControlPlane) awaitRequestHeaderCA(ctx context.Context, client kubernetes.Interface, authorities ...[]byte) error {
	return eventually(ctx, func(ctx context.Context) (bool, error) {
		published, err := requestHeaderCA(ctx, client)
		return sameCertificates(published, slices.Concat(authorities...)), err
	})
}

// dropRequestHeaderCA deletes the ConfigMap until it comes back without the old
// authority: kube-apiserver may not have read its file yet.
func (c *ControlPlane) dropRequestHeaderCA(ctx context.Context, client kubernetes.Interface) error {
	return eventually(ctx, func(ctx context.Context) (bool, error) {
		published, err := requestHeaderCA(ctx, client)
		if err != nil || len(published) == 0 {
			return false, err
		}
		if sameCertificates(published, c.pki.frontProxy.pem) {
			return true, nil
		}
		err = client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Delete(ctx, authenticationConfigMap, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			err = nil
		}
		return false, err
	})
}

func sameCertificates(a, b []byte) bool {
	blocks := func(pem []byte) []string {
		const end = "-----END CERTIFICATE-----"
		found := strings.SplitAfter(string(bytes.ReplaceAll(pem, []byte("\n"), nil)), end)
		slices.Sort(found)
		return slices.DeleteFunc(found, func(block string) bool { return strings.TrimSpace(block) == "" })
	}
	return slices.Equal(blocks(a), blocks(b))
}

// proxyCertificateLoads counts how often kube-apiserver has said that it has read
// the certificate for extension servers. Nothing else shows it from outside.
func (c *ControlPlane) proxyCertificateLoads() (int, error) {
	content, err := os.ReadFile(c.path("logs", "kube-apiserver.log"))
	if err != nil {
		return 0, fmt.Errorf("could not see which certificate kube-apiserver uses: %w", err)
	}
	return bytes.Count(content, []byte(`"Loaded a new cert/key pair" name="aggregator-proxy-cert::`)), nil
}
