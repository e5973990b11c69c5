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

package dataaccess

import (
	"bytes"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	peeringv1alpha1 "entente.dev/entente/apis/peering/v1alpha1"
	"entente.dev/entente/peering/pki"
	"entente.dev/entente/peering/record"
)

const (
	// keyTrust is the key in the Secret under which the certificates are by which the
	// peer's gateway is recognised, PEM.
	keyTrust = "ca.crt"

	suffix = "-access"
)

// SecretName returns the name of the Secret for a ClusterPeer.
func SecretName(clusterPeer string) string { return clusterPeer + suffix }

// peerOf returns the name of the ClusterPeer that a Secret is for.
func peerOf(secretName string) (clusterPeer string, ok bool) {
	return strings.CutSuffix(secretName, suffix)
}

// build returns a Secret as it is to be.
func build(peer *peeringv1alpha1.ClusterPeer, remote *record.Remote) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name:        SecretName(peer.Name),
			Labels:      map[string]string{peeringv1alpha1.LabelManagedBy: peeringv1alpha1.ManagedBy, peeringv1alpha1.LabelPeer: peer.Name},
			Annotations: map[string]string{peeringv1alpha1.AnnotationPeerUID: string(peer.UID)},
		},
		Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{
			corev1.TLSCertKey:       pki.CertificatesPEM(remote.Data.Certificate),
			corev1.TLSPrivateKeyKey: remote.Data.Key.Reveal(),
			keyTrust:                pki.CertificatesPEM(remote.Trust...),
		},
	}
}

// isOurs tells whether we made a Secret, for whatever ClusterPeer. It is by both the label
// and the annotation that one of ours is told from what others made.
func isOurs(live *corev1.Secret) bool {
	return live.Labels[peeringv1alpha1.LabelManagedBy] == peeringv1alpha1.ManagedBy && live.Annotations[peeringv1alpha1.AnnotationPeerUID] != ""
}

// canChange tells whether a Secret of ours can be made into another one, by its type and
// whether it may be changed at all.
func canChange(live *corev1.Secret) bool {
	return live.Type == corev1.SecretTypeTLS && (live.Immutable == nil || !*live.Immutable)
}

// changed returns a Secret of ours with what it is to hold, and nothing else in it; nil if
// it is so. What others added to its labels and annotations stays.
func changed(live, wanted *corev1.Secret) *corev1.Secret {
	if maps.EqualFunc(live.Data, wanted.Data, bytes.Equal) && within(wanted.Labels, live.Labels) && within(wanted.Annotations, live.Annotations) {
		return nil
	}
	next := live.DeepCopy()
	next.Data = wanted.Data
	maps.Copy(next.Labels, wanted.Labels)
	maps.Copy(next.Annotations, wanted.Annotations)
	return next
}

func within(some, all map[string]string) bool {
	for key, value := range some {
		if all[key] != value {
			return false
		}
	}
	return true
}
