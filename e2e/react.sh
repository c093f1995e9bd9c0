#!/usr/bin/env bash
# Builds the example page, and tests it in a real browser with two concurrent users against a real server.
# Needs Node.js 20, Chromium (both are installed with apt-get if missing) and the package index. Usage: e2e/react.sh
set -euo pipefail
cd "$(dirname "$0")/.."

source e2e/program.sh
need npm nodejs npm
need chromium chromium
build_programs

work=$target/react
mkdir -p "$work"
cp -r examples/react/{package.json,package-lock.json,tsconfig.json,public,src,test} "$work"
"$target/debug/convoke" codegen convex --out "$work/src/api.ts"
cd "$work"
npm_install ci
npm run --silent check
npm run --silent build -- --log-level=warning
CONVOKE_BINARY=$target/debug/convoke node --test --test-force-exit --test-reporter=spec test/page.test.mjs
echo "react: the example works for two concurrent users"
