#!/usr/bin/env bash
# Checks the alerts against a running server: the rules and their tests, the metrics page after real calls, and that
# this page has each metric of an alert or the dashboard. Needs promtool (Debian's `prometheus`, which is installed if
# it is missing), curl and Python 3. Usage: deploy/check.sh [BINARY]
set -euo pipefail
cd "$(dirname "$0")/.."

source e2e/program.sh
find_program "${1:-}"
need promtool --no-install-recommends prometheus
need curl curl

work=$(mktemp -d)
server= follower=
# The server writes to its folder until it has ended.
trap 'kill $server $follower 2>/dev/null || true; wait; rm -rf "$work"' EXIT

listens() { # listens LOG PID: succeeds once a server listens, or has ended.
  grep -q '^convoke: listening on http' "$1" || ! kill -0 "$2" 2>/dev/null
}
started() { # started LOG PID: waits until a server listens.
  await listens "$1" "$2" && kill -0 "$2" || { cat "$1"; exit 1; }
}

promtool check rules deploy/alerts.yml
promtool test rules deploy/alerts_test.yml

# With a collector, a log stream and copies, so that their metrics exist.
cat >"$work/convoke.toml" <<TOML
[telemetry]
otlp = "http://127.0.0.1:9"

[[log_streams]]
file = "$work/calls.jsonl"

[copy]
to = "dir:$work/copies"
TOML
mkdir "$work/copies"
"$binary" dev --config "$work/convoke.toml" --data "$work/data" --listen 127.0.0.1:0 --ops-listen 127.0.0.1:0 --log-format json 2>"$work/log" &
server=$!
started "$work/log" "$server"
url=$(sed -n 's/^convoke: listening on //p' "$work/log")
ops=$(sed -n 's/^convoke: metrics on //p' "$work/log")
token=$(grep -m1 -o "Bearer [^']*" "$work/log")

call() { # call STATUS PATH BODY [HEADER]: sends a request and checks its status.
  local status
  status=$(curl -s -o /dev/null -w '%{http_code}' "$url/api/run/$2" -H 'Content-Type: application/json' -d "$3" ${4:+-H "$4"})
  [ "$status" = "$1" ] || { echo "$2 returned status $status instead of $1"; exit 1; }
}
for _ in 1 2 3; do call 200 users/queries/getCurrentUser '{"args":{}}' "Authorization: $token"; done
call 200 users/mutations/updateLastSeen '{"args":{}}' "Authorization: $token"
call 200 users/queries/getCurrentUser '{"args":{}}'
call 400 no/such/function '{"args":{}}'
call 400 users/queries/getCurrentUser '{'
call 401 users/queries/getCurrentUser '{"args":{}}' 'Authorization: Bearer x'

curl -sf "$ops" >"$work/page"
promtool check metrics <"$work/page"
# A second server follows the copies; only it has the metrics of a follower. It needs a first copy.
has_a_copy() { [[ $("$binary" copies list --config "$work/convoke.toml") = *newest* ]]; }
await has_a_copy
"$binary" serve --env development --config "$work/convoke.toml" --data "$work/follower" --follow "dir:$work/copies" \
  --listen 127.0.0.1:0 --ops-listen 127.0.0.1:0 2>"$work/follower.log" &
follower=$!
started "$work/follower.log" "$follower"
follower_ops=$(sed -n 's/^convoke: metrics on //p' "$work/follower.log")
# Some metrics appear only after their first event.
has_all_metrics() {
  curl -sf "$ops" >"$work/page" && curl -sf "$follower_ops" >"$work/more" && grep '^convoke_follower_' "$work/more" >>"$work/page" &&
    python3 deploy/check.py "$work/page" >"$work/found"
}
await has_all_metrics || { cat "$work/found"; exit 1; }
cat "$work/found"
