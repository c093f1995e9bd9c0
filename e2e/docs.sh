#!/usr/bin/env bash
# Uses the reference under /docs in a real browser, as a person would, against a real run of the server.
# Usage: e2e/docs.sh [BINARY]
set -euo pipefail

exec "$(dirname "$0")/browser/run.sh" docs/browse.cjs "$@"
