#!/usr/bin/env bash
# Uses the reference under /docs in a real browser, as a person would, against a real run of the server.
# Usage: functions/tests/docs.sh [BINARY]
set -euo pipefail

exec "$(dirname "$0")/browser.sh" docs/browse.cjs "$@"
