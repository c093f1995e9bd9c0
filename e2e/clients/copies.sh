#!/usr/bin/env bash
# Runs the tests of continuous copies with other programs: Litestream restores what the server has copied to a folder
# and to an S3-compatible storage (the server of `moto`).
# Needs Python 3 and curl (installed with apt-get if missing) and the Python package index.
# Usage: e2e/clients/copies.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
source e2e/clients/servers.sh

need python3 python3 python3-venv
need curl curl
build_programs

work=$target/clients/copies
mkdir -p "$work"
start_storage "$work/venv" e2e/clients/copies/requirements.txt copies
export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test
# This storage has no TLS.
unset AWS_CA_BUNDLE

# Copies the database of a new server to a place, and compares what each program restores.
# Arguments: the URL of the place, the URL for Litestream, more settings.
check() {
  local settings restored
  settings=$(mktemp -d)
  folders+=("$settings")
  printf '[copy]\nto = "%s"\nevery = "100ms"\n%s\n' "$1" "$3" >"$settings/convoke.toml"
  start "$application" --config "$settings/convoke.toml"
  for name in ada grace edsger; do
    (cd "$data" && "$application" run users/queries/getCurrentUser '{}' --as "$name" --create >/dev/null)
  done
  curl -sf "$url/readyz" >/dev/null
  kill "${servers[-1]}"
  wait "${servers[-1]}" 2>/dev/null || true

  "$application" copies list --config "$settings/convoke.toml"
  "$application" copies verify --config "$settings/convoke.toml"
  restored=$settings/restored
  mkdir "$restored"
  "$application" restore --from "$1" --config "$settings/convoke.toml" --data "$restored"
  "$work/venv/bin/litestream" restore -o "$settings/litestream.db" "$2"
  python3 e2e/clients/copies/compare.py "$data/data/convoke.db" "$restored/convoke.db" "$settings/litestream.db"
}

# Lets a second server follow the copies of a running one in a bucket, and promotes it.
follow() {
  local settings=$1 second
  second=$(mktemp -d)
  folders+=("$second")
  (cd "$second" && exec "$application" serve --env development --config "$settings" --listen 127.0.0.1:0 --follow "$2" 2>log) &
  servers+=($!)
  for _ in $(seq 600); do
    grep -q '^convoke: listening on ' "$second/log" && curl -sf "$(listening "$second/log")/readyz" >/dev/null && break
    sleep 0.1
  done
  (cd "$data" && "$application" run users/queries/getCurrentUser '{}' --as barbara --create >/dev/null)
  for _ in $(seq 600); do
    (cd "$second" && "$application" run users/queries/getCurrentUser '{}' --as barbara >/dev/null 2>&1) && break
    sleep 0.1
  done
  (cd "$second" && "$application" promote)
  for _ in $(seq 600); do
    (cd "$second" && "$application" run users/queries/getCurrentUser '{}' --as niklaus --create >/dev/null 2>&1) && return
    sleep 0.1
  done
  cat "$second/log" >&2
  return 1
}

listening() { sed -n 's/^convoke: listening on //p' "$1"; }

place=$(mktemp -d)
folders+=("$place")
check "dir:$place" "file://$place/00000001" ""
check s3://copies/convoke "s3://copies/convoke/00000001?endpoint=${storage#http://}&force-path-style=true" \
  "endpoint = \"$storage\""
settings=$(mktemp -d)
folders+=("$settings")
printf '[copy]\nto = "s3://copies/followed"\nevery = "100ms"\nendpoint = "%s"\n' "$storage" >"$settings/convoke.toml"
start "$application" --config "$settings/convoke.toml"
until "$application" copies list --config "$settings/convoke.toml" | grep -q newest; do sleep 0.1; done
follow "$settings/convoke.toml" s3://copies/followed
echo "copies: Litestream restores the copies of a folder and of an S3-compatible storage"
