#!/usr/bin/env bash
# Runs npm's and PyPI's clients of the Model Context Protocol against the application: over HTTP as the agents of its
# users, and over standard input as a coding agent.
# Needs Node.js 20, Python 3 (both are installed with apt-get if missing) and the package indexes.
# Usage: e2e/clients/mcp.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
source e2e/clients/servers.sh

need npm nodejs npm
build_programs

work=$target/clients/mcp
mkdir -p "$work"
cp e2e/clients/mcp/* "$work"
(cd "$work" && npm_install ci)
python_environment "$work/venv" -r "$work/requirements.txt"

start "$application"
export APPLICATION=$url BINARY=$application DATA=$data APPLICATION_TOKEN
APPLICATION_TOKEN=$(cd "$data" && "$application" token --subject ada --email ada@example.com)
(cd "$work" && node --test --test-force-exit --test-reporter=spec client.test.js)
(cd "$work" && venv/bin/python client_test.py)
echo "mcp: npm's and PyPI's clients call the tools of the server and of the program"
