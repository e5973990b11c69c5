#!/usr/bin/env bash
# Copyright 2026 The Entente Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Checks what a reviewer should not have to. Every check runs; the failed ones
# are named at the end. `make verify`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

modules=(. hack/tools hack/tools/golangci-lint hack/kube)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# A tree of what generation may write, tracked or not, in an index of its own:
# a file that was changed before and is changed now shows as well.
snapshot() {
  rm -f "$scratch/index"
  GIT_INDEX_FILE=$scratch/index git add --all -- apis hack
  GIT_INDEX_FILE=$scratch/index git write-tree
}

generated_code() {
  local before after
  before=$(snapshot)
  hack/generate.sh
  after=$(snapshot)
  git --no-pager diff --exit-code --stat --patch "$before" "$after"
}

formatting() {
  local unformatted
  unformatted=$(git ls-files -z --cached --others --exclude-standard '*.go' | existing | xargs -0 -r gofmt -l)
  [[ -z $unformatted ]] || { echo "gofmt these:"; echo "$unformatted"; return 1; }
}

module_files() {
  local module untidy=0
  for module in "${modules[@]}"; do
    (cd "$module" && go mod tidy -diff) || { echo "not tidy: $module"; untidy=1; }
  done
  return "$untidy"
}

# The generators, kubectl and the libraries are of one release.
kubernetes_versions() {
  local library=() other
  library=("$(go list -m -f '{{.Version}}' k8s.io/apiserver)" "$(go list -m -f '{{.Version}}' k8s.io/kube-openapi)")
  other=$(cd hack/tools && go list -m -f '{{.Version}}' k8s.io/code-generator k8s.io/kube-openapi | xargs)
  [[ $other == "${library[*]}" ]] || { echo "hack/tools has $other, go.mod has ${library[*]}"; return 1; }
  other=$(cd hack/kube && go list -m -f '{{.Version}}' k8s.io/kubernetes)
  [[ $other == "v1${library[0]#v0}" ]] || { echo "hack/kube has $other, go.mod has ${library[0]}"; return 1; }
}

licence_headers() {
  local without
  without=$(git ls-files -z --cached --others --exclude-standard '*.go' '*.sh' '.ci/run' | existing |
    xargs -0 -r grep -LE '^(# )?Copyright 20[0-9]{2} The Entente Authors\.$' || true)
  [[ -z $without ]] || { echo "no licence header (hack/boilerplate.go.txt):"; echo "$without"; return 1; }
}

# The docs say by which test something is promised. Of a subtest the test counts; a
# name that ends in … stands for all that begin with it.
named_tests() {
  local functions name pattern missing=0
  functions=$(git ls-files -z --cached --others --exclude-standard '*_test.go' | existing |
    xargs -0 -r grep -hoE '^func (Test|Fuzz|Benchmark)[A-Za-z0-9_]*\(')
  while IFS= read -r name; do
    pattern="^func ${name%%/*}\\("
    [[ $name != *… ]] || pattern="^func ${name%…}"
    grep -qE "$pattern" <<<"$functions" || {
      echo "no such test: $name, named in $(grep -lF "\`$name\`" README.md docs -r | xargs)"
      missing=1
    }
  done < <(git ls-files -z --cached --others --exclude-standard README.md 'docs/*.md' | existing |
    xargs -0 -r grep -hoE '`(Test|Fuzz|Benchmark)[A-Za-z0-9_]+(/[^`]*|…)?`' | tr -d '`' | sort -u)
  return "$missing"
}

lint() {
  make lint
}

# Git still lists a file that is deleted and not committed.
existing() {
  local file
  while IFS= read -r -d '' file; do
    [[ ! -f $file ]] || printf '%s\0' "$file"
  done
}

failed=()
for check in licence_headers formatting kubernetes_versions module_files named_tests generated_code lint; do
  echo "==> ${check//_/ }"
  # A function called in a condition runs on after an error, whatever set -e
  # says; so not in one.
  set +e
  (set -e; "$check")
  status=$?
  set -e
  [[ $status -eq 0 ]] || failed+=("${check//_/ }")
done

if [[ ${#failed[@]} -gt 0 ]]; then
  printf 'verify: failed: %s\n' "${failed[@]}" >&2
  exit 1
fi
echo "verify: all well"
