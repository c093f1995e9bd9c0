#!/usr/bin/env bash
# Runs the tests of files with their contents in an S3-compatible storage: the server of `moto` from PyPI.
# Needs Node.js 20, Python 3 and curl (all are installed with apt-get if missing) and the package indexes.
# Usage: e2e/clients/files_s3.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
source e2e/clients/servers.sh

need npm nodejs npm
need curl curl
build_programs

work=$target/clients/files_s3
mkdir -p "$work"
cp e2e/clients/files/* "$work"
(cd "$work" && npm_install ci)
start_storage "$work/venv" "$work/requirements.txt" files

settings=$(mktemp -d)
folders+=("$settings")
printf '[files]\nurl = "s3://files/contents"\nendpoint = "%s"\n%s\n' "$storage" "$patient" >"$settings/convoke.toml"
start "$application" --config "$settings/convoke.toml"
export APPLICATION=$url APPLICATION_TOKEN
APPLICATION_TOKEN=$(cd "$data" && "$application" token --subject ada --email ada@example.com)

(cd "$work" && node --test --test-force-exit --test-reporter=dot files.test.js)
[ "$(curl -s "$storage/files?list-type=2" | grep -o '<Key>' | wc -l)" -eq 4 ]

# The doctor compares the rows with the objects. A backup names the bucket, whose objects it does not have.
contents() {
  (cd "$data" && "$application" doctor --full --json --config "$settings/convoke.toml" || true) | python3 -c '
import json, sys
print(*[one["state"] for one in json.load(sys.stdin)["findings"] if one["subject"] == "contents"])'
}
expect() { [ "$(contents)" = "$1" ] || { echo "the doctor finds $(contents) and not $1" >&2; exit 1; }; }
in_bucket() { curl -s --user test:test --aws-sigv4 aws:amz:us-east-1:s3 "$@"; }
expect ok
(cd "$data" && "$application" backup copy.db --config "$settings/convoke.toml") | grep "the files are in s3://files/contents and not in this backup" >/dev/null
object=$storage/files/$(curl -s "$storage/files?list-type=2" | grep -o '<Key>[^<]*' | sed -n '1s/<Key>//p')
length=$(in_bucket "$object" | wc -c)
head -c "$length" /dev/urandom | in_bucket -X PUT --data-binary @- "$object" >/dev/null
expect problem
in_bucket -X DELETE "$object" >/dev/null
expect problem
kill "${servers[-1]}"
wait "${servers[-1]}" || true
expect problem
echo "files: contents in an S3-compatible storage work"
