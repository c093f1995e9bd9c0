#!/usr/bin/env bash
# Runs the unchanged WebSocket clients of the `convex` packages against real servers: npm's in Node.js and, with React,
# in a browser; PyPI's; and the crate. Meanwhile the test cuts connections and kills servers.
# Needs Node.js 20, Python 3, Chromium (all are installed with apt-get if missing) and the package indexes.
# Usage: e2e/clients/sync.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
source e2e/clients/servers.sh

need npm nodejs npm
need chromium chromium
build_programs

work=$target/clients/sync
mkdir -p "$work"
cp -r e2e/clients/sync/* "$work"
(cd "$work" && npm_install ci)
python_environment "$work/venv" -r "$work/requirements.txt"
(cd "$work" && npx esbuild page.jsx --bundle --jsx=automatic --log-level=warning --outfile=page.js)
CARGO_TARGET_DIR=$work/rust/target cargo build --quiet --locked --manifest-path "$work/rust/Cargo.toml"

start "$probes"
export PROBES=$url PROBES_TOKEN
PROBES_TOKEN=$(cd "$data" && "$probes" token --subject ada)

(cd "$work" && PROBES_BINARY=$probes node --test --test-force-exit --test-reporter=spec node.test.js browser.test.js others.test.js)
(cd "$work" && venv/bin/python client_test.py)
"$work/rust/target/debug/sync-client"
echo "sync: npm's, PyPI's and crates.io's clients work unchanged"
