#!/usr/bin/env bash
# Tests the console in a real browser against a real server, or makes the screenshots of docs/console.
# Usage: e2e/console.sh [--screenshots] [BINARY]
set -euo pipefail

does=browse
if [ "${1:-}" = --screenshots ]; then
  does=screenshots
  shift
fi
exec "$(dirname "$0")/browser/run.sh" "console/$does.cjs" "$@"
