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

package target

import (
	"slices"
	"strings"

	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
)

// refused tells what a user has that is never done here (C2): it would have this process run
// programs, read files, or be somebody else than who the credentials are of.
func refused(user *clientcmdv1.AuthInfo) *Fault {
	if user.Exec != nil {
		return &Fault{fieldUserExec, textOfProgram(user.Exec)}
	}
	if user.AuthProvider != nil {
		return &Fault{fieldUserProvider, textOfProvider(user.AuthProvider.Name)}
	}
	for _, not := range []struct {
		asked bool
		field string
		text  FaultText
	}{
		{user.ClientCertificate != "", fieldUserCertFile, FaultFile},
		{user.ClientKey != "", fieldUserKeyFile, FaultFile},
		{user.TokenFile != "", fieldUserTokenFile, FaultFile},
		{user.Impersonate != "", fieldUserAs, FaultImpersonate},
		{user.ImpersonateUID != "", fieldUserAsUID, FaultImpersonate},
		{len(user.ImpersonateGroups) > 0, fieldUserAsGroups, FaultImpersonate},
		{len(user.ImpersonateUserExtra) > 0, fieldUserAsExtra, FaultImpersonate},
		{user.Username != "", fieldUserName, FaultBasicAuth},
		{user.Password != "", fieldUserPassword, FaultBasicAuth},
	} {
		if not.asked {
			return &Fault{not.field, not.text}
		}
	}
	return nil
}

// textOfProgram tells by the program whose clusters it logs in to.
func textOfProgram(exec *clientcmdv1.ExecConfig) FaultText {
	command := exec.Command[strings.LastIndexAny(exec.Command, `/\`)+1:]
	switch strings.TrimSuffix(strings.ToLower(command), ".exe") {
	case "aws", "aws-iam-authenticator", "heptio-authenticator-aws", "aws-vault", "eksctl":
		return FaultLoginAmazon
	case "gke-gcloud-auth-plugin", "gcloud":
		return FaultLoginGoogle
	case "kubelogin":
		// There are two of that name.
		if slices.ContainsFunc(exec.Args, func(arg string) bool { return strings.HasPrefix(arg, "--oidc-") }) {
			return FaultLoginOIDC
		}
		return FaultLoginAzure
	case "az":
		return FaultLoginAzure
	case "kubectl-oidc_login":
		return FaultLoginOIDC
	case "kubectl":
		if slices.Contains(exec.Args, "oidc-login") {
			return FaultLoginOIDC
		}
		return FaultLogin
	case "doctl":
		return FaultLoginOcean
	default:
		return FaultLogin
	}
}

// textOfProvider tells by the plug-in whose clusters it logs in to.
func textOfProvider(name string) FaultText {
	switch name {
	case "gcp":
		return FaultLoginGoogle
	case "azure":
		return FaultLoginAzure
	case "oidc":
		return FaultLoginOIDC
	default:
		return FaultLogin
	}
}
