#!/usr/bin/env bash
# Runs nodes on a cluster of PostgreSQL that fails over: Patroni, etcd and HAProxy with three servers, whose primary is
# killed, frozen, cut off and switched under load.
# Usage: e2e/failover.sh [COMMAND …]; the default is the test. COMMAND finds the cluster's address in
# CONVOKE_TEST_POSTGRES, and e2e/failover/cluster.sh in CONVOKE_TEST_CLUSTER.
# Installs Debian's packages if they are missing. As root with the right to make network namespaces, each server has its
# own, and the network can be cut.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v patroni >/dev/null || ! command -v etcd >/dev/null || ! command -v haproxy >/dev/null || ! command -v ip >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        postgresql patroni python3-etcd etcd-server haproxy iproute2 >/dev/null
fi

export CONVOKE_TEST_CLUSTER=$PWD/e2e/failover/cluster.sh
export CONVOKE_TEST_CLUSTER_FOLDER=$(mktemp -d /tmp/convoke-failover.XXXXXX)
trap '"$CONVOKE_TEST_CLUSTER" stop; rm -rf "$CONVOKE_TEST_CLUSTER_FOLDER"' EXIT
"$CONVOKE_TEST_CLUSTER" start
source "$CONVOKE_TEST_CLUSTER_FOLDER/environment"

if [ $# -gt 0 ]; then
    "$@"
else
    cargo test --workspace --test nodes failover:: -- --ignored --nocapture
fi
