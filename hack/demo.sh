#!/usr/bin/env bash
# Copyright 2026 The Entente Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Two standalone servers, east and west, come to trust each other: who sees the
# connection string, that it is used once and gone afterwards, and what each side
# says when the other leaves. Needs what `make build kubectl` makes. `make demo`.
# Every expectation is checked: exit 0 means that all of them held.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly placeholder='<omitted>'
readonly start_deadline=60 stop_deadline=20 peer_deadline=30

bold='' dim='' green='' red='' reset=''
if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
  bold=$'\e[1m' dim=$'\e[2m' green=$'\e[32m' red=$'\e[31m' reset=$'\e[0m'
fi

data=$(mktemp -d)
declare -A server=()
mkdir "$data"/{out,tmp}
# Nothing of the person who runs this: not their cluster, preferences, cache or proxy.
unset KUBECONFIG
export KUBERC=off KUBECACHEDIR=$data/cache TMPDIR=$data/tmp
export NO_PROXY=127.0.0.1 no_proxy=127.0.0.1

stop() {
  local status=$? cluster
  trap - EXIT
  for cluster in "${!server[@]}"; do
    if [[ $status -ne 0 && -s $data/$cluster.log ]]; then
      echo "${red}The demo failed. The end of the log of $cluster:${reset}" >&2
      tail -n 30 "$data/$cluster.log" >&2
    fi
    kill "${server[$cluster]}" 2>/dev/null || true
  done
  local deadline=$((SECONDS + stop_deadline))
  for cluster in "${!server[@]}"; do
    while kill -0 "${server[$cluster]}" 2>/dev/null; do
      if [[ $SECONDS -ge $deadline ]]; then
        echo "$cluster did not stop within ${stop_deadline}s" >&2
        kill -9 "${server[$cluster]}" 2>/dev/null || true
        status=1
        break
      fi
      sleep 0.1
    done
  done
  rm -rf "$data"
  [[ $status -ne 0 ]] || echo "${green}All servers have stopped. All expectations held.${reset}"
  exit "$status"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() { echo "${red}FAILED: $*${reset}" >&2; exit 1; }
pass() { echo "${green}  ✓ $*${reset}"; echo; }
chapter() { echo; echo "${bold}$*${reset}"; echo; }
has() { grep -qF -e "$1" "$output"; }

# kubectl_as CLUSTER/USER ARGUMENTS...
kubectl_as() {
  local who=$1
  shift
  bin/kubectl --kubeconfig "$data/${who%/*}/${who#*/}.kubeconfig" "$@"
}

# as CLUSTER/USER ARGUMENTS...: prints the kubectl command that a person would type,
# runs it, prints what it says, and keeps that as $output.
turn=0 output=''
as() {
  local who=$1 line=kubectl status=0 argument
  shift
  for argument in "$@"; do
    [[ $argument =~ ^[A-Za-z0-9_.,:/=@-]+$ ]] || argument="'$argument'"
    line+=" $argument"
  done
  turn=$((turn + 1))
  output=$data/out/${who#*/}.$turn
  echo "${dim}$who\$${reset} ${bold}$line${reset}"
  kubectl_as "$who" "$@" >"$output" 2>&1 || status=$?
  sed 's/^/  /' "$output"
  echo
  return "$status"
}

# says CLUSTER NAME REASON: waits until the ClusterPeer is Ready, or not, for that reason.
says() {
  local reason deadline=$((SECONDS + peer_deadline))
  until reason=$(kubectl_as "$1/viewer" get cpeer "$2" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].reason}' 2>&1) && [[ $reason == "$3" ]]; do
    [[ $SECONDS -lt $deadline ]] || fail "$1 does not say $3 of $2 within ${peer_deadline}s, but $reason"
    sleep 0.1
  done
}

free_port() {
  local port
  while port=$((20000 + RANDOM % 10000)); (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
  echo "$port"
}

start() {
  local cluster=$1 port gateway deadline=$((SECONDS + start_deadline))
  port=$(free_port) gateway=$(free_port)
  local flags=(--standalone --data-dir "$data/$cluster" --secure-port "$port" --cluster-alias "$cluster"
    --gateway-port "$gateway" --gateway-endpoint "https://127.0.0.1:$gateway")
  echo "${dim}\$${reset} ${bold}bin/entente-apiserver ${flags[*]} &${reset}"
  bin/entente-apiserver "${flags[@]}" >"$data/$cluster.log" 2>&1 &
  server[$cluster]=$!
  until [[ -s $data/$cluster/admin.kubeconfig ]] &&
    kubectl_as "$cluster/admin" --request-timeout=2s get --raw /readyz &>/dev/null; do
    kill -0 "${server[$cluster]}" 2>/dev/null || fail "$cluster ended"
    [[ $SECONDS -lt $deadline ]] || fail "$cluster was not ready within ${start_deadline}s"
    sleep 0.1
  done
}

# join CLUSTER: a ClusterPeer of type Join with the string, as its admin writes it.
join() {
  local line
  line=$(sed 's/^/  /' <<EOF
apiVersion: peering.entente.dev/v1alpha1
kind: ClusterPeer
metadata: {name: east}
spec:
  type: Join
  join: {connectionString: ${string:0:24}…}
EOF
  )
  echo "$line"
  echo
  kubectl_as "$1/admin" apply -f - <<EOF
apiVersion: peering.entente.dev/v1alpha1
kind: ClusterPeer
metadata: {name: east}
spec:
  type: Join
  join: {connectionString: $string}
EOF
}

for binary in entente-apiserver kubectl; do
  [[ -x bin/$binary ]] || fail "bin/$binary is missing: make build kubectl"
done

chapter "Two clusters, on empty folders"
start east
start west
pass "both are ready"

chapter "East invites west"
as east/admin apply -f artifacts/examples/invite.yaml
as east/admin wait cpeer/west --for='jsonpath={.status.invite.connectionString}' --timeout=30s
as east/admin get cpeer
pass "it waits for west"

chapter "Who may read ClusterPeers sees that there is a connection string, and not which"
as east/viewer get cpeer west -o 'jsonpath={.status.invite.connectionString}'
has "$placeholder" || fail "the placeholder is missing"
if as east/viewer get cpeer west --subresource=sensitive -o yaml; then
  fail "the viewer was let in"
fi
has Forbidden || fail "the viewer was refused for another reason"
as east/admin get cpeer west --subresource=sensitive -o 'jsonpath={.status.invite.connectionString}'
string=$(<"$output")
[[ $string == entente1.* ]] || fail "the admin does not see the connection string"
pass "the admin does, and carries it over to west"

chapter "West joins with it"
SECONDS=0
join west
says west east Active
says east west Active
pass "both are active, after ${SECONDS}s"
as west/viewer get cpeer
as east/viewer get cpeer

chapter "The string is used up, and gone"
as east/admin get cpeer west --subresource=sensitive -o 'jsonpath={.status.invite}' # all of it
has '"used":true' || fail "it is not used"
! has "$string" || fail "the string is still there"
pass "there is nothing left to steal"

chapter "Somebody else who got hold of it is too late"
start north
join north
says north east TokenRejected
as north/viewer get cpeer
as east/viewer get cpeer west -o 'jsonpath={.status.conditions[?(@.type=="Ready")].message}'
has 'refused' || fail "east does not say that somebody else was refused"
pass "refused; both owners can read why, and the peering goes on"

chapter "The operator works on the object without the right to read the value"
as west/operator label cpeer east site=fra1
kubectl_as west/operator get cpeer east -o yaml | kubectl_as west/operator replace -f -
as west/admin get cpeer east --subresource=sensitive -o 'jsonpath={.spec.join.connectionString}'
[[ $(<"$output") == "$string" ]] || fail "the value is no longer what it was"
says west east Active
pass "and has not lost it"

chapter "West leaves"
as west/admin delete cpeer east --timeout=30s
says east west PeerLeft
as east/viewer get cpeer
pass "east says so"

if grep -rqF -e "$string" "$data"/out/viewer.* "$data"/out/operator.*; then
  fail "a viewer or an operator has seen the string"
fi
if grep -qF -e "$string" "$data"/*.log; then
  fail "a log holds the string"
fi
pass "nothing that a viewer or an operator got held the string, and no log either"
