#!/usr/bin/env bash
# Tests the API reference under /docs in a real browser against a real server.
# Usage: e2e/docs.sh [BINARY]
set -euo pipefail

exec "$(dirname "$0")/browser/run.sh" docs/browse.cjs "$@"
