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
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	peeringv1alpha1ac "entente.dev/entente/apis/generated/applyconfiguration/peering/v1alpha1"
	"entente.dev/entente/apis/generated/clientset/versioned/scheme"
	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
)

// deliver writes the status with a connection string in it.
func (c *Controller) deliver(ctx context.Context, l *look, text string) error {
	wanted := project(l.peer, l.record, l.facts, c.clock.Now())
	config, err := configuration(l.peer, wanted)
	if err != nil {
		return err
	}
	config.Status.Invite.WithConnectionString(text)
	written, err := c.applyQuietly(ctx, config)
	if apierrors.IsNotFound(err) {
		l.gone = true
		return nil
	}
	if err != nil {
		return err
	}
	c.memory.checks(&written.ObjectMeta, l.record.Invite.Hash, issuedShown)
	return c.wrote(ctx, l, written, wanted)
}

// applyQuietly applies a status that holds a connection string. Nothing of it is
// logged: client-go does not log a body that is a stream, nor an answer that is read as
// one, and the logger that discards keeps the rest quiet (see getSensitive).
func (c *Controller) applyQuietly(ctx context.Context, config *peeringv1alpha1ac.ClusterPeerApplyConfiguration) (written *peeringv1alpha1.ClusterPeer, err error) {
	defer quietly(ctx, &err)
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	data, err := json.Marshal(config)
	if err != nil {
		return nil, errNotDelivered
	}
	force := true
	body, err := c.sensitive.Patch(types.ApplyYAMLPatchType).
		Resource("clusterpeers").
		Name(*config.Name).
		SubResource("status").
		VersionedParams(&metav1.PatchOptions{FieldManager: FieldManager, Force: &force}, scheme.ParameterCodec).
		SetHeader("Accept", runtime.ContentTypeJSON).
		Body(bytes.NewReader(data)).
		Stream(klog.NewContext(ctx, logr.Discard()))
	if err != nil {
		return nil, withoutBody(err, doingDeliver)
	}
	answer, err := readAll(body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doingDeliver, err)
	}
	written = &peeringv1alpha1.ClusterPeer{}
	err = runtime.DecodeInto(scheme.Codecs.UniversalDeserializer(), answer, written)
	if err != nil || written.Name != *config.Name {
		return nil, errNotDelivered
	}
	return written, nil
}
