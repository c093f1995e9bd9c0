#!/usr/bin/env bash
# Checks a real server with LiveKit's own library: the tokens that it mints, and its requests to a media server.
# Needs Python 3 and the package index. Usage: e2e/livekit.sh [BINARY]
set -euo pipefail
cd "$(dirname "$0")/.."

source e2e/program.sh
find_program "${1:-}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tools=$target/tools/livekit
python_environment "$tools" -r e2e/livekit_requirements.txt
export PYTHONPATH=e2e PYTHONDONTWRITEBYTECODE=1
"$tools/bin/python" e2e/livekit_conformance.py "$binary" "$work"
