#!/usr/bin/env bash
# Verifies the webhooks of a real server with the unchanged libraries `standardwebhooks` and `svix` of npm.
# Needs Node.js 20 (installed with apt-get if missing) and the package index.
# Usage: e2e/clients/deliveries.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
source e2e/clients/servers.sh

need npm nodejs npm
build_programs

work=$target/clients/deliveries
mkdir -p "$work"
cp e2e/clients/deliveries/* "$work"
(cd "$work" && npm_install ci)
(cd "$work" && ORDERS_BINARY=$target/debug/orders node --test --test-force-exit --test-reporter=spec verify.test.js)
echo "deliveries: npm's standardwebhooks and svix verify them"
