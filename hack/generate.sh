#!/usr/bin/env bash
# Copyright 2026 The Entente Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Writes every generated file: zz_generated.* beside the API types, and
# apis/generated. `make generate`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
module=$(go list -m)

# The order in which the generators see files must not depend on the locale.
export LC_ALL=C
# kube_codegen.sh installs its generators here; `go install` is a no-op when
# they are up to date.
export GOBIN=$root/bin/tools
mkdir -p "$GOBIN"

(cd hack/tools && go mod download k8s.io/code-generator)
codegen=$(cd hack/tools && go list -m -f '{{.Dir}}' k8s.io/code-generator)
# shellcheck source=/dev/null
source "$codegen/kube_codegen.sh"
# It builds the generators from the module in this folder. With ours instead of
# its own, hack/tools/go.mod and go.sum say what runs.
# shellcheck disable=SC2034
KUBE_CODEGEN_ROOT=$root/hack/tools

boilerplate=$root/hack/boilerplate.go.txt
generated=apis/generated
mkdir -p "$generated"/{openapi,clientset,informers,listers,applyconfiguration}

echo "Compiling the generators (about a minute cold)"
(
  # Without meta/v1 for validation: its own rules call hand-written functions
  # that live in another package, which the generator looks for in meta/v1 and
  # does not find. Our fields of those types are tagged opaque instead; the
  # server checks object metadata by itself.
  readonly_pkgs=()
  for pkg in "${KUBE_CODEGEN_READONLY_PKGS[@]}"; do
    [[ $pkg == k8s.io/apimachinery/pkg/apis/meta/v1 ]] || readonly_pkgs+=("$pkg")
  done
  KUBE_CODEGEN_READONLY_PKGS=("${readonly_pkgs[@]}")
  kube::codegen::gen_helpers --boilerplate "$boilerplate" ./apis
)

# The groups of Kubernetes that a standalone server answers by itself (package
# reviews). k8s.io/api has their types, but no OpenAPI definitions.
reviews=(k8s.io/api/authentication/v1 k8s.io/api/authorization/v1)
KUBE_CODEGEN_READONLY_PKGS+=("${reviews[@]}")

# The report is rewritten, not compared: `make verify` compares.
kube::codegen::gen_openapi \
  --extra-pkgs "${reviews[0]}" \
  --extra-pkgs "${reviews[1]}" \
  --boilerplate "$boilerplate" \
  --output-dir "$generated/openapi" \
  --output-pkg "$module/$generated/openapi" \
  --output-model-name-file zz_generated.model_name.go \
  --report-filename hack/api-violations.list \
  --update-report \
  ./apis

# The apply configurations carry the schema of our types, so that Extract and
# the fake clientset know which manager owns which field.
schema=$(mktemp)
trap 'rm -f "$schema"' EXIT
go run ./hack/openapi-schema >"$schema"

kube::codegen::gen_client \
  --boilerplate "$boilerplate" \
  --output-dir "$generated" \
  --output-pkg "$module/$generated" \
  --with-watch \
  --with-applyconfig \
  --applyconfig-openapi-schema "$schema" \
  ./apis

# The generator names models after Go paths; the scheme and the served OpenAPI
# name them after the API group.
find "$generated/applyconfiguration" -name '*.go' -exec sed -i 's/dev\.entente\.entente\.apis\./dev.entente./g' {} +
