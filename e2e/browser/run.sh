#!/usr/bin/env bash
# Runs a script of this folder, which drives a real browser against a real server.
# Needs Node.js, npm, Python, and on first use root to install Debian's Chromium.
# Usage: e2e/browser/run.sh SCRIPT [BINARY]. The arguments of the script are BINARY and a temporary folder.
set -euo pipefail
cd "$(dirname "$0")/../.."

source e2e/program.sh

script=e2e/browser/$1
find_program "${2:-}"

if [ ! -x /usr/bin/chromium ]; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
fi
tools=$target/tools/browser
wanted="playwright-core@1.65.1 axe-core@4.14.1"
if [ "$(cat "$tools/installed" 2>/dev/null)" != "$wanted" ]; then
  rm -rf "$tools"
  mkdir -p "$tools"
  # shellcheck disable=SC2086 # each package is a separate word
  npm install --silent --no-audit --no-fund --prefix "$tools" $wanted
  echo "$wanted" >"$tools/installed"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
NODE_PATH=$tools/node_modules node "$script" "$binary" "$work"
