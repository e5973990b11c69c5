#!/usr/bin/env bash
# Copyright 2026 The Entente Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Builds bin/entente-apiserver with its version in it. `make build`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Outside a git clone (a source archive), and before the first tag, there is
# nothing to describe.
version=$(git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null || echo v0.1.0-dev)
commit=$(git rev-parse HEAD 2>/dev/null || true)
state=clean
[[ -z $(git status --porcelain 2>/dev/null) ]] || state=dirty
# The time of the commit, not of the build: the same commit gives the same binary.
date=$(TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd 2>/dev/null || echo 1970-01-01T00:00:00Z)
IFS=. read -r major minor _ <<<"${version#v}"

ldflags=()
for field in gitVersion="$version" gitMajor="$major" gitMinor="$minor" \
  gitCommit="$commit" gitTreeState="$state" buildDate="$date"; do
  ldflags+=(-X "k8s.io/component-base/version.$field")
done

# CGO stays as the environment has it: tests need it for the race detector, and
# with another setting here the standard library would be compiled twice.
echo "Compiling entente-apiserver $version (about 8 minutes cold on 2 cores, seconds warm)"
go build -mod=readonly -ldflags "${ldflags[*]}" -o bin/entente-apiserver ./cmd/entente-apiserver
