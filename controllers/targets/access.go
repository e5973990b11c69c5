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

package targets

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1alpha1 "entente.dev/entente/apis/core/v1alpha1"
	"entente.dev/entente/controllers/target"
)

// Problem says why a Cluster cannot be connected to, in words for who may read it.
type Problem struct {
	// Unsupported says that its connection mode or auth type is not implemented: to try again
	// changes nothing.
	Unsupported bool
	// Message is a sentence. It quotes nothing of a Secret, and no byte of the other cluster.
	Message string

	// lost says that what the Cluster names does not exist, or not any more, or may not be read:
	// in a namespace that is being deleted Secrets and bindings go in any order.
	lost bool
}

func (p *Problem) Error() string { return p.Message }

// Unsupported says why a Cluster is of a kind that is not implemented; nil: it is not of one.
// tokenAndCert is whether the auth types token and clientCert are.
func Unsupported(spec *corev1alpha1.ClusterSpec, tokenAndCert bool) *Problem {
	switch spec.ConnectionMode {
	case corev1alpha1.ConnectionModeInCluster:
		return nil
	case corev1alpha1.ConnectionModeAgentless:
		if spec.Agentless == nil {
			return &Problem{Message: "spec.agentless: it is missing."}
		}
	default:
		return &Problem{Unsupported: true, Message: "spec.connectionMode: this mode is not implemented; inCluster and agentless are."}
	}
	switch kind := spec.Agentless.Auth.Type; {
	case kind == corev1alpha1.AuthTypeKubeconfig:
		return nil
	case (kind == corev1alpha1.AuthTypeToken || kind == corev1alpha1.AuthTypeClientCert) && tokenAndCert:
		return nil
	case kind == corev1alpha1.AuthTypeToken || kind == corev1alpha1.AuthTypeClientCert:
		return &Problem{Unsupported: true, Message: "spec.agentless.auth.type: this type is alpha, and off; kubeconfig is implemented."}
	}
	return &Problem{Unsupported: true, Message: "spec.agentless.auth.type: this type is not implemented; kubeconfig is."}
}

// Paths of what a Cluster names.
const (
	pathAuth       = "spec.agentless.auth"
	pathKubeconfig = pathAuth + ".kubeconfig.secretRef"
	pathToken      = pathAuth + ".token.tokenRef"
	pathCert       = pathAuth + ".clientCert.certRef"
	pathKey        = pathAuth + ".clientCert.keyRef"
	pathCA         = "spec.agentless.caPublicCertRef"
	pathServer     = "spec.agentless.server"
)

// reading reads what one Cluster names.
type reading struct {
	ctx         context.Context
	credentials Credentials
	namespace   string
}

// secret returns what is at a key of a Secret, which a path of the Cluster names.
func (r reading) secret(path string, ref corev1alpha1.SecretKeySelector) ([]byte, error) {
	value, err := r.credentials.Secret(r.ctx, r.namespace, ref.Name, ref.Key)
	return value, unread(path, "Secret", err)
}

// authority returns the CA certificate, if a Cluster names one.
func (r reading) authority(ref *corev1alpha1.ConfigMapKeySelector) ([]byte, error) {
	if ref == nil {
		return nil, nil
	}
	value, err := r.credentials.ConfigMap(r.ctx, r.namespace, ref.Name, ref.Key)
	return value, unread(pathCA, "ConfigMap", err)
}

func unread(path, kind string, err error) error {
	if err == nil {
		return nil
	}
	return &Problem{
		Message: fmt.Sprintf("%s: the %s cannot be used: %s.", path, kind, err),
		lost:    errors.Is(err, ErrAbsent) || errors.Is(err, ErrNoKey) || errors.Is(err, ErrForbidden),
	}
}

// access reads how the API server of a Cluster in mode agentless is connected to. It is of a
// kind that is implemented.
func (p *Pool) access(ctx context.Context, cluster *corev1alpha1.Cluster) (*target.Access, error) {
	if slices.Contains(p.config.OwnNamespaces, cluster.Namespace) {
		return nil, &Problem{Message: pathAuth + ": Secrets of this namespace are Entente's own, and not used for Clusters."}
	}
	agentless := cluster.Spec.Agentless
	from := reading{ctx, p.config.Credentials, cluster.Namespace}
	switch auth := &agentless.Auth; {
	case auth.Type == corev1alpha1.AuthTypeKubeconfig && auth.Kubeconfig != nil:
		data, err := from.secret(pathKubeconfig, auth.Kubeconfig.SecretRef)
		if err != nil {
			return nil, err
		}
		access, err := target.ParseKubeconfig(data, p.config.Allow)
		return access, faulty("the kubeconfig of "+pathKubeconfig, err, nil)
	case auth.Type == corev1alpha1.AuthTypeToken && auth.Token != nil:
		return from.token(agentless)
	case auth.Type == corev1alpha1.AuthTypeClientCert && auth.ClientCert != nil:
		return from.clientCert(agentless)
	}
	return nil, &Problem{Message: pathAuth + ": the block of the type is missing."}
}

func (r reading) token(agentless *corev1alpha1.ClusterAgentlessModeSpec) (*target.Access, error) {
	ca, err := r.authority(agentless.CAPublicCertRef)
	if err != nil {
		return nil, err
	}
	token, err := r.secret(pathToken, agentless.Auth.Token.TokenRef)
	if err != nil {
		return nil, err
	}
	access, err := target.Token(agentless.Server, ca, token)
	return access, faulty("", err, map[string]string{"token": pathToken})
}

func (r reading) clientCert(agentless *corev1alpha1.ClusterAgentlessModeSpec) (*target.Access, error) {
	ca, err := r.authority(agentless.CAPublicCertRef)
	if err != nil {
		return nil, err
	}
	cert, err := r.secret(pathCert, agentless.Auth.ClientCert.CertRef)
	if err != nil {
		return nil, err
	}
	key, err := r.secret(pathKey, agentless.Auth.ClientCert.KeyRef)
	if err != nil {
		return nil, err
	}
	access, err := target.ClientCertificate(agentless.Server, ca, cert, key)
	return access, faulty("", err, map[string]string{"certificate": pathCert, "key": pathKey})
}

// faulty says where a fault is: in something, or at the paths of the Cluster that stand for
// its fields.
func faulty(in string, err error, paths map[string]string) error {
	var fault *target.Fault
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &fault):
		return &Problem{Message: "The connection cannot be set up."}
	case in != "" && fault.Field == "":
		return &Problem{Message: fmt.Sprintf("In %s: %s.", in, fault.Text)}
	case in != "":
		return &Problem{Message: fmt.Sprintf("In %s: %s: %s.", in, fault.Field, fault.Text)}
	}
	path, found := paths[fault.Field]
	switch {
	case found:
	case fault.Field == "ca":
		path = pathCA
	default:
		path = pathServer
	}
	return &Problem{Message: fmt.Sprintf("%s: %s.", path, fault.Text)}
}
