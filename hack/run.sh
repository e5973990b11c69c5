#!/usr/bin/env bash
# Copyright 2026 The Entente Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Serves in the foreground, standalone, from .local/. `make run`.
# ENTENTE_PORT chooses another port, ENTENTE_DATA_DIR another folder; arguments
# are passed on to the server.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

port=${ENTENTE_PORT:-6643}
data=${ENTENTE_DATA_DIR:-$PWD/.local/entente}
mkdir -p "$data"
chmod 0700 "$data"

cat <<EOF
Serving on https://127.0.0.1:$port from $data; ctrl-c stops it. In another terminal:

  export KUBECONFIG=$data/admin.kubeconfig     # or operator, or viewer
  bin/kubectl get --raw '/readyz?verbose'
  bin/kubectl explain clusterpeers.spec
  bin/kubectl get cpeer
  bin/kubectl get cpeer NAME -o yaml --subresource=sensitive

EOF
# exec: ctrl-c and a supervisor's signal reach the server itself.
exec bin/entente-apiserver --standalone --data-dir "$data" --secure-port "$port" "$@"
