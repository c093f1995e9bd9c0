#!/usr/bin/env bash
# Runs the tests of files with their contents in an S3-compatible storage: the server of `moto` from PyPI.
# Needs Node.js 20, Python 3 and curl (all are installed with apt-get if missing) and the package indexes.
# Usage: e2e/clients/files_s3.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
source e2e/clients/servers.sh

need npm nodejs npm
need python3 python3 python3-venv
need curl curl
build_programs

work=$target/clients/files_s3
mkdir -p "$work"
cp e2e/clients/files/* "$work"
(cd "$work" && npm ci --silent --no-audit --no-fund --prefer-offline)
[ -x "$work/venv/bin/pip" ] || python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check -r "$work/requirements.txt"

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$work/venv/bin/moto_server" -H 127.0.0.1 -p "$port" 2>/dev/null &
servers+=($!)
storage=http://127.0.0.1:$port
for _ in $(seq 100); do curl -s "$storage" >/dev/null && break || sleep 0.1; done
curl -s -X PUT "$storage/files" >/dev/null

settings=$(mktemp -d)
folders+=("$settings")
printf '[files]\nurl = "s3://files/contents"\nendpoint = "%s"\n' "$storage" >"$settings/convoke.toml"
export CONVOKE_SECRET_S3_ACCESS_KEY_ID=test CONVOKE_SECRET_S3_SECRET_ACCESS_KEY=test
start "$application" --config "$settings/convoke.toml"
export APPLICATION=$url APPLICATION_TOKEN
APPLICATION_TOKEN=$(cd "$data" && "$application" token --subject ada --email ada@example.com)

(cd "$work" && node --test --test-force-exit --test-reporter=dot files.test.js)
[ "$(curl -s "$storage/files?list-type=2" | grep -o '<Key>' | wc -l)" -eq 4 ]
echo "files: contents in an S3-compatible storage work"
