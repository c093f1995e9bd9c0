#!/usr/bin/env bash
# Uses the reference under /docs in a real browser, as a person would, against a real run of the server.
# Needs Node, npm, and on first use root for Debian's Chromium. Usage: functions/tests/docs.sh [BINARY]
set -euo pipefail
cd "$(dirname "$0")/../.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
binary=${1:-}
if [ -z "$binary" ]; then
  cargo build --quiet -p functions --bin convoke
  binary=$target/debug/convoke
fi

if [ ! -x /usr/bin/chromium ]; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
fi
tools=$target/tools/docs
wanted=playwright-core@1.65.1
if [ "$(cat "$tools/installed" 2>/dev/null)" != "$wanted" ]; then
  rm -rf "$tools"
  mkdir -p "$tools"
  npm install --silent --no-audit --no-fund --prefix "$tools" "$wanted"
  echo "$wanted" >"$tools/installed"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
NODE_PATH=$tools/node_modules node functions/tests/docs/browse.cjs "$binary" "$work"
