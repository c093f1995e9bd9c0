#!/usr/bin/env bash
# Runs the unchanged HTTP clients of the `convex` packages of npm and PyPI against real servers.
# Needs Node.js 20, Python 3 (both are installed with apt-get if missing) and the package indexes.
# Usage: e2e/clients/convention.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
source e2e/clients/servers.sh

need npm nodejs npm
build_programs

work=$target/clients/convention
mkdir -p "$work"
cp e2e/clients/convention/* "$work"
(cd "$work" && npm_install ci)
python_environment "$work/venv" -r "$work/requirements.txt"

start "$application"
export APPLICATION=$url APPLICATION_TOKEN
APPLICATION_TOKEN=$(cd "$data" && "$application" token --subject ada --email ada@example.com)
start "$probes"
export PROBES=$url PROBES_TOKEN PROBES_KEY
PROBES_TOKEN=$(cd "$data" && "$probes" token --subject ada)
PROBES_KEY=$(cd "$data" && "$probes" deploy-key create clients --scope functions,act-as)

(cd "$work" && node --test --test-force-exit --test-reporter=dot client.test.js && venv/bin/python -W error::DeprecationWarning client_test.py)
echo "convention: npm's and PyPI's clients work unchanged"
