#!/usr/bin/env bash
# Copyright 2026 The Entente Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Builds commands of a Kubernetes control plane from the module in this folder:
#
#   hack/kube/build.sh OUTPUT_DIR COMMAND...
#
# A command that was built from the same module and version is left as it is.
# KUBE_VERSION=v1.36.1 builds another release than the one that go.mod has. To add
# a command, add its package to the tool directives of go.mod and to package_of.
set -euo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
shift
cd "$(dirname "${BASH_SOURCE[0]}")"

package_of() {
  case $1 in
    kubectl | kube-apiserver | kube-controller-manager) echo "k8s.io/kubernetes/cmd/$1" ;;
    etcd) echo "go.etcd.io/etcd/server/v3" ;;
    *) echo "hack/kube builds no command called $1" >&2; return 1 ;;
  esac
}

pinned=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
version=${KUBE_VERSION:-$pinned}
[[ $version =~ ^v1\.[0-9]+\.[0-9]+(-[a-z0-9.]+)?$ ]] || {
  echo "KUBE_VERSION=$version is not a release: v1.MINOR.PATCH is wanted" >&2
  exit 2
}
recipe="$version $(cat go.mod go.sum build.sh | cksum)"

# up_to_date COMMAND: what it was built from is noted beside it.
up_to_date() {
  # A link would be built through, into wherever it points.
  [[ -x $out/$1 && ! -L $out/$1 && -f $out/.$1.recipe && $(<"$out/.$1.recipe") == "$recipe" ]]
}

# another_release makes a copy of this module that names another release.
another_release() {
  local module modules
  module=$out/.module-$version
  echo "Resolving the modules of Kubernetes $version"
  mkdir -p "$module"
  cp go.mod go.sum "$module"
  cd "$module"
  modules=$(go mod edit -json | sed -n 's/.*"Path": "\(k8s.io\/[a-z-]*\)".*/\1/p' | sort -u | grep -v '^k8s.io/\(kubernetes\|klog\|kube-openapi\|utils\|gengo\|system-validators\)$')
  for name in $modules; do
    if grep -q "^	$name => " go.mod; then
      go mod edit -replace "$name=$name@v0${version#v1}"
    fi
  done
  go mod edit -require "k8s.io/kubernetes@$version"
  go mod tidy
}

missing=()
for command in "$@"; do
  package_of "$command" >/dev/null
  up_to_date "$command" || missing+=("$command")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0
[[ $version == "$pinned" ]] || another_release

# Without these Kubernetes takes itself for v0.0.0, which clients and servers
# compare with and refuse. The module has no commit and no date to offer.
IFS=. read -r major minor _ <<<"${version#v}"
ldflags=()
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  for field in gitVersion="$version" gitMajor="$major" gitMinor="$minor" \
    gitTreeState=clean gitCommit=0000000000000000000000000000000000000000 \
    buildDate=1970-01-01T00:00:00Z; do
    ldflags+=(-X "$package.$field")
  done
done

for command in "${missing[@]}"; do
  echo "Compiling $command of Kubernetes $version (the first takes up to 15 minutes cold on 2 cores)"
  rm -f "$out/$command" "$out/.$command.recipe"
  # Without -trimpath, so that the libraries that Entente is made of as well are
  # compiled once for both.
  go build -mod=readonly -ldflags "${ldflags[*]}" -o "$out/$command" "$(package_of "$command")"
  echo "$recipe" >"$out/.$command.recipe"
done
