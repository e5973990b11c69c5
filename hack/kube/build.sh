#!/usr/bin/env bash
# Copyright 2026 The Entente Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Builds commands of Kubernetes from the module in this folder:
#
#   hack/kube/build.sh OUTPUT_DIR COMMAND...
#
# A command that is not older than go.mod is left as it is. To add one, add its
# package to the tool directives of go.mod and to package_of.
set -euo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
shift
cd "$(dirname "${BASH_SOURCE[0]}")"

package_of() {
  case $1 in
    kubectl) echo "k8s.io/kubernetes/cmd/$1" ;;
    *) echo "hack/kube builds no command called $1" >&2; return 1 ;;
  esac
}

# Without these Kubernetes takes itself for v0.0.0, which clients and servers
# compare with and refuse. The module has no commit and no date to offer.
version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
IFS=. read -r major minor _ <<<"${version#v}"
ldflags=()
for field in gitVersion="$version" gitMajor="$major" gitMinor="$minor" \
  gitTreeState=clean gitCommit=0000000000000000000000000000000000000000 \
  buildDate=1970-01-01T00:00:00Z; do
  ldflags+=(-X "k8s.io/component-base/version.$field")
done

for command in "$@"; do
  package=$(package_of "$command")
  # A link would be built through, into wherever it points.
  if [[ ! -L $out/$command && $out/$command -nt go.mod && $out/$command -nt build.sh ]]; then
    continue
  fi
  echo "Compiling $command $version (about 5 minutes cold on 2 cores)"
  rm -f "$out/$command"
  # Without -trimpath, so that the libraries that Entente is made of as well are
  # compiled once for both.
  go build -mod=readonly -ldflags "${ldflags[*]}" -o "$out/$command" "$package"
done
