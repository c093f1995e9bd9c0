#!/usr/bin/env bash
# Runs nodes on a cluster of PostgreSQL that fails over: Patroni, etcd and HAProxy with three servers, whose primary is
# killed, frozen, cut off and switched under load.
# Usage: e2e/failover.sh [COMMAND …]; the default is the test. COMMAND finds the cluster's address in
# CONVOKE_TEST_POSTGRES, and e2e/failover/cluster.sh in CONVOKE_TEST_CLUSTER. PATRONI_VERSION is another version of Patroni.
# Installs Debian's packages if they are missing, and Patroni from the package index. As root with the right to make
# network namespaces, each server has its own, and the network can be cut.
set -euo pipefail
cd "$(dirname "$0")/.."

source e2e/program.sh
if ! /usr/bin/python3 -c 'import ensurepip' 2>/dev/null || ! command -v etcd >/dev/null || ! command -v haproxy >/dev/null || ! command -v ip >/dev/null || ! ls -d /usr/lib/postgresql/*/bin >/dev/null 2>&1; then
    install_packages --no-install-recommends postgresql python3-venv etcd-server haproxy iproute2
fi

export CONVOKE_TEST_CLUSTER=$PWD/e2e/failover/cluster.sh
export CONVOKE_TEST_CLUSTER_FOLDER=$(mktemp -d /tmp/convoke-failover.XXXXXX)
trap '"$CONVOKE_TEST_CLUSTER" stop; rm -rf "$CONVOKE_TEST_CLUSTER_FOLDER" || true' EXIT
# In a folder and with an interpreter that the user of the servers can read.
tools=$CONVOKE_TEST_CLUSTER_FOLDER/tools
/usr/bin/python3 -m venv "$tools"
# Debian 12 has 3.0.2, in which a primary that was frozen can take the leader's key of etcd back. Version 3.1 is the last
# with a `ttl` of 10 s; later ones wait for 20 s at least, which is easier for the nodes.
again "$tools/bin/pip" install --quiet --disable-pip-version-check "patroni[etcd3]==${PATRONI_VERSION:-3.1.2}" \
    --requirement e2e/failover/requirements.txt
export PATH=$tools/bin:$PATH
"$CONVOKE_TEST_CLUSTER" start
source "$CONVOKE_TEST_CLUSTER_FOLDER/environment"

if [ $# -gt 0 ]; then
    "$@"
else
    cargo test --workspace --test nodes failover:: -- --ignored --nocapture || { "$CONVOKE_TEST_CLUSTER" report || true; exit 1; }
fi
