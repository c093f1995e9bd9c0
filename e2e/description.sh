#!/usr/bin/env bash
# Validates the OpenAPI document with a public validator, and tests a real server against it with Schemathesis. Needs
# Python 3 and the package index. Usage: e2e/description.sh [BINARY]
set -euo pipefail
cd "$(dirname "$0")/.."

source e2e/program.sh
find_program "${1:-}"

tools=$target/tools/description
wanted='openapi-spec-validator==0.9.0 schemathesis==4.32.5'
if [ "$(cat "$tools/installed" 2>/dev/null)" != "$wanted" ]; then
  rm -rf "$tools"
  python3 -m venv "$tools"
  # shellcheck disable=SC2086
  "$tools/bin/pip" install --quiet --disable-pip-version-check $wanted
  echo "$wanted" >"$tools/installed"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$binary" openapi --out "$work/public.json"
"$binary" openapi --admin --out "$work/admin.json"
"$tools/bin/openapi-spec-validator" "$work/public.json" "$work/admin.json"
export PYTHONPATH=e2e PYTHONDONTWRITEBYTECODE=1
"$tools/bin/python" e2e/description/hold.py "$binary" "$work" "$tools/bin/schemathesis"
