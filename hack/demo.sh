#!/usr/bin/env bash
# Copyright 2026 The Entente Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Shows, on a fresh standalone server, who can read a connection string and that
# those who cannot do not lose it. Needs what `make build kubectl` makes.
# `make demo`. Every expectation is checked: exit 0 means that all of them held.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Well-formed, and made up: it leads to no cluster.
readonly secret='entente1.eyJpZCI6IjAwMTEyMjMzYWFiYmNjZGQiLCJ0b2tlbiI6ImRHaHBjeUIwYjJ0bGJpQnZjR1Z1Y3lCdWJ5QmtiMjl5SUdGMElHRnNiQ0UiLCJlbmRwb2ludHMiOlsiaHR0cHM6Ly9iZXJsaW4uZXhhbXBsZS5jb206OTQ0MyJdLCJwaW5zIjpbIkFRQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUEiXSwiY2x1c3RlciI6IjZmOTYxOWZmLThiODYtNDAxMS1iNDJkLTAwYzA0ZmM5NjRmZiIsImV4cGlyZXMiOjE4OTM0NTYwMDAsInByb3RvY29sIjp7Im1pbiI6MSwibWF4IjoxfX0.571c0e12'
readonly placeholder='<omitted>'
readonly start_deadline=60 stop_deadline=20

bold='' dim='' green='' red='' reset=''
if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
  bold=$'\e[1m' dim=$'\e[2m' green=$'\e[32m' red=$'\e[31m' reset=$'\e[0m'
fi

data=$(mktemp -d)
server=''
mkdir "$data"/{out,tmp}
# Nothing of the person who runs this: not their cluster, preferences, cache or proxy.
unset KUBECONFIG
export KUBERC=off KUBECACHEDIR=$data/cache TMPDIR=$data/tmp
export NO_PROXY=127.0.0.1 no_proxy=127.0.0.1

