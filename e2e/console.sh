#!/usr/bin/env bash
# Uses the console in a real browser, as a person would, against a real server; or makes the screenshots of docs/console anew.
# Usage: e2e/console.sh [--screenshots] [BINARY]
set -euo pipefail

does=browse
if [ "${1:-}" = --screenshots ]; then
  does=screenshots
  shift
fi
exec "$(dirname "$0")/browser/run.sh" "console/$does.cjs" "$@"
