#!/usr/bin/env bash
# Copyright 2026 The Entente Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Runs tests: hack/test.sh unit|integration|leak|e2e|bench. `make test-unit` and so on.
# Options for go test come in GO_TEST_FLAGS.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The packages whose tests start a control plane, the leak suite, those whose tests
# start a whole server, and all others are unit tests.
module=$(go list -m)
e2e="^$module/(hack/cluster|test/(e2e|install|kube))(/|\$)"
leak="^$module/test/leak(/|\$)"
integration="^$module/(apiserver|controllers|test)(/|\$)"
benchmarks="^$module/(registry|test/bench)(/|\$)"

# A test that changes an object it got from an informer's cache panics.
export KUBE_CACHE_MUTATION_DETECTOR=true

# select_packages WANTED [UNWANTED]: those with tests whose path matches.
packages=()
select_packages() {
  local list
  list=$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./... |
    { grep -E "$1" || true; } | { grep -vE "${2:-^$}" || true; })
  [[ -n $list ]] || { echo "no package has such tests"; exit 0; }
  mapfile -t packages <<<"$list"
}

read -ra flags <<<"${GO_TEST_FLAGS:-}"
case ${1:-} in
  unit)
    select_packages . "$e2e|$leak|$integration"
    echo "Testing ${#packages[@]} packages with the race detector (compiling takes about 8 minutes cold on 2 cores)"
    go test -mod=readonly -race "${flags[@]}" "${packages[@]}"
    ;;
  integration)
    select_packages "$integration" "$e2e|$leak"
    echo "Testing ${#packages[@]} packages with servers and the race detector (compiling takes about 8 minutes cold on 2 cores)"
    go test -mod=readonly -race -timeout 45m "${flags[@]}" "${packages[@]}"
    ;;
  leak)
    select_packages "$leak"
    # Without the race detector: the server is compiled apart, without it too, since
    # this is some ten thousand requests; the integration tests have it.
    go test -mod=readonly -timeout 30m "${flags[@]}" "${packages[@]}"
    ;;
  e2e)
    select_packages "$e2e"
    echo "Testing ${#packages[@]} packages with real control planes and the race detector (compiling takes about 8 minutes cold on 2 cores)"
    # Nothing is remembered: what is run is not all of Go's knowledge.
    go test -mod=readonly -race -count 1 -timeout 30m "${flags[@]}" "${packages[@]}"
    ;;
  bench)
    # One package at a time and without the race detector, or the figures mean nothing.
    select_packages "$benchmarks"
    go test -mod=readonly -p 1 -run '^$' -bench . -benchmem -benchtime "${BENCHTIME:-1s}" \
      -timeout 30m "${flags[@]}" "${packages[@]}"
    ;;
  *)
    echo "usage: hack/test.sh unit|integration|leak|e2e|bench" >&2
    exit 2
    ;;
esac
