#!/usr/bin/env bash
# Copyright 2026 The Entente Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Makes bin/kubectl. `make kubectl`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The first release that the tests and the demo hold for.
oldest_minor=34

recent_enough() {
  local minor
  # A vendor's build may say "34+".
  minor=$("$1" version --client -o json 2>/dev/null |
    sed -n 's/^ *"minor": *"\([0-9]*\).*/\1/p' | head -n 1) || return 1
  [[ -n $minor && $minor -ge $oldest_minor ]]
}

mkdir -p bin
if [[ -L bin/kubectl ]]; then
  recent_enough bin/kubectl && exit 0
  rm -f bin/kubectl
fi
# What was built here is left to build.sh, which knows whether it is up to date.
# With bin/ on PATH, the one found may be that one.
if [[ ! -e bin/kubectl ]]; then
  installed=$(type -P kubectl || true)
  if [[ -n $installed ]] && recent_enough "$installed"; then
    ln -s "$(cd "$(dirname "$installed")" && pwd)/kubectl" bin/kubectl
    echo "bin/kubectl is $installed"
    exit 0
  fi
fi
hack/kube/build.sh bin kubectl
