#!/usr/bin/env bash
# Runs the application with a collector that decodes traces, logs and metrics with the protocol's classes from PyPI.
# Needs Python 3 (installed with apt-get if missing) and the package index.
# Usage: e2e/clients/telemetry.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
source e2e/clients/servers.sh

build_programs

work=$target/clients/telemetry
mkdir -p "$work"
cp e2e/clients/telemetry/* "$work"
python_environment "$work/venv" -r "$work/requirements.txt"
"$work/venv/bin/python" "$work/collector_test.py" "$application"
echo "telemetry: PyPI's classes of the protocol decode the traces, logs and metrics of the application"
