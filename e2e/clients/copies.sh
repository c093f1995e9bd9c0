#!/usr/bin/env bash
# Runs the tests of continuous copies with other programs: Litestream restores what the server has copied to a folder
# and to an S3-compatible storage (the server of `moto`).
# Needs Python 3 and curl (installed with apt-get if missing) and the Python package index.
# Usage: e2e/clients/copies.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
source e2e/clients/servers.sh

need curl curl
build_programs

work=$target/clients/copies
mkdir -p "$work"
start_storage "$work/venv" e2e/clients/copies/requirements.txt copies
export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test
# This storage has no TLS.
unset AWS_CA_BUNDLE

# user FOLDER NAME [--create]: calls as a user of the server on a folder.
user() {
  (cd "$1" && "$application" run users/queries/getCurrentUser '{}' --as "${@:2}" >/dev/null)
}
quietly() { "$@" >/dev/null 2>&1; }

# Copies the database of a new server to a place, and compares what each program restores.
# Arguments: the URL of the place, the URL for Litestream, more settings.
check() {
  local settings restored
  settings=$(mktemp -d)
  folders+=("$settings")
  printf '[copy]\nto = "%s"\nevery = "100ms"\n%s\n%s\n' "$1" "$3" "$patient" >"$settings/convoke.toml"
  start "$application" --config "$settings/convoke.toml"
  for name in ada grace edsger; do
    user "$data" "$name" --create
  done
  await curl -sf -o /dev/null "$url/readyz"
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
  await listens "$second/log" "$!" && await curl -sf -o /dev/null "$url/readyz" || { cat "$second/log" >&2; return 1; }
  user "$data" barbara --create
  await quietly user "$second" barbara
  (cd "$second" && "$application" promote)
  await quietly user "$second" niklaus --create || { cat "$second/log" >&2; return 1; }
}

has_a_copy() { [[ $("$application" copies list --config "$1") = *newest* ]]; }

place=$(mktemp -d)
folders+=("$place")
check "dir:$place" "file://$place/00000001" ""
check s3://copies/convoke "s3://copies/convoke/00000001?endpoint=${storage#http://}&force-path-style=true" \
  "endpoint = \"$storage\""
settings=$(mktemp -d)
folders+=("$settings")
printf '[copy]\nto = "s3://copies/followed"\nevery = "100ms"\nendpoint = "%s"\n%s\n' "$storage" "$patient" >"$settings/convoke.toml"
start "$application" --config "$settings/convoke.toml"
await has_a_copy "$settings/convoke.toml"
follow "$settings/convoke.toml" s3://copies/followed
echo "copies: Litestream restores the copies of a folder and of an S3-compatible storage"
