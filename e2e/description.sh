#!/usr/bin/env bash
# Validates the OpenAPI document with a public validator, and tests a real server against it with Schemathesis. Needs
# Python 3 and the package index. Usage: e2e/description.sh [BINARY]
set -euo pipefail
cd "$(dirname "$0")/.."

source e2e/program.sh
find_program "${1:-}"

tools=$target/tools/description
python_environment "$tools" -r e2e/description/requirements.txt

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$binary" openapi --out "$work/public.json"
"$binary" openapi --admin --out "$work/admin.json"
"$tools/bin/openapi-spec-validator" "$work/public.json" "$work/admin.json"
export PYTHONPATH=e2e PYTHONDONTWRITEBYTECODE=1
"$tools/bin/python" e2e/description/hold.py "$binary" "$work" "$tools/bin/schemathesis"
