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

// Package secrets reads and changes Secrets of the host cluster, so that nothing of
// them gets into logs or errors.
package secrets

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// Timeout limits one call, so that a host cluster that hangs does not hang the
// caller.
const Timeout = 10 * time.Second

// Client reads and changes the Secrets of one namespace. It is a part of the client's
// SecretInterface: the right to create Secrets cannot be limited to a name, so nobody
// here has it.
type Client interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Secret, error)
	Update(ctx context.Context, secret *corev1.Secret, options metav1.UpdateOptions) (*corev1.Secret, error)
}

// Guard returns a client that logs nothing, gives up after Timeout, and whose errors
// tell why the API did not do what was asked without text that may have been made of
// a Secret. Whether it is missing, or there was a conflict, can still be told.
func Guard(client Client) Client { return guarded{client} }

type guarded struct {
	client Client
}

func (g guarded) Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Secret, error) {
	ctx, cancel := context.WithTimeout(unlogged(ctx), Timeout)
	defer cancel()
	secret, err := g.client.Get(ctx, name, options)
	return secret, withoutBody(err)
}

func (g guarded) Update(ctx context.Context, secret *corev1.Secret, options metav1.UpdateOptions) (*corev1.Secret, error) {
	ctx, cancel := context.WithTimeout(unlogged(ctx), Timeout)
	defer cancel()
	updated, err := g.client.Update(ctx, secret, options)
	return updated, withoutBody(err)
}

// unlogged has the client log nothing: at high verbosity it logs bodies.
func unlogged(ctx context.Context) context.Context { return klog.NewContext(ctx, logr.Discard()) }

// withoutBody leaves out what an admission webhook may have said of a Secret, or a
// client of an answer that it did not understand.
func withoutBody(err error) error {
	var status apierrors.APIStatus
	var network *url.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &status):
		reason, code := status.Status().Reason, status.Status().Code
		message := fmt.Sprintf("the API answered %d %s", code, reason)
		if apierrors.IsForbidden(err) {
			message = "it is forbidden (get and update by resourceNames are needed)"
		}
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Reason: reason, Code: code, Message: message}}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.As(err, &network):
		return err
	}
	return errors.New("the answer of the API was not understood")
}
