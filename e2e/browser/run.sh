#!/usr/bin/env bash
# Runs a script of this folder, which drives a real browser against a real server.
# Needs Python, Node.js and Chromium (both are installed with apt-get if missing) and the package index.
# Usage: e2e/browser/run.sh SCRIPT [BINARY]. The arguments of the script are BINARY and a temporary folder.
set -euo pipefail
cd "$(dirname "$0")/../.."

source e2e/program.sh

script=e2e/browser/$1
find_program "${2:-}"

need npm nodejs npm
need chromium --no-install-recommends chromium fonts-dejavu-core
tools=$target/tools/browser
wanted="playwright-core@1.65.1 axe-core@4.14.1"
if [ "$(cat "$tools/installed" 2>/dev/null)" != "$wanted" ]; then
  rm -rf "$tools"
  mkdir -p "$tools"
  # shellcheck disable=SC2086 # each package is a separate word
  npm_install install --prefix "$tools" $wanted
  echo "$wanted" >"$tools/installed"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
NODE_PATH=$tools/node_modules node "$script" "$binary" "$work"