stop() {
  local status=$?
  trap - EXIT
  if [[ $status -ne 0 && -s $data/server.log ]]; then
    echo "${red}The demo failed. The end of the server's log:${reset}" >&2
    tail -n 30 "$data/server.log" >&2
  fi
  if [[ -n $server ]] && kill "$server" 2>/dev/null; then
    local deadline=$((SECONDS + stop_deadline))
    while kill -0 "$server" 2>/dev/null; do
      if [[ $SECONDS -ge $deadline ]]; then
        echo "the server did not stop within ${stop_deadline}s" >&2
        kill -9 "$server" 2>/dev/null || true
        status=1
        break
      fi
      sleep 0.1
    done
  fi
  rm -rf "$data"
  [[ $status -ne 0 ]] || echo "${green}The server has stopped. All expectations held.${reset}"
  exit "$status"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() { echo "${red}FAILED: $*${reset}" >&2; exit 1; }
pass() { echo "${green}  ✓ $*${reset}"; echo; }
chapter() { echo; echo "${bold}$*${reset}"; echo; }
has() { grep -qF -e "$1" "$output"; }

kubectl_as() {
  local user=$1
  shift
  bin/kubectl --kubeconfig "$data/data/$user.kubeconfig" "$@"
}

# record USER LINE COMMAND...: prints the line that a person would type, runs the
# command, prints what it says, and keeps that as $output.
turn=0 output=''
record() {
  local user=$1 line=$2 status=0
  shift 2
  turn=$((turn + 1))
  output=$data/out/$user.$turn
  echo "${dim}$user\$${reset} ${bold}$line${reset}"
  "$@" >"$output" 2>&1 || status=$?
  sed 's/^/  /' "$output"
  echo
  return "$status"
}

# as USER ARGUMENTS...: one kubectl command.
as() {
  local user=$1 line=kubectl argument
  shift
  for argument in "$@"; do
    [[ $argument =~ ^[A-Za-z0-9_.,:/=@-]+$ ]] || argument="'$argument'"
    line+=" $argument"
  done
  record "$user" "$line" kubectl_as "$user" "$@"
}

free_port() {
  local port
  while port=$((20000 + RANDOM % 10000)); (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
  echo "$port"
}

start() {
  local port deadline=$((SECONDS + start_deadline))
  port=$(free_port)
  echo "${dim}\$${reset} ${bold}bin/entente-apiserver --standalone --data-dir $data/data --secure-port $port &${reset}"
  bin/entente-apiserver --standalone --data-dir "$data/data" --secure-port "$port" >"$data/server.log" 2>&1 &
  server=$!
  until [[ -s $data/data/admin.kubeconfig ]] &&
    kubectl_as admin --request-timeout=2s get --raw /readyz &>/dev/null; do
    kill -0 "$server" 2>/dev/null || { wait "$server" || fail "the server ended with status $?"; fail "the server ended"; }
    [[ $SECONDS -lt $deadline ]] || fail "the server was not ready within ${start_deadline}s"
    sleep 0.1
  done
  pass "ready: three users, nothing else"
}

# One output of an unprivileged user, checked where it is made.
redacted() {
  has "$placeholder" || fail "the placeholder is missing"
  ! has "$secret" || fail "the value is there"
  pass "the placeholder stands for the value"
}

read_and_replace() {
  kubectl_as operator get cpeer berlin -o yaml | tee "$data/out/operator.read" | kubectl_as operator replace -f -
}

for binary in entente-apiserver kubectl; do
  [[ -x bin/$binary ]] || fail "bin/$binary is missing: make build kubectl"
done

chapter "A standalone server on an empty folder"
start

chapter "The admin joins another cluster with a connection string"
cat >"$data/berlin.yaml" <<EOF
apiVersion: peering.entente.dev/v1alpha1
kind: ClusterPeer
metadata:
  name: berlin
spec:
  type: Join
  join:
    connectionString: $secret
EOF
sed 's/^/  /' "$data/berlin.yaml"
echo
as admin apply -f - <"$data/berlin.yaml"
as admin wait cpeer/berlin --for=condition=Ready=False --timeout=30s
pass "stored, and seen by the controller"

chapter "The viewer may read ClusterPeers, but not what is sensitive in them"
as viewer get cpeer
as viewer get cpeer berlin -o yaml
redacted
if as viewer get cpeer berlin -o yaml --subresource=sensitive; then
  fail "the viewer was let in"
fi
has Forbidden || fail "the viewer was refused for another reason"
pass "refused"

chapter "The admin may"
as admin get cpeer berlin -o yaml --subresource=sensitive
has "$secret" || fail "the admin does not see the value"
pass "the value"

chapter "The operator works on the object without the right to read the value"
as operator label cpeer berlin site=fra1
editor='sed -i.bak s/fra1/fra2/'
KUBE_EDITOR=$editor record operator "KUBE_EDITOR='$editor' kubectl edit cpeer berlin" \
  kubectl_as operator edit cpeer berlin
record operator "kubectl get cpeer berlin -o yaml | kubectl replace -f -" read_and_replace
as operator get cpeer berlin -o yaml
has 'site: fra2' || fail "the edit is lost"
redacted

chapter "And the value is still there"
as admin get cpeer berlin --subresource=sensitive -o 'jsonpath={.spec.join.connectionString}'
[[ $(<"$output") == "$secret" ]] || fail "the value is no longer what it was"
as admin get cpeer berlin -o 'jsonpath={.metadata.generation}'
[[ $(<"$output") == 1 ]] || fail "the spec has changed"
pass "unchanged, and so is the spec's generation"

if grep -rqF -e "$secret" "$data"/out/viewer.* "$data"/out/operator.*; then
  fail "the viewer or the operator has seen the value"
fi
if grep -qF -e "$secret" "$data/server.log"; then
  fail "the server's log holds the value"
fi
pass "nothing the viewer or the operator got held it, and neither does the server's log"
